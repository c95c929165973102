/**
 * Names that are offered inside of expressions.
 */
import { describe, expect, it } from "vitest"
import type { NameScope } from "../../../../src/model/editing/internal/NameCompletion.ts"
import {
  offersAt,
  shortText,
  withOffer,
} from "../../../../src/model/editing/internal/NameCompletion.ts"

const status = { type: "object", properties: { status: { type: "integer" } } }
const items = { type: "array", items: { type: "object", properties: { x: { type: "string" } } } }

const scope: NameScope = {
  names: ["fetch", 'nodes["a b"]', "values", "run"],
  outputsOf: (id) =>
    id === "fetch"
      ? [
          { name: "body", schema: { description: "The answer." } },
          { name: "response", schema: status },
        ]
      : [{ name: "output", schema: items }],
  labelOf: (id) => (id === "fetch" ? "Get orders" : id),
  values: { type: "object", properties: { orderId: { type: "string" } } },
  input: undefined,
  secrets: ["token"],
  known: {
    outputs: new Map([["fetch", { body: { "a key": 1, list: [{ id: 7 }] } }]]),
    run: { id: "run_1", startedAt: null },
  },
}

/** The bar is the caret. */
const offered = (marked: string, isAsked = false) => {
  const caret = marked.indexOf("|")
  const text = marked.replace("|", "")
  const found = offersAt(text, caret, scope, isAsked)
  return { text, names: found?.offers.map(({ name }) => name), found }
}

const taken = (marked: string, isAsked = false) => {
  const { found, text } = offered(marked, isAsked)
  const next = withOffer(text, found!, found!.offers[0]!)
  return `${next.text.slice(0, next.caret)}|${next.text.slice(next.caret)}`
}

describe("offersAt", () => {
  it("offers the names of the node after {{, and nothing outside", () => {
    const all = ["fetch", 'nodes["a b"]', "values", "run", "secrets"]
    expect(offered("{{|").names).toEqual(all)
    expect(offered("{{ 1 + |").names).toEqual(all)
    expect(offered("{{ fetch }} and {{ |").names).toEqual(all)
    for (const text of ["|", "fetch|", "{{ fetch }} fe|", "{|", "{{ fetch }}|"])
      expect(offered(text).names, text).toBeUndefined()
  })

  it("goes down through outputs, properties, arrays and keys in brackets", () => {
    expect(offered("{{ fetch.|").names).toEqual(["body", "response"])
    expect(offered("{{ fetch?.response.|").names).toEqual(["status"])
    expect(offered('{{ nodes["a b"].output[0].|').names).toEqual(["x"])
    expect(offered("{{ values.|").names).toEqual(["orderId"])
    expect(offered("{{ secrets.|").names).toEqual(["token"])
    expect(offered("{{ run.s|").names).toEqual(["startedAt"])
  })

  it("knows what the last run had where the schema says nothing, and shows the values", () => {
    expect(offered("{{ fetch.body.|").names).toEqual(["a key", "list"])
    const { found } = offered("{{ fetch.body.list[0].|")
    expect(found?.offers).toEqual([
      { name: "id", insert: ".id", kind: "", description: "", value: { is: 7 } },
    ])
    expect(offered("{{ fetch.body.list.|").names).toEqual(["[0]", "length"])
  })

  it("finds by what a name begins with, by what it contains, and by the name of the node", () => {
    expect(offered("{{ fe|").names).toEqual(["fetch"])
    expect(offered("{{ un|").names).toEqual(["run"])
    expect(offered("{{ orders|").names).toEqual(["fetch"])
    expect(offered("{{ zzz|").names).toEqual([])
  })

  it("offers nothing below names that it does not know, calls and texts", () => {
    for (const text of ["{{ other.|", "{{ f().|", "{{ 'a.|", "{{ a.fetch.|"])
      expect(offered(text).names ?? [], text).toEqual([])
  })

  it("offers no secrets where they are not allowed", () => {
    const none = { ...scope, secrets: [] }
    expect(offersAt("{{ sec", 6, none)?.offers).toEqual([])
  })

  it("answers at once for a long text", () => {
    const text = `${"{{ fetch.body }} ".repeat(6_000)}{{ fetch.`
    expect(offersAt(text, text.length, scope)?.offers).toHaveLength(2)
    const nested = `{{ ${"fetch[0]".repeat(12_000)}.`
    expect(offersAt(nested, nested.length, scope)?.offers ?? []).toEqual([])
  })
})

describe("withOffer", () => {
  it("puts the name in place of what is typed, and closes the expression", () => {
    expect(taken("{{|")).toBe("{{ fetch| }}")
    expect(taken("Hello {{ fe|")).toBe("Hello {{ fetch| }}")
    expect(taken("{{ fe|tch }} x")).toBe("{{ fetch| }} x")
    expect(taken("{{ fetch.bo| }}")).toBe("{{ fetch.body| }}")
    expect(taken("{{ fetch.| {{ run }}")).toBe("{{ fetch.body| }} {{ run }}")
  })

  it("puts keys that are no names into brackets", () => {
    expect(taken("{{ fetch.body.a|")).toBe('{{ fetch.body["a key"]| }}')
    expect(taken("{{ fetch.body?.a|")).toBe('{{ fetch.body?.["a key"]| }}')
    expect(taken("{{ fetch.body.list.|")).toBe("{{ fetch.body.list[0]| }}")
  })

  it("puts a whole expression where it was asked for outside of one", () => {
    expect(taken("a |b", true)).toBe("a {{ fetch| }}b")
  })
})

describe("shortText", () => {
  it("is one line of bounded length, whatever the value is", () => {
    expect(shortText({ a: [1, "x", null], b: true })).toBe('{ a: [1, "x", null], b: true }')
    const large = Array.from({ length: 100_000 }, (_, index) => ({ index }))
    expect(shortText(large, 40)).toHaveLength(40)
    expect(shortText("x".repeat(1_000_000), 40)).toHaveLength(40)
  })
})
