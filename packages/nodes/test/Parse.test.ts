/**
 * What the parse node makes of texts, well formed or not, and of hostile ones.
 */
import { describe, it } from "@effect/vitest"
import type { JsonObject } from "@millrace/core/domain/Json"
import { Effect } from "effect"
import { expect } from "vitest"
import { readJson } from "../src/internal/JsonText.ts"
import { parse } from "../src/internal/Parse.ts"
import { clauses, failing, isClean, json, run } from "./TestNode.ts"

const parsed = (mode: string, input: string, more: JsonObject = {}) =>
  Effect.map(run(parse, { input, ...more }, { mode }), ({ output }) => output)

const failed = (mode: string, input: string, more: JsonObject = {}) =>
  failing(parse, { input, ...more }, { mode })

describe("parse in mode json", () => {
  it.effect("gives the value, also after a byte order mark", () =>
    Effect.gen(function* () {
      expect(yield* parsed("json", '\ufeff {"a": [1, "ü"]}\n')).toEqual({ a: [1, "ü"] })
      const hostile = yield* parsed("json", '{"__proto__": {"polluted": 1}, "constructor": 2}')
      expect(Object.keys(hostile as JsonObject)).toEqual(["__proto__", "constructor"])
      expect(isClean()).toBe(true)
    }),
  )

  it.effect("fails with the line and the column", () =>
    Effect.gen(function* () {
      for (const [text, sentence] of [
        ['{\n  "a": 1,\n  b: 2\n}', 'no JSON: unexpected "b" in line 3, column 3'],
        ["[1, 2,]", 'no JSON: unexpected "]" in line 1, column 7'],
        ['{"a": 1,}', 'no JSON: unexpected "}" in line 1, column 9'],
        ['{"a" 1}', 'no JSON: unexpected "1" in line 1, column 6'],
        ["[01]", 'no JSON: unexpected "0" in line 1, column 2'],
        ["nul", 'no JSON: unexpected "n" in line 1, column 1'],
        ['["a\nb"]', 'no JSON: unexpected "\\"" in line 1, column 2'],
        ['["\\x"]', 'no JSON: unexpected "\\"" in line 1, column 2'],
        ["1 2", 'no JSON: unexpected "2" in line 1, column 3'],
        ["<html>", 'no JSON: unexpected "<" in line 1, column 1'],
        ['{"a": [1', "the JSON ends too early, in line 1"],
        ["", "the JSON ends too early, in line 1"],
        ["[\n\n", "the JSON ends too early, in line 3"],
      ] as const) {
        expect(yield* failed("json", text), text).toBe(sentence)
      }
    }),
  )

  it("finds a place exactly in what is no JSON", () => {
    const whole = '{"a":[1,-2.5e3,"x\\u00e9\\n",true,null,{}],"b":{"c":[[],[{}]]}} '
    for (let end = 0; end < whole.length - 1; end++) {
      for (const more of ["", "}", ",", '"', "x", "1", "\u0001"]) {
        const text = whole.slice(0, end) + more
        const message = () => {
          try {
            readJson(text)
            return "JSON"
          } catch (error) {
            return String(error)
          }
        }
        let isJson = true
        try {
          JSON.parse(text)
        } catch {
          isJson = false
        }
        expect(message(), text).toMatch(isJson ? /^JSON$/ : /line 1/)
      }
    }
  })
})

describe("parse in mode csv", () => {
  it.effect("gives records by the header, or rows", () =>
    Effect.gen(function* () {
      const text = '\ufeffid,name\r\n1,"Ada, ""the"" first"\r\n\r\n2,"two\nlines"\r\n'
      expect(yield* parsed("csv", text)).toEqual([
        { id: "1", name: 'Ada, "the" first' },
        { id: "2", name: "two\nlines" },
      ])
      expect(yield* parsed("csv", "1;2\n3;4", { header: false, delimiter: ";" })).toEqual([
        ["1", "2"],
        ["3", "4"],
      ])
      expect(yield* parsed("csv", "")).toEqual([])
      expect(yield* parsed("csv", "a,b\n")).toEqual([])
    }),
  )

  it.effect("has columns of any name, and pollutes nothing", () =>
    Effect.gen(function* () {
      const rows = yield* parsed("csv", "__proto__,constructor,toString\n1,2,3\n")
      expect(JSON.stringify(rows)).toBe('[{"__proto__":"1","constructor":"2","toString":"3"}]')
      expect(isClean()).toBe(true)
    }),
  )

  it.effect("fails with the line", () =>
    Effect.gen(function* () {
      expect(yield* failed("csv", "a,b\n1,2\n1,2,3\n")).toBe(
        "no CSV: Invalid Record Length: expect 2, got 3 on line 3",
      )
      expect(yield* failed("csv", 'a,b\n1,"2\n')).toMatch(/^no CSV: Quote Not Closed: .* line 2/)
      expect(yield* failed("csv", 'a,b\n1,x"2"\n')).toMatch(/^no CSV: Invalid .* line 2/)
      expect(yield* failed("csv", "a,,c\n1,2,3\n")).toBe("the header has no name for column 2")
      expect(yield* failed("csv", "a,b,a\n1,2,3\n")).toBe('the header names "a" twice')
      expect(yield* failed("csv", "1\n".repeat(100_002), { header: true })).toBe(
        "the CSV has more than 100000 rows",
      )
    }),
  )

  it.effect("reads what is longer than a slice as it reads the rest", () =>
    Effect.gen(function* () {
      const rows = Array.from({ length: 3_000 }, (_, n) => ({ n: String(n), t: `ü"${n}",\n` }))
      const text = rows.map(({ n, t }) => `${n},"${t.replaceAll('"', '""')}"\n`).join("")
      expect(yield* parsed("csv", `n,t\n${text}`)).toEqual(rows)
    }),
  )
})

