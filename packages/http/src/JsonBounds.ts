/**
 * How large a body may be once it is JSON: how deep, and of how many values.
 *
 * Guarantees: whatever passes can be walked by recursion, and written again, because its numbers
 * are finite; a refusal names the place and never the value. Leaves out: bytes, which are counted
 * while they are read, and the form, which a schema knows.
 */
import { placeOf } from "@millrace/api/Sentence"
import type { Limits } from "@millrace/core/domain/Limits"

type Bounds = Pick<Limits, "bodyDepth" | "bodyValues">

/** One walk over a body. It ends at the first problem. */
class Walk {
  readonly #bounds: Bounds
  readonly #path: Array<PropertyKey> = []
  #values = 0
  problem: string | undefined

  constructor(bounds: Bounds) {
    this.#bounds = bounds
  }

  visit(value: unknown): boolean {
    this.#values += 1
    if (this.#values > this.#bounds.bodyValues) {
      this.problem = `body: has more than ${this.#bounds.bodyValues} values`
      return false
    }
    if (typeof value === "number") return Number.isFinite(value) || this.#refuse("is too large")
    if (typeof value !== "object" || value === null) return true
    if (this.#path.length >= this.#bounds.bodyDepth) {
      this.#path.length = Math.min(1, this.#path.length)
      return this.#refuse(`is nested deeper than ${this.#bounds.bodyDepth} levels`)
    }
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
 * Says which bound a parsed body goes beyond, or `undefined`. An object or array alone is one level
 * and one value; keys do not count. Costs one visit per value, and none beyond the bound.
 */
export const problemOfSize = (body: unknown, bounds: Bounds): string | undefined => {
  const walk = new Walk(bounds)
  walk.visit(body)
  return walk.problem
}
