/**
 * The JSON types that a JSON Schema accepts.
 *
 * Guarantees: never fewer than the schema accepts, so two schemas without a common type accept no
 * common value. Leaves out: everything that a schema says beyond types, and references.
 */
import type { Json, JsonObject } from "../../domain/Json.ts"
import { isJsonObject } from "../../domain/Json.ts"

/** The names of types; whole numbers count as numbers. */
export type JsonTypes = ReadonlySet<string>

const nameOf = (value: Json): string =>
  value === null ? "null" : Array.isArray(value) ? "array" : typeof value

const typeNamed = (name: string): string => (name === "integer" ? "number" : name)

/** How deep alternatives are read; deeper ones count as unknown. */
const levelsRead = 8

const alternatives = (
  union: ReadonlyArray<Json>,
  levels: number,
): ReadonlyArray<string> | undefined => {
  const read = union.map((each) => (isJsonObject(each) ? namesOf(each, levels) : undefined))
  return read.includes(undefined) ? undefined : read.flatMap((names) => [...names!])
}

const namesOf = (schema: JsonObject, levels: number): ReadonlyArray<string> | undefined => {
  if (levels === 0) return undefined
  const { anyOf, const: only, enum: values, oneOf, type } = schema
  if (typeof type === "string") return [typeNamed(type)]
  if (Array.isArray(type)) return type.filter((each) => typeof each === "string").map(typeNamed)
  if (only !== undefined) return [nameOf(only)]
  if (Array.isArray(values)) return values.map(nameOf)
  const union = anyOf ?? oneOf
  return Array.isArray(union) ? alternatives(union, levels - 1) : undefined
}

/** The types that a schema accepts; `undefined` if it does not say. */
export const typesOf = (schema: JsonObject): JsonTypes | undefined => {
  const names = namesOf(schema, levelsRead)
  return names === undefined || names.length === 0 ? undefined : new Set(names)
}
