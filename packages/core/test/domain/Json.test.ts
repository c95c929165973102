// What counts as JSON, and the codecs of times and credits.
import { fromNumber, MicroCredits, toNumber } from "@millrace/core/domain/Credits"
import {
  freeze,
  frozenCopy,
  isJsonObject,
  isLongerThan,
  problemOf,
} from "@millrace/core/domain/Json"
import { format, Timestamp } from "@millrace/core/domain/Timestamp"
import { assert, describe, it } from "@effect/vitest"
import { Result, Schema } from "effect"

const noJson: ReadonlyArray<readonly [unknown, RegExp]> = [
  [undefined, /undefined/],
  [Number.NaN, /NaN/],
  [[1, [Number.POSITIVE_INFINITY]], /Infinity/],
  [{ a: { b: 1n } }, /bigint/],
  [() => 1, /function/],
  [{ when: new Date(0) }, /Date/],
  [new Map(), /Map/],
  [[undefined], /undefined/],
]

describe("Json.problemOf", () => {
  it.prop("accepts whatever comes out of JSON text", [Schema.Json], ([value]) => {
    assert.strictEqual(problemOf(JSON.parse(JSON.stringify(value))), undefined)
  })

  it.each(noJson)("refuses %o", (value, message) => assert.match(problemOf(value) ?? "", message))

  it("takes a key without a value as absent, as JSON text does", () => {
    assert.strictEqual(problemOf({ a: undefined }), undefined)
  })

  it("reports cycles and deep nesting without overflowing the stack", () => {
    const cyclic: Array<unknown> = []
    cyclic.push(cyclic)
    assert.match(problemOf(cyclic) ?? "", /itself/)
    let deep: unknown = 1
    for (let level = 0; level < 100_000; level++) deep = [deep]
    assert.match(problemOf(deep) ?? "", /deeper than 1000/)
  })
})

describe("Json.frozenCopy", () => {
  const copyOf = (value: unknown) => Result.getOrThrow(frozenCopy(value)).value

  const isFrozen = (value: unknown): boolean =>
    typeof value !== "object" ||
    value === null ||
    (Object.isFrozen(value) && Object.values(value).every(isFrozen))

  it.prop(
    "copies as a trip through JSON text does, and freezes all of it",
    [Schema.Json],
    ([value]) => {
      const copy = copyOf(value)
      const text = JSON.stringify(value)
      assert.deepStrictEqual(copy, JSON.parse(text))
      assert.strictEqual(JSON.stringify(copy), text)
      assert.isTrue(isFrozen(copy))
    },
  )

  it("leaves the original as it was, and is not reached through it", () => {
    const original = { list: [1, { deep: true }], none: undefined, zero: -0 }
    const copy = copyOf(original)
    original.list.push(2)
    assert.isFalse(Object.isFrozen(original))
    assert.deepStrictEqual(copy, { list: [1, { deep: true }], zero: 0 })
  })

  it("keeps a key __proto__ as a key", () => {
    const text = '{"__proto__":{"polluted":1},"a":2}'
    const copy = copyOf(JSON.parse(text))
    assert.strictEqual(JSON.stringify(copy), text)
    assert.strictEqual((copy as { polluted?: number }).polluted, undefined)
  })

  it("never counts more characters than a sixth of the bytes it could take", () => {
    for (const value of ["", "\u0000\u0001", { ä: ["\ud800", 1e-300, null, true] }, "😀😀"]) {
      const { size } = Result.getOrThrow(frozenCopy(value))
      assert.isAtLeast(size * 6, new TextEncoder().encode(JSON.stringify(value)).length)
    }
  })

  it.each(noJson)("refuses %o", (value, message) => {
    const refusal = frozenCopy(value)
    assert.match(Result.isFailure(refusal) ? refusal.failure : "", message)
  })

  it("reports cycles and deep nesting without overflowing the stack", () => {
    const cyclic: Array<unknown> = []
    cyclic.push(cyclic)
    let deep: unknown = 1
    for (let level = 0; level < 100_000; level++) deep = [deep]
    for (const value of [cyclic, deep]) {
      const refusal = frozenCopy(value)
      assert.match(Result.isFailure(refusal) ? refusal.failure : "", /deeper than 1000/)
    }
  })
})

