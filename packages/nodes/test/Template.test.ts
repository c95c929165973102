import { describe, expect, it } from "@effect/vitest"
import type { Json, JsonObject } from "@millrace/core/domain/Json"
import { expressionsPerTemplate, templateInsertedLength } from "@millrace/core/domain/Limits"
import { Schema } from "effect"
import { fill as filling, problemsOfLiteral, problemsOfTemplate } from "../src/Template.ts"
import { done, isClean, json } from "./TestNode.ts"

const fill = (template: Json, scope: JsonObject) => done((work) => filling(template, scope, work))

const scope = {
  input: { user: { name: "Ada", age: 36, tags: ["a", "b"] }, nothing: null, items: [{ id: 1 }] },
  values: { greeting: "Hello", __proto__x: 1 },
}

const filled = (template: Json) => {
  expect(problemsOfTemplate(template)).toEqual([])
  return fill(template, scope)
}

describe("Template.fill", () => {
  it("keeps the type of a value where the text is nothing but an expression", () => {
    expect(filled("{{ input.user.age }}")).toBe(36)
    expect(filled("{{input.user.tags}}")).toEqual(["a", "b"])
    expect(filled("{{ input.items[0].id }}")).toBe(1)
    expect(filled("{{ input.nothing }}")).toBeNull()
    expect(filled("{{ input }}")).toBe(scope.input)
  })

  it("puts texts in as they are and other values as JSON", () => {
    expect(filled("{{ values.greeting }}, {{ input.user.name }}!")).toBe("Hello, Ada!")
    expect(filled("{{ input.user.age }} years")).toBe("36 years")
    expect(filled("tags: {{ input.user.tags }}")).toBe('tags: ["a","b"]')
    expect(filled("{{ input.nothing }}.")).toBe("null.")
    expect(filled(" {{ input.user.age }}")).toBe(" 36")
    expect(filled("{{ input.user.age }}{{ input.user.age }}")).toBe("3636")
  })

  it("puts nothing in for a missing value, and null where it stands alone", () => {
    expect(filled("[{{ input.missing }}]")).toBe("[]")
    expect(filled("{{ input.missing.deeper }}")).toBeNull()
    expect(fill("{{ input }}", { values: {} })).toBeNull()
  })

  it("walks arrays and objects, and leaves keys and other values alone", () => {
    const template = {
      "{{ input.user.name }}": ["{{ values.greeting }}", 1, true, null, { a: "{{ input.items }}" }],
    }
    expect(filled(template)).toEqual({
      "{{ input.user.name }}": ["Hello", 1, true, null, { a: [{ id: 1 }] }],
    })
  })

  it("never reads as a template what it put in", () => {
    const values = { a: "{{ values.b }}", b: "secret" }
    expect(fill("{{ values.a }}", { values })).toBe("{{ values.b }}")
    expect(fill("x{{ values.a }}", { values })).toBe("x{{ values.b }}")
    const halves = { open: "{{ values.b", close: "}}" }
    expect(fill("{{ values.open }}{{ values.close }}", { values: halves })).toBe("{{ values.b}}")
  })

  it("leaves braces alone that are never closed or stand alone", () => {
    for (const text of ["{{", "}}", "{ input }", "{{ input.user", "a }} b", "{{{{{{"]) {
      expect(filled(text)).toBe(text)
    }
  })

  it("puts in a text in quotes as it is, which is how two braces are written", () => {
    expect(filled('{{ "{{" }} input {{ "}}" }}')).toBe("{{ input }}")
    expect(filled('{{"{{"}}')).toBe("{{")
    expect(filled(String.raw`a {{ "\u00e4\n" }} b`)).toBe("a ä\n b")
    expect(problemsOfTemplate('{{ "a" + "b" }}')).toHaveLength(1)
    expect(problemsOfTemplate('{{ "a }}')).toHaveLength(1)
  })

  it("reads own properties only, and pollutes nothing", () => {
    const paths = ["input.__proto__", "input.constructor.name", "input.user.name.length"]
    for (const path of paths) expect(filled(`{{ ${path} }}`)).toBeNull()
    const template = json('{"__proto__": {"polluted": "{{ values.greeting }}"}, "a": 1}')
    const result = filled(template) as object
    expect(JSON.stringify(result)).toBe('{"__proto__":{"polluted":"Hello"},"a":1}')
    expect(Object.getPrototypeOf(result)).toBe(Object.prototype)
    expect(isClean()).toBe(true)
  })

  it("stops before a small template makes a huge result", () => {
    const values = { big: "x".repeat(templateInsertedLength / 4) }
    expect(fill("{{ values.big }}".repeat(4), { values })).toHaveLength(templateInsertedLength)
    const sentence = "the result is larger than 1048576 characters"
    expect(() => fill("{{ values.big }}".repeat(5), { values })).toThrow(sentence)
    const whole = Array.from({ length: 5 }, () => "{{ values }}")
    expect(() => fill(whole, { values })).toThrow(sentence)
  })

  it("takes time in proportion to the text, however many braces it has", () => {
    const text = "{{".repeat(200_000)
    expect(filled(text)).toBe(text)
    expect(problemsOfTemplate(`${text}}}`)).toHaveLength(1)
    expect(filled("{ {".repeat(200_000))).toHaveLength(600_000)
  })

  it.prop(
    "keeps any value that stands alone, and any template without braces",
    [Schema.Json],
    ([value]) => {
      expect(fill("{{ input }}", { input: value, values: {} })).toBe(value)
      const plain = JSON.parse(JSON.stringify(value).replaceAll("{{", "{ {")) as Json
      expect(fill(plain, { values: {} })).toEqual(plain)
    },
  )

  it.prop("splices a text in unchanged, whatever is in it", [Schema.String], ([text]) => {
    expect(fill("<{{ input }}>", { input: text, values: {} })).toBe(`<${text}>`)
  })
})

