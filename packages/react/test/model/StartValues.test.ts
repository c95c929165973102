/**
 * The form of a start gives the values that the request node declares.
 */
import { describe, expect, it } from "vitest"
import { startFieldsOf, startTextOf, startValuesOf } from "../../src/model/StartValues.ts"

const fields = [
  { name: "city", type: "string" },
  { name: "count", type: "number" },
  { name: "tags", type: "array" },
]

describe("startFieldsOf", () => {
  it("reads the fields of the request node, and nothing that is none", () => {
    const drawn = (given: unknown) => ({ nodes: [{ type: "request", data: { inputs: given } }] })
    expect(startFieldsOf(drawn({ fields: [...fields, 7, { type: "string" }] }))).toEqual(fields)
    expect(startFieldsOf(drawn({ fields: "{{ x }}" }))).toEqual([])
    expect(startFieldsOf({ nodes: [{ type: "text" }] })).toEqual([])
  })
})

describe("startValuesOf", () => {
  it("takes texts as they are and everything else as JSON, and leaves empty fields out", () => {
    expect(startValuesOf(fields, { city: "12", count: "1.5", tags: "" })).toEqual({
      values: { city: "12", count: 1.5 },
      wrong: [],
    })
  })

  it("names every field that is not JSON", () => {
    expect(startValuesOf(fields, { count: "many", tags: "[1" }).wrong).toEqual([
      fields[1],
      fields[2],
    ])
  })

  it("reads back what it shows", () => {
    const values = { city: "Ulm", count: 2, tags: [1, "a"] }
    const texts = Object.fromEntries(
      Object.entries(values).map(([name, value]) => [name, startTextOf(value)]),
    )
    expect(startValuesOf(fields, texts).values).toEqual(values)
  })
})
