/**
 * Bounds the depth of a JSON body and the number of its values.
 *
 * Guarantees: the depth is checked before the text is parsed, in one pass over the bytes. An
 * accepted body can be walked by recursion, and written as JSON again, because its numbers are
 * finite. A refusal names the place and never shows the value. Leaves out: the number of bytes,
 * and the form.
 */
import { placeOf } from "@millrace/api/Sentence"
import type { Limits } from "@millrace/core/domain/Limits"

const [quote, backslash] = [0x22, 0x5c]
const [openArray, closeArray, openObject, closeObject] = [0x5b, 0x5d, 0x7b, 0x7d]

/** The key that is written between two places. */
const keyBetween = (bytes: Uint8Array, from: number, to: number): ReadonlyArray<PropertyKey> => {
  try {
    return [JSON.parse(new TextDecoder().decode(bytes.subarray(from, to))) as string]
  } catch {
    return []
  }
}

/** The place after the JSON string that begins at `from`. */
const endOfText = (bytes: Uint8Array, from: number): number => {
  let at = from + 1
  while (at < bytes.length && bytes[at] !== quote) at += bytes[at] === backslash ? 2 : 1
  return at + 1
}

/**
 * Says in which field JSON text is nested too deep; `undefined` if it is not. The content of
 * strings does not count. The bytes need not be JSON. An object or array alone is one level.
 */
export const problemOfDepth = (
  bytes: Uint8Array,
  { bodyDepth }: Pick<Limits, "bodyDepth">,
): string | undefined => {
  let depth = 0
  // The last string directly in the outermost object. Before a nested value, that is its key.
  let [keyFrom, keyTo] = [0, 0]
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at]!
    if (byte === quote) {
      const end = endOfText(bytes, at)
      if (depth === 1) [keyFrom, keyTo] = [at, end]
      at = end - 1
    } else if (byte === openArray || byte === openObject) {
      depth += 1
      if (depth <= bodyDepth) continue
      const place = placeOf(keyBetween(bytes, keyFrom, keyTo), "body")
      return `${place}: is nested deeper than ${bodyDepth} levels`
    } else if (byte === closeArray || byte === closeObject) depth -= 1
  }
  return undefined
}

/** One walk over a body. It ends at the first problem. */
class Walk {
  readonly #mostValues: number
  readonly #path: Array<PropertyKey> = []
  #values = 0
  problem: string | undefined

  constructor(mostValues: number) {
    this.#mostValues = mostValues
  }

  visit(value: unknown): boolean {
    this.#values += 1
    if (this.#values > this.#mostValues) {
      this.problem = `body: has more than ${this.#mostValues} values`
      return false
    }
    if (typeof value === "number") return Number.isFinite(value) || this.#refuse("is too large")
    if (typeof value !== "object" || value === null) return true
    return Array.isArray(value)
      ? value.every((item, index) => this.#enter(index, item))
      : Object.keys(value).every((key) => this.#enter(key, (value as Record<string, unknown>)[key]))
  }

  #enter(key: PropertyKey, value: unknown): boolean {
    this.#path.push(key)
    const isFine = this.visit(value)
    if (isFine) this.#path.pop()
    return isFine
  }

  #refuse(why: string): false {
    this.problem = `${placeOf(this.#path, "body")}: ${why}`
    return false
  }
}

/**
 * Says which bound a parsed body exceeds; `undefined` if it exceeds none. An object or array alone
 * is one value; keys do not count. Visits no value beyond the bound. The body must have passed
 * {@link problemOfDepth}.
 */
export const problemOfValues = (
  body: unknown,
  { bodyValues }: Pick<Limits, "bodyValues">,
): string | undefined => {
  const walk = new Walk(bodyValues)
  walk.visit(body)
  return walk.problem
}
