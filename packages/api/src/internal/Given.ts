/**
 * What callers may give: as it travels, but that any value may stand where JSON is opaque. Whether
 * it is JSON is seen when it is copied.
 */
import type { Json, JsonObject } from "@millrace/core/domain/Json"

/** A form with opaque JSON opened for any value. */
export type Given<T> = Json extends T
  ? unknown
  : JsonObject extends T
    ? Readonly<Record<string, unknown>>
    : T extends ReadonlyArray<infer Item>
      ? ReadonlyArray<Given<Item>>
      : T extends object
        ? { readonly [K in keyof T]: Given<T[K]> }
        : T