describe("Json.frozenCopy, about sizes and levels", () => {
  const sizeOf = (value: unknown) => Result.getOrThrow(frozenCopy(value)).size

  it("counts texts and keys by their characters, and a few for everything else", () => {
    assert.deepStrictEqual(["", "abc", 1, true, null, [], {}].map(sizeOf), [2, 5, 8, 5, 4, 2, 2])
    assert.strictEqual(sizeOf(["ab", 1]), 2 + 4 + 8)
    assert.strictEqual(sizeOf({ key: "ab", none: undefined }), 2 + 6 + 4)
  })

  it("takes as many levels as it may, and says when there are more", () => {
    assert.isUndefined(problemOf([[1]], 2))
    assert.isUndefined(problemOf({ a: [] }, 2))
    assert.match(problemOf([[[]]], 2) ?? "", /deeper than 2 levels/)
    assert.match(problemOf({ a: { b: {} } }, 2) ?? "", /deeper than 2 levels/)
  })

  it("names no class where an instance has none", () => {
    const instance: unknown = Object.create({ constructor: undefined })
    assert.strictEqual(problemOf(instance), "an instance of a class is not JSON")
    assert.isUndefined(problemOf(Object.create(null)))
  })
})

describe("Json.isJsonObject", () => {
  it("is true for objects alone, no arrays and no null", () => {
    assert.deepStrictEqual([{}, [], null, "x", 1, undefined].map(isJsonObject), [
      true,
      false,
      false,
      false,
      false,
      false,
    ])
  })
})

describe("Json.freeze", () => {
  it("freezes all of a value, and gives it back", () => {
    const value = { list: [1, { deep: null }], text: "x" }
    assert.strictEqual(freeze(value), value)
    assert.isTrue([value, value.list, value.list[1]].every(Object.isFrozen))
    assert.strictEqual(freeze("x"), "x")
    assert.isNull(freeze(null))
  })
})

describe("Json.isLongerThan", () => {
  it("counts as a copy does, at least", () => {
    const values = ["", "text", 1, null, false, [], ["a", ["b", 1]], { key: { inner: "x" }, n: 2 }]
    for (const value of values) {
      const leaves = JSON.stringify(value).match(/null|false/g)?.length ?? 0
      // Every leaf that is no text counts as a number.
      const size = Result.getOrThrow(frozenCopy(value)).size + leaves * (value === false ? 3 : 4)
      assert.isFalse(isLongerThan(value, size), JSON.stringify(value))
      assert.isTrue(isLongerThan(value, size - 1), JSON.stringify(value))
    }
  })

  it.prop("never counts less than a sixth of the bytes of a text", [Schema.Json], ([value]) => {
    const bytes = new TextEncoder().encode(JSON.stringify(value)).length
    assert.isTrue(isLongerThan(value, Math.ceil(bytes / 6) - 1))
  })

  it("counts objects without keys, too", () => {
    const row = Array.from({ length: 50 }, () => ({}))
    assert.isTrue(isLongerThan({ rows: [row, row, row, row] }, 100))
  })

  it("takes a long array for long without a look into it", () => {
    const array = Array.from({ length: 100 }, () => "")
    assert.isTrue(isLongerThan(array, 199))
    const none: ReadonlyArray<string> = Object.assign([], { length: 100 })
    assert.isTrue(isLongerThan(none, 199))
  })

  it("looks no further than needed", () => {
    let looked = 0
    const late = Object.defineProperty({}, "x", { enumerable: true, get: () => (looked += 1) })
    assert.isTrue(isLongerThan([late, "x".repeat(50)], 20))
    assert.strictEqual(looked, 0)
  })
})

describe("Timestamp", () => {
  const decode = Schema.decodeUnknownResult(Timestamp)

  it("reads and writes ISO 8601 in UTC with milliseconds", () => {
    assert.strictEqual(format(0), "1970-01-01T00:00:00.000Z")
    assert.strictEqual(Schema.encodeSync(Timestamp)(1_769_851_800_123), "2026-01-31T09:30:00.123Z")
    const decoded = decode("2026-01-31T10:30:00.123+01:00")
    assert.isTrue(Result.isSuccess(decoded) && decoded.success === 1_769_851_800_123)
  })

  it("refuses what is not a time", () => assert.isTrue(Result.isFailure(decode("soon"))))
})

describe("Credits", () => {
  const Micro = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 1e12 }))

  it.prop("keep every amount of at most six decimals exactly", [Micro], ([micro]) => {
    assert.strictEqual(fromNumber(toNumber(micro)), micro)
    assert.strictEqual(
      Schema.decodeSync(MicroCredits)(Schema.encodeSync(MicroCredits)(micro)),
      micro,
    )
  })
})
