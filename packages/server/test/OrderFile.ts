/**
 * The orders of the demonstration, added up the plain way: in whole cents, without the engine.
 */
import { readFileSync } from "node:fs"

/** An order as it is in the file. */
export interface Order {
  readonly id: string
  readonly placedAt: string
  readonly customer: string
  readonly country: string
  readonly item: string
  readonly quantity: number
  readonly price: number
  readonly total: number
  readonly status: string
}

/** Every order of the file. */
export const orders: ReadonlyArray<Order> = JSON.parse(
  readFileSync(new URL("../demo/orders.json", import.meta.url), "utf8"),
) as ReadonlyArray<Order>

const cents = (amount: number): number => Math.round(amount * 100)

/** What the digest must say. */
export interface Expected {
  readonly orders: number
  readonly total: number
  readonly countries: ReadonlyArray<{
    readonly key: string
    readonly count: number
    readonly sums: { readonly total: number }
  }>
}

/** Adds up the paid ones of these orders, by country, the largest total first. */
export const expectedOf = (all: ReadonlyArray<Order>): Expected => {
  const paid = all.filter((order) => order.status === "paid")
  const countries: Record<string, { count: number; cents: number }> = {}
  for (const { country, total } of paid) {
    const entry = (countries[country] ??= { count: 0, cents: 0 })
    entry.count += 1
    entry.cents += cents(total)
  }
  return {
    orders: paid.length,
    total: paid.reduce((sum, { total }) => sum + cents(total), 0) / 100,
    countries: Object.entries(countries)
      .toSorted(([, a], [, b]) => b.cents - a.cents)
      .map(([key, { cents: sum, count }]) => ({ key, count, sums: { total: sum / 100 } })),
  }
}
