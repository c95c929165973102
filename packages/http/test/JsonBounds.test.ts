/**
 * How deep a body is, told from its bytes alone.
 */
import { assert, describe, it } from "@effect/vitest"
import { problemOfDepth } from "../src/internal/JsonBounds.ts"

const bytes = (text: string) => new TextEncoder().encode(text)
const limits = { bodyDepth: 3 }

/** As slow and obvious as possible: what is nested in a parsed value. */
const depthOf = (value: unknown): number =>
  typeof value !== "object" || value === null
    ? 0
    : 1 + Math.max(0, ...Object.values(value).map(depthOf))

describe("JsonBounds.problemOfDepth", () => {
  const cases: ReadonlyArray<string> = [
    "",
    "1",
    "[[[]]]",
    "[[[[]]]]",
    '{"a":[{"b":1}],"c":[]}',
    '{"a":[{"b":{}}]}',
    String.raw`{"a":"[[[[","b\"[[":"\\","c":"\\\"{{{{"}`,
    String.raw`{"[[[[":["]]]]",["\""]]}`,
    '{"a":"\u{1F9EC}ä[[[["}',
    "[[],[[]],[],[[]]]",
  ]
  for (const text of cases) {
    it(`says of ${text} what a walk over the parsed value says`, () => {
      const tooDeep = text !== "" && depthOf(JSON.parse(text)) > limits.bodyDepth
      assert.strictEqual(problemOfDepth(bytes(text), limits) !== undefined, tooDeep)
    })
  }

  it("names the field that is too deep", () => {
    const place = (text: string) => problemOfDepth(bytes(text), limits)
    assert.strictEqual(place('{"a":"x","b":[[[['), "b: is nested deeper than 3 levels")
    assert.strictEqual(
      place(String.raw`{"a\nb":[[[]]]}`),
      String.raw`["a\nb"]: is nested deeper than 3 levels`,
    )
    assert.strictEqual(place("[[[["), "body: is nested deeper than 3 levels")
  })

  it("ends at the level that is one too many, and in a text that does not end", () => {
    const million = bytes("[".repeat(1_000_000))
    let read = 0
    const counted = new Proxy(million, {
      get: (target, key) => {
        if (typeof key === "string" && /^\d+$/.test(key)) read += 1
        return Reflect.get(target, key, target) as unknown
      },
    })
    assert.isDefined(problemOfDepth(counted, limits))
    assert.isBelow(read, 10)
    assert.isUndefined(problemOfDepth(bytes(String.raw`{"a":"\\`), limits))
    assert.isUndefined(problemOfDepth(bytes(`{"a":"\\`), limits))
  })
})
