/**
 * What the compiler knows of the values at ports: which JSON types they have, whether an edge can
 * join two of them, and what a literal may be in the place of a value.
 *
 * Guarantees: types with something unknown in them fit everything. Leaves out: the shapes of
 * objects and the items of arrays; validation warns of those.
 */

/** A text with an expression, such as `{{ fetch.body.name }}`. */
export type Expression = `${string}{{${string}}}${string}`

type Whole = string | number | bigint | boolean | symbol | null | undefined

/**
 * A literal for a value of this type, of which any part may be an expression. The syntax for arrays
 * matters: only with it the compiler takes a type that holds arrays of itself, such as JSON.
 */
export type PartTemplate<T> = T extends Whole | ((...args: never) => unknown)
  ? T
  : T extends readonly (infer Item)[]
    ? readonly Template<Item>[]
    : { [K in keyof T]: Template<T[K]> }

/** A literal for a value: it, or a text with an expression in the place of any part. */
export type Template<T> = unknown extends T ? T : PartTemplate<T> | Expression

/** `JSON.stringify` may turn what is no plain object, such as a `Date`, into something else. */
type ObjectName<T> = T extends { readonly toJSON: unknown }
  ? "anything"
  : [Extract<keyof T, symbol | `~${string}`>] extends [never]
    ? "object"
    : "anything"

/** The JSON types that a value may have; with `anything` among them if that is not known. */
export type JsonName<T> = unknown extends T
  ? "anything"
  : T extends string
    ? "string"
    : T extends number
      ? "number"
      : T extends boolean
        ? "boolean"
        : T extends null
          ? "null"
          : T extends undefined
            ? never
            : string extends T
              ? "anything"
              : T extends ReadonlyArray<unknown>
                ? "array"
                : T extends (...args: never) => unknown
                  ? "anything"
                  : T extends object
                    ? ObjectName<T>
                    : "anything"

/** True unless no value can be of both types. */
export type Meets<From, To> = [JsonName<From>] extends [never]
  ? true
  : [JsonName<To>] extends [never]
    ? true
    : "anything" extends JsonName<From> | JsonName<To>
      ? true
      : [JsonName<From> & JsonName<To>] extends [never]
        ? false
        : true
