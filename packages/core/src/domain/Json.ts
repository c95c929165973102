/**
 * JSON values: what flows between nodes and what a client may store with us unread.
 *
 * Guarantees: `fromUnknown` accepts exactly what survives a round trip through JSON text.
 * Leaves out: any schema for the meaning of a value; that belongs to the port it arrives at.
 */
import { Schema } from "effect"

/** Any JSON value. */
export type Json =
  | null
  | boolean
  | number
  | string
  | ReadonlyArray<Json>
  | { readonly [key: string]: Json }

/** A JSON object with unknown keys. */
export type JsonObject = { readonly [key: string]: Json }

/**
 * Opaque JSON in a request, a response or a row. It is not inspected: a request body comes out of
 * `JSON.parse`, so it is JSON already, and a deep check would cost more than the rest of decoding.
 */
export const Json: Schema.Codec<Json> = Schema.Any

/** A JSON object whose values are opaque. */
export const JsonObject: Schema.Codec<JsonObject> = Schema.Record(Schema.String, Json)

/** True for an object that is neither `null` nor an array. */
export const isJsonObject = (value: unknown): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** True for objects made by a literal, by `JSON.parse` or with a `null` prototype. */
const isPlain = (value: object): boolean => {
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null
}

const scalarProblem = (value: unknown): string | undefined => {
  switch (typeof value) {
    case "string":
    case "boolean":
      return undefined
    case "number":
      return Number.isFinite(value) ? undefined : `${String(value)} is not a JSON number`
    default:
      return value === null ? undefined : `a value of type ${typeof value} is not JSON`
  }
}

/**
 * Says why a value is not JSON, or `undefined` when it is.
 *
 * Walks with a worklist, so a deep value cannot overflow the stack; a cycle is reported as nesting
 * beyond `maxDepth`. A key whose value is `undefined` counts as absent, as in JSON text.
 */
export const problemOf = (root: unknown, maxDepth = 1_000): string | undefined => {
  const values: Array<unknown> = [root]
  const depths: Array<number> = [0]
  while (values.length > 0) {
    const value = values.pop()
    const depth = depths.pop()!
    if (typeof value !== "object" || value === null) {
      const problem = scalarProblem(value)
      if (problem !== undefined) return problem
      continue
    }
    if (depth >= maxDepth) return `it is nested deeper than ${maxDepth} levels, or refers to itself`
    if (!Array.isArray(value) && !isPlain(value)) {
      return `an instance of ${value.constructor?.name ?? "a class"} is not JSON`
    }
    for (const child of Array.isArray(value) ? value : Object.values(value)) {
      if (child === undefined && !Array.isArray(value)) continue
      values.push(child)
      depths.push(depth + 1)
    }
  }
  return undefined
}

/** Freezes a value and everything in it, so that it can be shared. Walks with a worklist. */
export const freeze = <A extends Json>(root: A): A => {
  const values: Array<Json> = [root]
  while (values.length > 0) {
    const value = values.pop()!
    if (typeof value !== "object" || value === null) continue
    Object.freeze(value)
    for (const child of Object.values(value)) {
      if (typeof child === "object" && child !== null) values.push(child)
    }
  }
  return root
}