describe("parse in mode xml", () => {
  it.effect("gives elements, attributes and texts, and nothing is converted", () =>
    Effect.gen(function* () {
      const text =
        '<?xml version="1.0"?><!DOCTYPE o><o id="007"><!-- no --><item>1.50</item>' +
        "<item a='&quot;'>A &amp; &#233;&#x1F600; &nbsp;</item><c><![CDATA[<&amp;>]]></c></o>"
      expect(yield* parsed("xml", text)).toEqual({
        o: {
          "@id": "007",
          item: ["1.50", { "@a": '"', "#text": "A & é😀 &nbsp;" }],
          c: "<&amp;>",
        },
      })
      expect(yield* parsed("xml", "<o><i>1</i></o>", { arrays: ["i"] })).toEqual({
        o: { i: ["1"] },
      })
    }),
  )

  it.effect("refuses entities that a document declares, and names that objects inherit", () =>
    Effect.gen(function* () {
      const bomb =
        '<!DOCTYPE l [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;">]><l>&b;&b;&b;</l>'
      expect(yield* failed("xml", bomb)).toBe('no XML that can be read: it declares the entity "a"')
      const external = '<!DOCTYPE l [<!ENTITY x SYSTEM "file:///etc/passwd">]><l>&x;</l>'
      expect(yield* failed("xml", external)).toMatch(/^no XML.*xternal/)
      for (const name of ["__proto__", "constructor", "prototype", "toString"]) {
        expect(yield* failed("xml", `<o><${name}>1</${name}></o>`)).toBe(
          `no XML that can be read: an element has the name "${name}", which every object has`,
        )
      }
      const attributes = yield* parsed("xml", '<o __proto__="1" constructor="2"/>')
      expect(attributes).toEqual({ o: { "@__proto__": "1", "@constructor": "2" } })
      expect(isClean()).toBe(true)
    }),
  )

  it.effect("fails with the line", () =>
    Effect.gen(function* () {
      expect(yield* failed("xml", "<a>\n<b>\n</a>")).toMatch(/^no XML: .*'b'.* in line [23]$/)
      expect(yield* failed("xml", "text")).toMatch(/^no XML: .* in line 1$/)
      expect(yield* failed("xml", "")).toMatch(/^no XML: .* in line 1$/)
      expect(yield* failed("xml", "<a b=1/>")).toMatch(/^no XML: .* in line 1$/)
    }),
  )

  it.effect("bounds depth and length", () =>
    Effect.gen(function* () {
      const deep = (levels: number) => "<a>".repeat(levels) + "</a>".repeat(levels)
      expect(yield* failed("xml", deep(500))).toBe(
        "no XML that can be read: its elements are nested more than 100 deep",
      )
      expect(yield* failed("xml", `<a>${"x".repeat(131_072)}</a>`)).toBe(
        "the text has 131079 characters; at most 131072 can be parsed",
      )
    }),
  )
})

describe("parse", () => {
  it.effect("refuses options of another mode", () =>
    Effect.gen(function* () {
      expect(yield* failed("json", "1", { header: true })).toBe(
        "header, delimiter: only mode csv has that",
      )
      expect(yield* failed("csv", "1", { arrays: [] })).toBe("arrays: only mode xml has that")
    }),
  )

  it("says at the start what is wrong with its literals", () => {
    for (const delimiter of ["", ";;", "\n", '"']) {
      expect(clauses(parse, "delimiter", delimiter)).toEqual(["expected one character"])
    }
    expect(clauses(parse, "delimiter", "\t")).toEqual([])
    expect(clauses(parse, "input", 1)).toHaveLength(1)
    expect(clauses(parse, "input", json('{"a": 1}'))).toHaveLength(1)
  })
})
