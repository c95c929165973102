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

  it("compares a bounded number of names, fewer where they are long", () => {
    const compared = (length: number) => {
      const isFound = (place: number) => {
        const others = Array.from({ length: place }, () => "y".repeat(length))
        return nearest("x".repeat(length), [...others, "x".repeat(length)])![0] === "x"
      }
      let [least, most] = [0, 200_000]
      while (least < most) {
        const middle = Math.ceil((least + most) / 2)
        if (isFound(middle)) least = middle
        else most = middle - 1
      }
      return least
    }
    expect(compared(6)).toBe(4_080)
    expect(compared(64)).toBe(46)
  })
})
