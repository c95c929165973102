import { describe, expect, it } from "@effect/vitest"
import { bracketed, listed, plain, quoted } from "../../src/domain/Quote.ts"

describe("Quote.quoted", () => {
  it("shows 128 characters and cuts the rest, never within a character", () => {
    expect(quoted("x".repeat(128))).toBe(`"${"x".repeat(128)}"`)
    expect(quoted("x".repeat(300_000))).toBe(`"${"x".repeat(127)}…"`)
    expect(quoted("\u{1F9EC}".repeat(129))).toBe(`"${"\u{1F9EC}".repeat(127)}…"`)
  })

  it("escapes what cannot be seen, or changes how the rest reads", () => {
    const odd = '"\\\u0000\n\u001b\u007f\u009b\u200b\u2028\u202e\u2066\ufeff\ud800'
    const text = String.raw`"\"\\\u0000\n\u001b\u007f\u009b\u200b\u2028\u202e\u2066\ufeff\ud800"`
    expect(quoted(odd)).toBe(text)
    expect(JSON.parse(quoted(odd))).toBe(odd)
  })
})

describe("Quote.plain", () => {
  it("leaves the quotes away where a name looks like an identifier", () => {
    expect([plain("node_1.a:b-c"), plain("a b"), plain("")]).toEqual([
      "node_1.a:b-c",
      '"a b"',
      '""',
    ])
    expect(plain("x".repeat(129))).toBe(`"${"x".repeat(127)}…"`)
  })
})

describe("Quote.listed", () => {
  it("names 20 and counts the rest", () => {
    const names = Array.from({ length: 23 }, (_, n) => `n${n}`)
    expect(listed(names)).toMatch(/^n0, n1, .*, n19 and 3 more$/)
    expect(listed([])).toBe("none")
  })
})

describe("Quote.bracketed", () => {
  it("writes a path whose keys a caller may have chosen", () => {
    expect(bracketed([2, { key: "name" }, "a\n"])).toBe(String.raw`[2][name]["a\n"]`)
    expect(bracketed([])).toBe("")
  })
})
