/**
 * Times on the wire: texts with milliseconds, in UTC.
 */
import { assert, describe, it } from "@effect/vitest"
import * as Timestamp from "@millrace/core/domain/Timestamp"
import { Schema } from "effect"

/** The last time that a Date knows. */
const most = 8_640_000_000_000_000
const times = Schema.Int.check(Schema.isBetween({ minimum: -most, maximum: most - 1 }))

describe("Timestamp.format", () => {
  it.prop("writes what a Date writes, whatever it wrote before", [times, times], ([one, other]) => {
    for (const millis of [one, one + 1, other, one]) {
      assert.strictEqual(Timestamp.format(millis), new Date(millis).toISOString())
    }
  })

  it("writes every millisecond of a second", () => {
    for (let millis = 1_999; millis <= 3_001; millis++) {
      assert.strictEqual(Timestamp.format(millis), new Date(millis).toISOString())
    }
  })
})
