/**
 * Names in expressions within JSON.
 */
import { describe, expect, it } from "vitest"
import { offerInJson, offersInJson } from "../../../../src/model/editing/internal/JsonNames.ts"
import type { NameScope } from "../../../../src/model/editing/internal/NameCompletion.ts"

const scope: NameScope = {
  names: ["fetch", 'nodes["a b"]', "values", "run"],
  outputsOf: () => [{ name: "a key", schema: {} }],
  labelOf: (id) => id,
  values: {},
  input: undefined,
  secrets: [],
  known: undefined,
}

/** The bar is the caret. Takes the offer at an index. */
const taken = (marked: string, index = 0, isAsked = false) => {
  const at = marked.indexOf("|")
  const text = marked.replace("|", "")
  const found = offersInJson(text, at, scope, isAsked)
  if (found === undefined) return undefined
  const { caret, from, insert, to } = offerInJson(text, found, found.offers[index]!)
  const next = text.slice(0, from) + insert + text.slice(to)
  return `${next.slice(0, caret)}|${next.slice(caret)}`
}

describe("offersInJson", () => {
  it("offers names within texts, and leaves the rest of the JSON alone", () => {
    expect(taken('{"a": "{{ fe|", "b": {"c": {}}}')).toBe('{"a": "{{ fetch| }}", "b": {"c": {}}}')
    expect(taken('{"a": "x {{|')).toBe('{"a": "x {{ fetch| }}')
    expect(taken('["{{ fetch }} and {{ ru|"]')).toBe('["{{ fetch }} and {{ run| }}"]')
  })

  it("escapes what it puts in", () => {
    expect(taken('["{{ |"]', 1)).toBe('["{{ nodes[\\"a b\\"]| }}"]')
    expect(taken('["{{ fetch.|"]')).toBe('["{{ fetch[\\"a key\\"]| }}"]')
  })

  it("puts in a whole text where it is asked for outside of one", () => {
    expect(taken('{"a": |}', 0, true)).toBe('{"a": "{{ fetch| }}"}')
    expect(taken('{"a": "|"}', 0, true)).toBe('{"a": "{{ fetch| }}"}')
    expect(taken('{"a": |}')).toBeUndefined()
    expect(taken('{"a\\"": |}')).toBeUndefined()
  })
})
