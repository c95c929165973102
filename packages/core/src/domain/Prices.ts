/**
 * Prices that an operator sets for node types, in the place of what the types declare.
 *
 * Guarantees: a run keeps the prices of its start, so a change holds for later runs only. Leaves
 * out: reading files.
 */
import { Context, Schema } from "effect"
import type { MicroCredits } from "./Credits.ts"
import { fromNumber, isAmount } from "./Credits.ts"
import { mostCredits } from "./Limits.ts"
import { nearest } from "./Nearest.ts"
import type { NodeType } from "./NodeType.ts"
import { quoted } from "./Quote.ts"

/** What one execution costs, in micro-credits: of any mode, or by mode. */
const TypePrice = Schema.Union([Schema.Int, Schema.Record(Schema.String, Schema.Int)])
type TypePrice = typeof TypePrice.Type

/** Prices by the keys of node types. What is not named costs what its type declares. */
export const Prices = Schema.Record(Schema.String, TypePrice)
export type Prices = typeof Prices.Type

/** Prices, with a name for their content. */
export interface PriceList {
  /** Another content has another name: it becomes a part of the identifier of definitions. */
  readonly id: string
  readonly prices: Prices
}

/** The prices of runs that start from now on; `undefined`: what the types declare. */
export const CurrentPrices = Context.Reference<PriceList | undefined>(
  "@millrace/core/domain/Prices",
  { defaultValue: () => undefined },
)

/** The price of a type in a mode; `undefined` if there is none. */
export const priceOf = (
  prices: Prices | undefined,
  { key, modes }: Pick<NodeType, "key" | "modes">,
  mode: string | undefined,
): MicroCredits | undefined => {
  if (prices === undefined || !Object.hasOwn(prices, key)) return undefined
  const price = prices[key]!
  if (typeof price === "number") return price
  const inForce = mode ?? modes[0] ?? ""
  return Object.hasOwn(price, inForce) ? price[inForce] : undefined
}

/** The prices of these types only; `undefined` if none of them has one. */
export const pricesOf = (prices: Prices, keys: Iterable<string>): Prices | undefined => {
  const found = [...new Set(keys)].filter((key) => Object.hasOwn(prices, key)).toSorted()
  return found.length === 0
    ? undefined
    : Object.fromEntries(found.map((key) => [key, prices[key]!]))
}

/** Prices that were read, and every reason why they cannot be used, as clauses with their place. */
export interface ReadPrices {
  readonly prices: Prices
  readonly problems: ReadonlyArray<string>
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const range = `from 0 to ${mostCredits}`
const expectedAmount = `expected a number of credits ${range}, of at most six decimals`

const amountOf = (value: unknown): MicroCredits | undefined => {
  const amount = typeof value === "number" ? fromNumber(value) : Number.NaN
  return isAmount(amount) && Object.is(value, Math.abs(Number(value))) ? amount : undefined
}

const hintOf = (name: string, known: ReadonlyArray<string>): string => {
  const near = nearest(name, known)
  return near === undefined ? "" : `; did you mean ${quoted(near)}?`
}

/** The prices of one type's modes, in micro-credits. */
const readModes = (
  place: string,
  { modes }: NodeType,
  given: Readonly<Record<string, unknown>>,
  problems: Array<string>,
): TypePrice => {
  if (modes.length === 0) problems.push(`${place}: the type has no modes; expected a number`)
  const read = Object.entries(given).map(([mode, value]): [string, number] => {
    const amount = amountOf(value)
    const at = `${place}[${quoted(mode)}]`
    if (modes.length > 0 && !modes.includes(mode)) {
      problems.push(`${at}: the type has no such mode${hintOf(mode, modes)}`)
    } else if (amount === undefined) problems.push(`${at}: ${expectedAmount}`)
    return [mode, amount ?? 0]
  })
  return Object.fromEntries(read)
}

/**
 * Reads prices in credits, by the keys of these node types: a number, or an object with a number
 * for each mode.
 */
export const readPrices = (given: unknown, types: ReadonlyArray<NodeType>): ReadPrices => {
  if (!isObject(given)) {
    return { prices: {}, problems: ["expected an object with a price for each node type"] }
  }
  const keys = types.map(({ key }) => key)
  const problems: Array<string> = []
  const read: Array<[string, TypePrice]> = []
  for (const [key, value] of Object.entries(given)) {
    const place = `[${quoted(key)}]`
    const type = types.find((each) => each.key === key)
    if (type === undefined) {
      problems.push(`${place}: there is no such node type${hintOf(key, keys)}`)
    } else if (isObject(value)) {
      read.push([key, readModes(place, type, value, problems)])
    } else {
      const amount = amountOf(value)
      if (amount === undefined) {
        const orModes = type.modes.length === 0 ? "" : ", or an object with one for each mode"
        problems.push(`${place}: ${expectedAmount}${orModes}`)
      } else read.push([key, amount])
    }
  }
  return { prices: Object.fromEntries(read), problems }
}
