import { describe, expect, it } from "vitest"
import { BlockMeter } from "../src/internal/BlockMeter.ts"

describe("BlockMeter.look", () => {
  it("counts from the last time that the loop was seen to turn", () => {
    const meter = new BlockMeter(7, 0)
    expect([100, 200, 300].map((now) => meter.look(7, now))).toEqual([100, 200, 300])
    expect(meter.look(8, 400)).toBe(0)
    expect(meter.look(8, 500)).toBe(100)
  })

  it("counts a second at most where the thread that looks stood still, too", () => {
    const meter = new BlockMeter(7, 0)
    expect(meter.look(7, 600_000)).toBe(1_000)
    expect(meter.look(7, 600_100)).toBe(1_100)
  })
})
