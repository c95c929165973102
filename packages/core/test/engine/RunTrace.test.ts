// The trace that a run is in, which other programs compute from its id alone.
import { describe, expect, it } from "vitest"
import { traceOf } from "../../src/engine/RunTrace.ts"

describe("traceOf", () => {
  it("has the digits of the run's id, and its last 16 for the span", () => {
    const span = traceOf("run_0198f2c0-7d4e-7c3a-9a51-3f6f0f4b2a11")
    expect(span?.traceId).toBe("0198f2c07d4e7c3a9a513f6f0f4b2a11")
    expect(span?.spanId).toBe("9a513f6f0f4b2a11")
  })

  it.each(["run_1", "run_x198f2c0-7d4e-7c3a-9a51-3f6f0f4b2a11", "run_", "", "0198f2c0"])(
    "is none where the id %s is not one of 32 digits",
    (id) => expect(traceOf(id)).toBe(undefined),
  )

  it("is none where there are more than 32 digits, before or behind", () => {
    const digits = "0198f2c07d4e7c3a9a513f6f0f4b2a11"
    for (const id of [`run_a${digits}`, `run_${digits}a`]) expect(traceOf(id)).toBe(undefined)
  })
})
