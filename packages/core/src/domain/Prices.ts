/**
 * Prices that an operator sets for node types, in the place of what the types declare.
 *
 * Guarantees: a run keeps the prices of its start, so a change holds for later runs only. Leaves
 * out: reading files.
 */
import { Context, Result, Schema } from "effect"
import type { MicroCredits } from "./Credits.ts"
import { fromNumber, isAmount, microPerCredit } from "./Credits.ts"
import type { JsonObject } from "./Json.ts"
import { mostCredits } from "./Limits.ts"
import { nearestHint } from "./Nearest.ts"
import type { NodeType } from "./NodeType.ts"
import { priced, readExpression } from "./PriceExpression.ts"
import { quoted } from "./Quote.ts"
import type { NodeSettings } from "./Workflow.ts"

/** What one execution costs: micro-credits, or an expression over its literals. */
const ModePrice = Schema.Union([Schema.Int, Schema.String])
type ModePrice = typeof ModePrice.Type

/** The same of any mode, or by mode. */
const TypePrice = Schema.Union([ModePrice, Schema.Record(Schema.String, ModePrice)])
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

const range = `from 0 to ${mostCredits}`
const expectedAmount = `expected a number of credits ${range}, of at most six decimals`

const amountIn = (price: ModePrice, inputs: JsonObject): MicroCredits =>
  typeof price === "number"
    ? price
    : Math.round((priced(price, inputs).credits ?? Number.NaN) * microPerCredit)

/** The price of a type in a mode, as the operator wrote it; `undefined` if there is none. */
const writtenFor = (
  prices: Prices | undefined,
  { key, modes }: Pick<NodeType, "key" | "modes">,
  { mode }: Pick<NodeSettings, "mode">,
): ModePrice | undefined => {
  if (prices === undefined || !Object.hasOwn(prices, key)) return undefined
  const price = prices[key]!
  if (typeof price !== "object") return price
  const inForce = mode ?? modes[0] ?? ""
  return Object.hasOwn(price, inForce) ? price[inForce] : undefined
}

/**
 * The price of a type with these settings, which may be no valid amount if it is an expression;
 * `undefined` if there is none.
 */
export const priceOf = (
  prices: Prices | undefined,
  type: Pick<NodeType, "key" | "modes">,
  settings: Pick<NodeSettings, "inputs" | "mode">,
): MicroCredits | undefined => {
  const price = writtenFor(prices, type, settings)
  return price === undefined ? undefined : amountIn(price, settings.inputs)
}

/** Why the price of a type is no amount with these settings, as a clause. */
export const problemOfPrice = (
  prices: Prices | undefined,
  type: Pick<NodeType, "key" | "modes">,
  settings: Pick<NodeSettings, "inputs" | "mode">,
): string => {
  const price = String(writtenFor(prices, type, settings))
  const { credits, missing } = priced(price, settings.inputs)
  const named = `the price of type ${type.key} is ${quoted(price)}`
  if (credits !== undefined) return `${named}, which gives ${credits}; expected credits ${range}`
  return `${named}, which needs ${missing.join(" and ")} as a number that is known at the start`
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

/** A price that was given as a number of credits or as an expression, or what is wrong with it. */
const readPrice = (value: unknown): Result.Result<ModePrice, string> => {
  if (typeof value === "string") return Result.map(readExpression(value), () => value)
  const amount = typeof value === "number" ? fromNumber(value) : Number.NaN
  const isPrice = isAmount(amount) && Object.is(value, Math.abs(Number(value)))
  return isPrice ? Result.succeed(amount) : Result.fail(expectedAmount)
}

/** The prices of one type's modes. */
const readModes = (
  place: string,
  modes: ReadonlyArray<string>,
  given: Readonly<Record<string, unknown>>,
  problems: Array<string>,
): TypePrice => {
  if (modes.length === 0) problems.push(`${place}: the type has no modes; expected a number`)
  const read = Object.entries(given).map(([mode, value]): [string, ModePrice] => {
    const price = readPrice(value)
    const at = `${place}[${quoted(mode)}]`
    if (modes.length > 0 && !modes.includes(mode)) {
      problems.push(`${at}: the type has no such mode${nearestHint(mode, modes)}`)
    } else if (Result.isFailure(price)) problems.push(`${at}: ${price.failure}`)
    return [mode, Result.getOrElse(price, () => 0)]
  })
  return Object.fromEntries(read)
}

/**
 * Reads prices in credits, by the keys of these node types: a number, an expression over a node's
 * literals, or an object with one of them for each mode. A price is that of all versions of a type.
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
    const versions = types.filter((each) => each.key === key)
    const modes = [...new Set(versions.flatMap((each) => each.modes))]
    if (versions.length === 0) {
      problems.push(`${place}: there is no such node type${nearestHint(key, keys)}`)
    } else if (isObject(value)) {
      read.push([key, readModes(place, modes, value, problems)])
    } else {
      const price = readPrice(value)
      if (Result.isFailure(price)) {
        const orModes = modes.length === 0 ? "" : ", or an object with one for each mode"
        problems.push(`${place}: ${price.failure}${typeof value === "string" ? "" : orModes}`)
      } else read.push([key, price.success])
    }
  }
  return { prices: Object.fromEntries(read), problems }
}
