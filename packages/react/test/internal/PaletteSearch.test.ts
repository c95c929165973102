/**
 * A node type is found by any of its words.
 */
import { describe, expect, it } from "vitest"
import { searchedTypes } from "../../src/internal/PaletteSearch.ts"

const type = (key: string, name: string, category: string, description: string) => ({
  key,
  name,
  category,
  description,
})

const types = [
  type("switch", "Switch", "flow", "Sends a value one of several ways."),
  type("http_request", "HTTP request", "network", "Asks a server."),
  type("email", "Email", "network", "Sends a message through a server."),
  type("request", "Request", "flow", "Hands the values of a start to the graph."),
]

const keys = (text: string) => searchedTypes(types, text).map(({ key }) => key)

describe("searchedTypes", () => {
  it("shows all without words, the request node first, then by category and name", () => {
    expect(keys("  ")).toEqual(["request", "switch", "email", "http_request"])
  })

  it("finds name, key, category and description, and puts names first", () => {
    expect(keys("request")).toEqual(["request", "http_request"])
    expect(keys("HTTP_")).toEqual(["http_request"])
    expect(keys("network")).toEqual(["email", "http_request"])
    expect(keys("sends")).toEqual(["switch", "email"])
  })

  it("asks for every word", () => {
    expect(keys("network message")).toEqual(["email"])
    expect(keys("network values")).toEqual([])
  })
})
