/**
 * Copies a caller's value as JSON. The copy is what `JSON.stringify` and `JSON.parse` would give,
 * but no text is made.
 *
 * Guarantees: the copy shares no object with the value. A value that contains itself is refused.
 */
import { invalid } from "./MillraceError.ts"

/** How deep a value may be nested. */
const mostLevels = 1_000

const refused = (name: string) =>
  invalid(
    `${name}: expected a value that can be written as JSON, at most ${mostLevels} levels deep`,
  )

/** A value that says how it is written as JSON, such as a `Date`. */
interface Writable {
  readonly toJSON?: unknown
}

const plain = (value: unknown, levels: number): unknown => {
  if (typeof value === "number") return Number.isFinite(value) ? value + 0 : null
  if (typeof value === "bigint") throw new RangeError("a bigint is not JSON")
  if (typeof value === "function" || typeof value === "symbol") return undefined
  if (typeof value !== "object" || value === null) return value
  if (levels === 0) throw new RangeError("nested too deep")
  if (typeof (value as Writable).toJSON === "function") {
    return plain((value as { readonly toJSON: () => unknown }).toJSON(), levels - 1)
  }
  if (Array.isArray(value)) return value.map((item) => plain(item, levels - 1) ?? null)
  const copy: Record<string, unknown> = {}
  // Without a list of the keys: every answer comes by here.
  for (const key in value) {
    if (!Object.hasOwn(value, key)) continue
    const item = plain((value as Record<string, unknown>)[key], levels - 1)
    if (item === undefined) continue
    // Assigning to this key would set the prototype.
    if (key === "__proto__") {
      const property = { value: item, enumerable: true, writable: true, configurable: true }
      Object.defineProperty(copy, key, property)
    } else copy[key] = item
  }
  return copy
}

/** A copy of the value as JSON. Throws `INVALID_REQUEST` if the value is not JSON. */
export const plainJson = (value: unknown, name: string): unknown => {
  try {
    return plain(value, mostLevels)
  } catch (cause) {
    throw cause instanceof RangeError ? refused(name) : cause
  }
}
