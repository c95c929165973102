// Which values a limit may have.
import { problemOfLimit } from "@millrace/core/domain/Limits"
import { assert, describe, it } from "@effect/vitest"

const limit = { usual: 5, meaning: "Some." }

describe("Limits.problemOfLimit", () => {
  it("takes whole numbers from the least one, which is 1 if the limit says nothing else", () => {
    for (const value of [1, 2, Number.MAX_SAFE_INTEGER]) {
      assert.isUndefined(problemOfLimit(limit, value))
    }
    assert.isUndefined(problemOfLimit({ ...limit, least: 0 }, 0))
    assert.isUndefined(problemOfLimit({ ...limit, least: 10 }, 10))
    assert.strictEqual(
      problemOfLimit({ ...limit, least: 10 }, 9),
      "expected a whole number from 10",
    )
  })

  it("takes nothing else", () => {
    for (const value of [0, -1, 1.5, NaN, Infinity, 2 ** 53, "5", null, undefined, true]) {
      assert.strictEqual(problemOfLimit(limit, value), "expected a whole number from 1")
    }
  })

  it("takes Infinity where the limit is optional", () => {
    const optional = { ...limit, isOptional: true } as const
    assert.isUndefined(problemOfLimit(optional, Infinity))
    assert.isUndefined(problemOfLimit(optional, 1))
    for (const value of [0, -Infinity, NaN]) {
      const problem = "expected a whole number from 1, or Infinity"
      assert.strictEqual(problemOfLimit(optional, value), problem)
    }
  })
})
