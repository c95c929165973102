// Stored values: what stands for them in memory and in rows, and that each way leads back.
import type { Json } from "@millrace/core/domain/Json"
import type { LargeValue, PlacedValue } from "@millrace/core/domain/LargeValue"
import {
  describe as describeValue,
  largeIn,
  largeJson,
  liveRow,
  namedBy,
  replaceLarge,
  withLarge,
  withoutLarge,
} from "@millrace/core/domain/LargeValue"
import { valuePreviewLength } from "@millrace/core/domain/Limits"
import { assert, describe, it } from "@effect/vitest"

const valueOf = (id: string): LargeValue => ({ id, bytes: 9, type: "string", preview: `"${id}` })
const [one, two] = [valueOf("one"), valueOf("two")]
const placed = (at: string, value: LargeValue): PlacedValue => ({ at, ...value })

describe("LargeValue.describe", () => {
  it("says the kind of a value, its size, and how its text begins", () => {
    const of = (value: Json) => describeValue("v", value, JSON.stringify(value), 5)
    assert.deepStrictEqual(of([1]), { id: "v", bytes: 5, type: "array", preview: "[1]" })
    assert.strictEqual(of("text").type, "string")
    assert.strictEqual(of({ a: 1 }).type, "object")
    assert.lengthOf(of("x".repeat(10_000)).preview, valuePreviewLength)
  })

  it("cuts no character in two", () => {
    const pairs = "😀".repeat(valuePreviewLength)
    const { preview } = describeValue("v", pairs, `"${pairs}"`, 1)
    assert.strictEqual(preview, `"${"😀".repeat((valuePreviewLength - 1) >> 1)}`)
  })
})

/** A record of ports: one large value, one in an array, one in a record, and names to escape. */
const live = {
  whole: largeJson(one),
  many: [1, largeJson(two), "small"],
  "a/b~c": { "~1": largeJson(one), other: null },
  plain: { deep: { deeper: ["x"] } },
}

const stored = {
  whole: null,
  many: [1, null, "small"],
  "a/b~c": { "~1": null, other: null },
  plain: { deep: { deeper: ["x"] } },
}

const places = [
  placed("/output/whole", one),
  placed("/output/many/1", two),
  placed("/output/a~1b~0c/~01", one),
]

describe("LargeValue.withoutLarge", () => {
  it("leaves null in the place of each stored value, and says where each belongs", () => {
    const found: Array<PlacedValue> = []
    assert.deepStrictEqual<unknown>(withoutLarge(live, "/output", found), stored)
    assert.deepStrictEqual(found, places)
  })

  it("gives back the same value where nothing is stored beside it", () => {
    const found: Array<PlacedValue> = []
    assert.strictEqual(withoutLarge(stored, "/output", found), stored)
    assert.strictEqual(withoutLarge(stored.many, "/output", found), stored.many)
    for (const plain of [null, 7, "text"]) {
      assert.strictEqual(withoutLarge<Json>(plain, "/output", found), plain)
    }
    assert.deepStrictEqual(found, [])
  })

  it("looks no deeper than a value of a port of several values", () => {
    const deeper = { port: [{ field: { inner: largeJson(one) } }] }
    const json = deeper as unknown as Json
    assert.deepStrictEqual(largeIn(json), [])
    assert.deepStrictEqual(largeIn({ port: [{ field: largeJson(one) }] }), [one])
  })
})

describe("LargeValue.withLarge", () => {
  it("puts each value where it belongs", () => {
    assert.deepStrictEqual<unknown>(withLarge(stored, "/output", places), live)
    const names = withLarge<Json>(stored, "/output", places, ({ id }) => id)
    assert.deepStrictEqual(names, {
      ...stored,
      whole: "one",
      many: [1, "two", "small"],
      "a/b~c": { "~1": "one", other: null },
    })
  })

  it("can be a value as a whole", () => {
    const whole = withLarge<Json>(null, "/output", [placed("/output", one)], ({ id }) => id)
    assert.strictEqual(whole, "one")
  })

  it("leaves what belongs elsewhere, or has no such place", () => {
    const elsewhere = [placed("/input/whole", one), placed("/outputs/whole", two)]
    assert.strictEqual(withLarge(stored, "/output", elsewhere), stored)
    assert.strictEqual(withLarge(stored, "/output", null), stored)
    const none = [placed("/output/many/9", one), placed("/output/plain/no", two)]
    assert.deepStrictEqual(withLarge(stored, "/output", none), stored)
    const small: Json = { n: 1, t: null }
    const within = [placed("/output/n/x", one), placed("/output/t/x", one)]
    assert.deepStrictEqual(withLarge(small, "/output", within), small)
  })
})

describe("LargeValue.liveRow", () => {
  it("restores input and output of a row, each from its own places", () => {
    const row = {
      nodeId: "n",
      input: { a: null },
      output: { a: null },
      largeValues: [placed("/input/a", one), placed("/output/a", two)],
    }
    const { input, output } = liveRow(row)
    assert.deepStrictEqual(largeIn(input), [one])
    assert.deepStrictEqual(largeIn(output), [two])
    const bare = { ...row, largeValues: null }
    assert.strictEqual(liveRow(bare), bare)
  })
})

describe("LargeValue.namedBy", () => {
  it("lists the values of a run and of its nodes", () => {
    const [a, b] = [placed("/output", one), placed("/input/x", two)]
    const of = (run: ReadonlyArray<PlacedValue> | null) =>
      namedBy({
        run: { largeValues: run },
        nodeRuns: [{ largeValues: [b] }, { largeValues: null }],
      })
    assert.deepStrictEqual(of([a]), [a, b])
    assert.deepStrictEqual(of(null), [b])
  })
})

describe("LargeValue.replaceLarge", () => {
  it("tells where each value stands", () => {
    const at: Array<string> = []
    replaceLarge(live, (value, place) => {
      at.push(place)
      return value.id
    })
    assert.deepStrictEqual(at, ["/whole", "/many/1", "/a~1b~0c/~01"])
  })
})