describe("Template.problemsOfLiteral", () => {
  const looks = (text: string) =>
    `"${text}" is no path, and a template computes nothing; expected a path such as ` +
    'input.user.name or input["first name"]'

  it.each(["input.id + 1", "input.a-b - 1", "input.a ?? 1", "input.f(1)", "input.a > 1"])(
    "names {{ %s }}, which would come out as null",
    (text) => {
      const template = { a: [`x {{ ${text} }}`] }
      expect(problemsOfTemplate(template)).toEqual([])
      expect(problemsOfLiteral(template)).toEqual([`[a][0]: ${looks(text)}`])
      expect(fill(`{{ ${text} }}`, scope)).toBeNull()
    },
  )

  it.each([
    "{{ input }}",
    "{{input.user.tags[0]}}",
    "{{ input.first-name }} {{ values.größe_2 }} {{ values.$x }}",
    '{{ input["first name"]["a + b"].c }}',
    '{{ "{{" }} {{ "}}" }}',
    "{ { }} }",
  ])("has nothing against %s", (text) => {
    expect(problemsOfTemplate(text)).toEqual([])
    expect(problemsOfLiteral(text)).toEqual([])
  })

  it("names braces that are never closed, and says how two braces are written", () => {
    const clause = 'holds {{ that is never closed; write {{ "{{" }} for the two braces'
    expect(problemsOfLiteral({ a: "{{ input }} {{ input" })).toEqual([`[a]: ${clause}`])
    expect(problemsOfLiteral("{{")).toEqual([clause])
  })

  it("has nothing to say of what no template is", () => {
    let deep: Json = "{{"
    for (let level = 0; level < 100_000; level += 1) deep = [deep]
    expect(problemsOfLiteral(deep)).toEqual([])
  })
})

describe("Template.problemsOfTemplate", () => {
  it("names an expression that is no path from input or values, and where it is", () => {
    const issues = problemsOfTemplate({ a: ["{{ user.name }}"], b: "{{ input..x }} {{ }}" })
    expect(issues.map(({ path }) => path)).toEqual([["a", 0], ["b"], ["b"]])
    expect(issues[0]?.issue).toBe(
      "expected a path that begins with input or values, like " +
        '{{ input.user.name }}, not "user.name"',
    )
  })

  it("does not repeat an endless expression", () => {
    expect(problemsOfTemplate(`{{ ${"x".repeat(10_000)} }}`)[0]?.issue.length).toBeLessThan(300)
  })

  it("refuses more expressions than one template may have", () => {
    const sentence = "expected at most 10000 expressions"
    expect(problemsOfTemplate("{{input}}".repeat(expressionsPerTemplate))).toEqual([])
    const text = "{{input}}".repeat(expressionsPerTemplate + 1)
    expect(problemsOfTemplate(text)).toEqual([{ path: [], issue: sentence }])
    const many = Array.from({ length: expressionsPerTemplate + 1 }, () => "{{input}}")
    expect(problemsOfTemplate(many)).toEqual([{ path: [], issue: sentence }])
  })

  it("refuses a template nested too deep, without overflowing the stack", () => {
    let deep: Json = "{{ input }}"
    for (let level = 0; level < 100_000; level += 1) deep = [deep]
    expect(problemsOfTemplate(deep)).toHaveLength(1)
  })
})
