import { describe, expect, it } from "@effect/vitest"
import { nearest, unknownFields } from "../../src/domain/Nearest.ts"

const known = ["onFailure", "timeoutMillis"]

describe("Nearest.unknownFields", () => {
  it.each([
    ["onFailur", 'unknown field "onFailur"; did you mean "onFailure"?'],
    ["ONFAILURE", 'unknown field "ONFAILURE"; did you mean "onFailure"?'],
    ["timeout_millis", 'unknown field "timeout_millis"; did you mean "timeoutMillis"?'],
    ["colour", 'unknown field "colour"; known are onFailure, timeoutMillis'],
  ])("says of %s: %s", (field, clause) => {
    expect(unknownFields(["onFailure", field], known)).toEqual([clause])
  })

  it("names at most 20 fields and guesses at no endless name", () => {
    const fields = Array.from({ length: 100_000 }, (_, n) => `${"x".repeat(n % 90)}${n}`)
    expect(unknownFields(fields, known)).toHaveLength(20)
    expect(unknownFields(["x".repeat(1_000_000)], known)[0]!.length).toBeLessThan(300)
  })
})

describe("Nearest.nearest", () => {
  it("answers with the known name that needs the fewest changes", () => {
    expect(nearest("onFail", known)).toBe("onFailure")
    expect(nearest("x", [])).toBeUndefined()
    expect(nearest("abc", ["abd", "abe"])).toBe("abd")
  })

  it("compares a bounded number of names", () => {
    const many = Array.from({ length: 1_001 }, (_, n) => (n < 1_000 ? `y${n}` : "wanted"))
    expect(nearest("wanted", many)).not.toBe("wanted")
    expect(nearest("wanted", many.slice(1))).toBe("wanted")
  })
})
