/**
 * Large values: what nodes put out that is stored once, beside the run; its node runs name it.
 *
 * A record of a run holds `null` in the place of such a value, and a column that says which value
 * belongs there. So nothing in users' data is ever taken for a reference. In memory a
 * {@link LargeJson} stands in that place, which no JSON can be.
 *
 * Guarantees: pure. Leaves out: storing and reading them.
 */
import { Schema } from "effect"
import type { Json, JsonObject } from "./Json.ts"
import { valuePreviewLength } from "./Limits.ts"

/** A stored value: where it is, and what it is like. */
export const LargeValue = Schema.Struct({
  id: Schema.String,
  /** Of its JSON text in UTF-8. */
  bytes: Schema.Int,
  type: Schema.Literals(["array", "object", "string"]),
  /** The beginning of its JSON text. */
  preview: Schema.String,
})
export type LargeValue = typeof LargeValue.Type

/** A stored value, and where it belongs. */
export const PlacedValue = Schema.Struct({
  /** A JSON Pointer: `/output/body` of a node run, `/output` of a run. There, it has `null`. */
  at: Schema.String,
  ...LargeValue.fields,
}).annotate({ identifier: "LargeValue" })
export type PlacedValue = typeof PlacedValue.Type

/** The stored values of a row; `null` for none. */
export const PlacedValues = Schema.NullOr(Schema.Array(PlacedValue))
export type PlacedValues = typeof PlacedValues.Type

/** Describes the value of a JSON text of so many bytes. */
export const describe = (id: string, value: Json, text: string, bytes: number): LargeValue => ({
  id,
  bytes,
  type: Array.isArray(value) ? "array" : typeof value === "string" ? "string" : "object",
  // Not in the middle of a pair of surrogates.
  preview: text.slice(0, valuePreviewLength).replace(/[\ud800-\udbff]$/, ""),
})

/** Stands in memory for a value that is stored. */
export class LargeJson {
  readonly value: LargeValue

  constructor(value: LargeValue) {
    this.value = value
  }
}

/** A stored value where JSON stands. Only its owner may be given it. */
export const largeJson = (value: LargeValue): Json => new LargeJson(value) as unknown as Json

const isLarge = (json: unknown): json is LargeJson => json instanceof LargeJson

/** A record of ports, a port of several values, and the values themselves. */
const levels = 3

const segment = (key: string | number): string =>
  `/${String(key).replaceAll("~", "~0").replaceAll("/", "~1")}`

/** The JSON with something else in the place of each stored value; the same one without any. */
export const replaceLarge = (
  json: Json,
  replace: (value: LargeValue, at: string) => Json,
  at = "",
  depth = levels,
): Json => {
  if (isLarge(json)) return replace(json.value, at)
  if (depth === 0 || typeof json !== "object" || json === null) return json
  if (Array.isArray(json)) {
    const before = json as ReadonlyArray<Json>
    const items = before.map((item, index) =>
      replaceLarge(item, replace, at + segment(index), depth - 1),
    )
    return items.every((item, index) => item === before[index]) ? before : items
  }
  const entries = Object.entries(json)
  const next = entries.map(
    ([key, item]) => [key, replaceLarge(item, replace, at + segment(key), depth - 1)] as const,
  )
  return next.every(([, item], index) => item === entries[index]![1])
    ? json
    : Object.fromEntries(next)
}

/** The stored values in it. */
export const largeIn = (json: Json): ReadonlyArray<LargeValue> => {
  const found: Array<LargeValue> = []
  replaceLarge(json, (value) => {
    found.push(value)
    return null
  })
  return found
}

/** The JSON for a row: with `null` for each stored value, which is added to `placed`. */
export const withoutLarge = <A extends Json>(
  json: A,
  at: string,
  placed: Array<PlacedValue>,
): A => {
  const replace = (value: LargeValue, place: string) => {
    placed.push({ at: place, ...value })
    return null
  }
  return replaceLarge(json, replace, at) as A
}

const placeIn = (json: Json, keys: ReadonlyArray<string>, value: Json): Json => {
  const [key, ...rest] = keys
  if (key === undefined) return value
  if (Array.isArray(json)) {
    const items = json as ReadonlyArray<Json>
    return items.map((item, index) => (String(index) === key ? placeIn(item, rest, value) : item))
  }
  if (typeof json !== "object" || json === null) return json
  return Object.fromEntries(
    Object.entries(json).map(([name, item]) => [
      name,
      name === key ? placeIn(item, rest, value) : item,
    ]),
  )
}

/** Those of a row that belong at or below a place: `/output`. */
export const placedIn = (placed: PlacedValues, at: string): ReadonlyArray<PlacedValue> =>
  (placed ?? []).filter(({ at: place }) => place === at || place.startsWith(`${at}/`))

/** The opposite: the JSON of a row with other values where `placed` says. */
export const withLarge = <A extends Json>(
  json: A,
  at: string,
  placed: PlacedValues,
  valueOf: (value: LargeValue) => Json = largeJson,
): A =>
  placedIn(placed, at).reduce<Json>((into, { at: place, ...value }) => {
    const keys = place.slice(at.length).split("/").slice(1)
    const names = keys.map((key) => key.replaceAll("~1", "/").replaceAll("~0", "~"))
    return placeIn(into, names, valueOf(value))
  }, json) as A

/** The input and output of a node run. */
interface Ports {
  readonly input: JsonObject | null
  readonly output: JsonObject | null
  readonly largeValues: PlacedValues
}

/** A node run with its stored values where they belong. */
export const liveRow = <A extends Ports>(row: A): A =>
  row.largeValues === null
    ? row
    : {
        ...row,
        input: withLarge(row.input, "/input", row.largeValues),
        output: withLarge(row.output, "/output", row.largeValues),
      }

/** A row of a run, and the rows of its nodes. */
interface Rows {
  readonly run: Pick<Ports, "largeValues">
  readonly nodeRuns: ReadonlyArray<Pick<Ports, "largeValues">>
}

/** All stored values that a run and its nodes name. */
export const namedBy = ({ nodeRuns, run }: Rows): ReadonlyArray<PlacedValue> => [
  ...(run.largeValues ?? []),
  ...nodeRuns.flatMap(({ largeValues }) => largeValues ?? []),
]
