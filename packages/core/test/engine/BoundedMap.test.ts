// What a process remembers is bounded, and what was set longest ago goes first.
import { describe, expect, it } from "vitest"
import { BoundedMap } from "../../src/engine/BoundedMap.ts"

describe("BoundedMap", () => {
  it("forgets what was set longest ago, and counts what is set again as the latest", () => {
    const map = new BoundedMap<string, number>(2)
    map.set("a", 1).set("b", 2).set("a", 3).set("c", 4)
    expect([...map]).toEqual([
      ["a", 3],
      ["c", 4],
    ])
  })
})
