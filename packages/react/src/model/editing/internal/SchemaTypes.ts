/**
 * The JSON types that a JSON Schema accepts, as a start of a run judges edges by.
 *
 * Guarantees: never fewer than the schema accepts. Leaves out: all that it says beyond types.
 */
import { isRecord } from "../Document.ts"

const levelsRead = 8

const nameOf = (value: unknown): string =>
  value === null ? "null" : Array.isArray(value) ? "array" : typeof value

const typeNamed = (name: unknown): ReadonlyArray<string> =>
  typeof name !== "string" ? [] : [name === "integer" ? "number" : name]

const namesOf = (schema: unknown, levels: number): ReadonlyArray<string> | undefined => {
  if (!isRecord(schema) || levels === 0) return undefined
  const { anyOf, const: only, enum: values, oneOf, type } = schema
  if (typeof type === "string") return typeNamed(type)
  if (Array.isArray(type)) return type.flatMap(typeNamed)
  if (only !== undefined) return [nameOf(only)]
  if (Array.isArray(values)) return values.map(nameOf)
  const union = anyOf ?? oneOf
  if (!Array.isArray(union)) return undefined
  const read = union.map((each) => namesOf(each, levels - 1))
  return read.includes(undefined) ? undefined : read.flatMap((names) => names!)
}

/** The names of the types, such as `string`; `undefined` if the schema does not say. */
export const typesOfSchema = (schema: unknown): ReadonlyArray<string> | undefined => {
  const names = namesOf(schema, levelsRead)
  return names === undefined || names.length === 0 ? undefined : [...new Set(names)]
}
