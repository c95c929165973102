/**
 * Values of Postgres as JSON, and JSON as parameters.
 *
 * Guarantees: no value loses digits. Numbers that JSON cannot hold exactly are texts, and so is
 * every type that is not listed. Leaves out: names of columns.
 */
import type { Json } from "@millrace/core/domain/Json"

/** Reads an array's text; each element by the function, `null` where it is NULL. */
export type ArrayReader = (text: string, element: (text: string) => Json) => Json

/** Types by their OIDs, which are the same in every database. */
const types = {
  bool: 16,
  bytea: 17,
  int2: 21,
  int4: 23,
  oid: 26,
  json: 114,
  float4: 700,
  float8: 701,
  timestamp: 1114,
  timestamptz: 1184,
  jsonb: 3802,
}

const isNumber = new Set([types.int2, types.int4, types.oid, types.float4, types.float8])
const isJson = new Set([types.json, types.jsonb])

/** The types of arrays, and those of their elements. */
const elements: ReadonlyMap<number, number> = new Map([
  [199, types.json],
  [1000, types.bool],
  [1001, types.bytea],
  [1005, types.int2],
  [1007, types.int4],
  [1021, types.float4],
  [1022, types.float8],
  [1028, types.oid],
  [1115, types.timestamp],
  [1185, types.timestamptz],
  [3807, types.jsonb],
  // Texts stay: name, text, bpchar, varchar, date, time, int8, numeric, uuid.
  ...[1003, 1009, 1014, 1015, 1182, 1183, 1016, 1231, 2951].map((type) => [type, 0] as const),
])

/** `2026-01-02 03:04:05.6+00` as ISO 8601; other texts, such as `infinity`, unchanged. */
const isoOf = (text: string): string =>
  text.replace(/^(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d(?:\.\d+)?)(\+00)?$/, (_, date, time, zone) => {
    return `${date}T${time}${zone === undefined ? "" : "Z"}`
  })

const numberOf = (text: string): Json => {
  const number = Number(text)
  return Number.isFinite(number) ? number : text
}

/** The JSON value of a text that the database sent. */
export const fromText = (text: string, type: number, readArray: ArrayReader): Json => {
  if (isNumber.has(type)) return numberOf(text)
  if (isJson.has(type)) return JSON.parse(text) as Json
  const element = elements.get(type)
  if (element !== undefined) return readArray(text, (each) => fromText(each, element, readArray))
  switch (type) {
    case types.bool:
      return text === "t"
    case types.bytea:
      return Buffer.from(text.slice(2), "hex").toString("base64")
    case types.timestamp:
    case types.timestamptz:
      return isoOf(text)
    default:
      return text
  }
}

const quotedElement = (text: string): string => `"${text.replace(/["\\]/g, "\\$&")}"`

const arrayText = (values: ReadonlyArray<Json>, type: number): string => {
  const texts = values.map((value) => {
    if (Array.isArray(value) && !isJson.has(type)) return arrayText(value, type)
    const text = toText(value, type)
    return text === null ? "NULL" : quotedElement(text)
  })
  return `{${texts.join(",")}}`
}

/** The text of a parameter whose type is this one; `null` for NULL. */
export const toText = (value: Json, type: number): string | null => {
  if (value === null) return null
  if (isJson.has(type)) return JSON.stringify(value)
  if (Array.isArray(value)) return arrayText(value, elements.get(type) ?? 0)
  if (typeof value === "object") return JSON.stringify(value)
  return type === types.bytea
    ? `\\x${Buffer.from(String(value), "base64").toString("hex")}`
    : String(value)
}
