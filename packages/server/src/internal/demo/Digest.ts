/**
 * The result of the order digest as lines on a screen.
 */
import type { Json } from "@millrace/core/domain/Json"
import { Option, Schema } from "effect"
import type { Colors } from "../dev/Colors.ts"

/** What the order digest puts out. */
export const Digest = Schema.Struct({
  headline: Schema.String,
  total: Schema.Finite,
  orders: Schema.Int,
  countries: Schema.Array(
    Schema.Struct({
      key: Schema.String,
      count: Schema.Int,
      sums: Schema.Struct({ total: Schema.Finite }),
    }),
  ),
})
export type Digest = typeof Digest.Type

const money = new Intl.NumberFormat("en", { minimumFractionDigits: 2, maximumFractionDigits: 2 })

const tableLine = (name: string, orders: number, total: number): string =>
  `    ${name.padEnd(14)}${String(orders).padStart(4)} orders  ${money.format(total).padStart(10)}`

/** The headline, a line per country, and the total; what is not a digest is shown as it is. */
export const digestLines = (output: Json, colors: Colors): ReadonlyArray<string> => {
  const digest = Schema.decodeUnknownOption(Digest)(output)
  if (Option.isNone(digest)) return [`  ${JSON.stringify(output)}`]
  const { countries, headline, orders, total } = digest.value
  return [
    `  ${colors.bold(headline)}`,
    ...countries.map(({ count, key, sums }) => tableLine(key, count, sums.total)),
    colors.bold(tableLine("total", orders, total)),
  ]
}
