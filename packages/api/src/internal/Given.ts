/**
 * The type of a caller's input: as on the wire, but with any value where JSON is opaque. When the
 * input is copied, a value that is not JSON is refused.
 */
import type { Json, JsonObject } from "@millrace/core/domain/Json"

/** A type with `unknown` in place of opaque JSON. */
export type Given<T> = Json extends T
  ? unknown
  : JsonObject extends T
    ? Readonly<Record<string, unknown>>
    : T extends ReadonlyArray<infer Item>
      ? ReadonlyArray<Given<Item>>
      : T extends object
        ? { readonly [K in keyof T]: Given<T[K]> }
        : T
