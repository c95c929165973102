/**
 * JSON values: the values between nodes, and opaque values that clients store.
 *
 * Guarantees: `frozenCopy` accepts exactly what survives a round trip through JSON text.
 * Leaves out: any schema for the meaning of a value; that belongs to the port it arrives at.
 */
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { jsonLevels } from "./Limits.ts"

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
 * Opaque JSON in a request, a response or a row. It is not checked. A request body comes from
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

/** A copy that nobody can change, and how many characters its JSON text has at least. */
export interface FrozenCopy {
  readonly value: Json
  /** Counts every character of texts and keys once, and a few for everything else. */
  readonly size: number
}

/** Copies one value after another, in one walk that also checks and freezes. */
class Copier {
  readonly #levels: number
  size = 0
  problem: string | undefined

  constructor(levels: number) {
    this.#levels = levels
  }

  copy(value: unknown, depth: number): Json {
    switch (typeof value) {
      case "string":
        this.size += value.length + 2
        return value
      case "number":
        this.size += 8
        if (!Number.isFinite(value)) this.problem ??= `${value} is not a JSON number`
        // As in JSON text, which knows no negative zero.
        return value === 0 ? 0 : value
      case "boolean":
        this.size += 5
        return value
      case "object":
        return value === null ? this.#null() : this.#nested(value, depth)
      default:
        this.problem ??= `a value of type ${typeof value} is not JSON`
        return null
    }
  }

  #null(): null {
    this.size += 4
    return null
  }

  #nested(value: object, depth: number): Json {
    this.size += 2
    if (depth >= this.#levels) {
      this.problem ??= `it is nested deeper than ${this.#levels} levels, or refers to itself`
    } else if (!Array.isArray(value) && !isPlain(value)) {
      this.problem ??= `an instance of ${value.constructor?.name ?? "a class"} is not JSON`
    }
    if (this.problem !== undefined) return null
    if (!Array.isArray(value)) return this.#object(value, depth + 1)
    const items: Array<Json> = []
    for (const item of value as Array<unknown>) items.push(this.copy(item, depth + 1))
    return Object.freeze(items)
  }

  #object(value: object, depth: number): Json {
    const copy: Record<string, Json> = {}
    // Without a list of the keys: every output comes by here.
    for (const key in value) {
      if (!Object.hasOwn(value, key)) continue
      const child = (value as Record<string, unknown>)[key]
      if (child === undefined) continue
      this.size += key.length + 3
      const item = this.copy(child, depth)
      // Assigning to this key would set the prototype.
      if (key === "__proto__") Object.defineProperty(copy, key, { value: item, enumerable: true })
      else copy[key] = item
    }
    return Object.freeze(copy)
  }
}

/**
 * A frozen copy of a value, or why it is not JSON. A cycle counts as nesting that is too deep. A
 * key whose value is `undefined` counts as absent, as in JSON text.
 */
export const frozenCopy = (
  value: unknown,
  levels = jsonLevels,
): Result.Result<FrozenCopy, string> => {
  const copier = new Copier(levels)
  const copy = copier.copy(value, 0)
  return copier.problem === undefined
    ? Result.succeed({ value: copy, size: copier.size })
    : Result.fail(copier.problem)
}

/** Says why a value is not JSON; `undefined` if it is. */
export const problemOf = (value: unknown, levels = jsonLevels): string | undefined =>
  Option.getOrUndefined(Result.getFailure(frozenCopy(value, levels)))

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

/**
 * True if the JSON text of a value may have more than so many characters. Counts as
 * {@link frozenCopy} does, but `null` and booleans like numbers, and no further than needed.
 */
export const isLongerThan = (root: Json, characters: number): boolean => {
  const values: Array<Json> = [root]
  let size = 0
  while (values.length > 0 && size <= characters) {
    const value = values.pop()!
    if (typeof value === "string") size += value.length + 2
    else if (typeof value !== "object" || value === null) size += 8
    else if (Array.isArray(value)) {
      size += 2
      // A long array is long, whatever is in it.
      if (value.length * 2 > characters) return true
      values.push(...(value as ReadonlyArray<Json>))
    } else {
      size += 2
      for (const [key, child] of Object.entries(value)) {
        size += key.length + 3
        values.push(child)
      }
    }
  }
  return size > characters
}
