import { describe, expect, it } from "@effect/vitest"
import type { Json } from "@millrace/core/domain/Json"
import { Schema } from "effect"
import { parsePath, valueAt } from "@millrace/core/domain/Path"

const json = (text: string) => JSON.parse(text) as Json

const at = (root: Json, text: string) => {
  const path = parsePath(text)
  if (path === undefined) throw new Error(`${text} is not a path`)
  return valueAt(root, path)
}

describe("Path.parsePath", () => {
  it("reads names, indexes and quoted names", () => {
    expect(parsePath("input")).toEqual(["input"])
    expect(parsePath("input.user.name")).toEqual(["input", "user", "name"])
    expect(parsePath("input.items[0].id")).toEqual(["input", "items", "0", "id"])
    expect(parsePath("[0][12]")).toEqual(["0", "12"])
    expect(parsePath('sums["line.total"].x')).toEqual(["sums", "line.total", "x"])
    expect(parsePath('a[""]')).toEqual(["a", ""])
    expect(parsePath("content-type")).toEqual(["content-type"])
    expect(parsePath("Straße.名前")).toEqual(["Straße", "名前"])
  })

  for (const text of ["", ".", "a.", ".a", "a..b", "a[", "a]", "a[]", "a[x]", "a[0]b", "a.[0]"]) {
    it(`does not read ${JSON.stringify(text)}`, () => expect(parsePath(text)).toBeUndefined())
  }

  it("does not read endless text", () => {
    expect(parsePath("a".repeat(500))).toBeDefined()
    expect(parsePath("a".repeat(501))).toBeUndefined()
  })
})

describe("Path.valueAt", () => {
  const root = { user: { name: "Ada", tags: ["x", "y"] }, none: null, "a.b": 1 }

  it("follows keys and indexes", () => {
    expect(at(root, "user.name")).toBe("Ada")
    expect(at(root, "user.tags[1]")).toBe("y")
    expect(at(root, "user.tags.1")).toBe("y")
    expect(at(root, '["a.b"]')).toBe(1)
    expect(valueAt(root, [])).toBe(root)
  })

  it("tells null from missing", () => {
    expect(at(root, "none")).toBeNull()
    expect(at(root, "none.more")).toBeUndefined()
    expect(at(root, "other")).toBeUndefined()
  })

  it("finds nothing that was not put there", () => {
    const paths = [
      "__proto__",
      "constructor",
      "constructor.name",
      "toString",
      "user.hasOwnProperty",
      "user.__proto__.polluted",
      "user.name.length",
      "user.name[0]",
      "user.tags.length",
      "user.tags[2]",
      "user.tags[01]",
      "user.tags.-1",
      "user.tags.1e0",
      "user.tags.map",
    ]
    for (const path of paths) expect(at(root, path), path).toBeUndefined()
  })

  it("reads an own key whatever its name", () => {
    expect(at(json('{"__proto__": {"a": 1}}'), "__proto__.a")).toBe(1)
    expect(at(json('{"constructor": 2}'), "constructor")).toBe(2)
  })

  it.prop(
    "finds what Object.entries finds, and nothing else",
    { value: Schema.Json, key: Schema.String },
    ({ key, value }) => {
      const own = new Map(Object.entries(typeof value === "string" ? {} : (value ?? {})))
      expect(valueAt(value, [key])).toBe(own.get(key))
      for (const [name, child] of own) expect(valueAt(value, [name])).toBe(child)
    },
    { arbitrary: { runs: 500 } },
  )
})
