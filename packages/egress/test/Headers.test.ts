import { describe, expect, it } from "vitest"
import { maxHeaderLength, maxHeaders, problemOfHeaders } from "../src/Headers.ts"

describe("Headers.problemOfHeaders", () => {
  it("lets ordinary headers through", () => {
    const headers = { accept: "text/plain", "X-Api-Key": "a b\tc", "content-type": "text/csv" }
    expect(problemOfHeaders(headers)).toBeUndefined()
    expect(problemOfHeaders({})).toBeUndefined()
  })

  const reserved = [
    "Host",
    "host",
    "Content-Length",
    "Transfer-Encoding",
    "Connection",
    "Keep-Alive",
    "TE",
    "Trailer",
    "Upgrade",
    "Expect",
    "Proxy-Authorization",
    "proxy-connection",
    "Accept-Encoding",
    "HTTP2-Settings",
  ]
  for (const name of reserved) {
    it(`refuses ${name}`, () =>
      expect(problemOfHeaders({ [name]: "x" })).toBe(
        `The header "${name.toLowerCase()}" may not be set`,
      ))
  }

  it("refuses line breaks and other control characters in a value", () => {
    for (const value of ["a\r\nHost: evil", "a\nb", "a\rb", "a\u0000b", "a\u007fb", "snow\u2603"]) {
      expect(problemOfHeaders({ "x-a": value })).toBe('The value of the header "x-a" is not valid')
    }
  })

  it("refuses a name that is not a token", () => {
    for (const name of ["", "a b", "a:b", "a\r\nb", "ä", "host "]) {
      expect(problemOfHeaders({ [name]: "x" })).toMatch(/^The header name .* is not valid$/)
    }
  })

  it("looks at every header", () => {
    expect(problemOfHeaders({ accept: "text/plain", "x-a": "a\nb", "x-b": "b" })).toMatch(/"x-a"/)
  })

  it("shows only the beginning of a long name", () => {
    const shown = JSON.stringify("ä".repeat(80))
    expect(problemOfHeaders({ ["ä".repeat(100)]: "x" })).toBe(
      `The header name ${shown} is not valid`,
    )
  })

  it("bounds how many there are and how long they are", () => {
    const many = Object.fromEntries(
      Array.from({ length: maxHeaders + 1 }, (_, index) => [`x-${index}`, "v"]),
    )
    expect(problemOfHeaders(many)).toBe("There are more than 50 headers")
    expect(problemOfHeaders(Object.fromEntries(Object.entries(many).slice(1)))).toBeUndefined()
    expect(problemOfHeaders({ a: "x".repeat(maxHeaderLength - 1) })).toBeUndefined()
    expect(problemOfHeaders({ a: "x".repeat(maxHeaderLength) })).toBe(
      "The headers are longer than 8192 characters",
    )
  })
})
