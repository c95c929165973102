// What a process remembers is bounded, and what was used longest ago goes first.
import { describe, expect, it } from "vitest"
import { BoundedMap } from "../../src/engine/BoundedMap.ts"

const filled = (...keys: ReadonlyArray<string>) => {
  const map = new BoundedMap<string, number>(2)
  for (const key of keys) map.set(key, keys.indexOf(key))
  return map
}

const keysOf = (map: BoundedMap<string, number>) => map.entries().map(([key]) => key)

describe("BoundedMap", () => {
  it("remembers the entries used last, and at most twice as many", () => {
    expect(keysOf(filled("a", "b", "c", "d"))).toEqual(["a", "b", "c", "d"])
    expect(keysOf(filled("a", "b", "c", "d", "e"))).toEqual(["c", "d", "e"])
  })

  it("keeps what is read, or set again", () => {
    const map = filled("a", "b", "c")
    expect(map.get("a")).toBe(0)
    map.set("d", 3)
    expect(map.get("a")).toBe(0)
    expect(map.has("b")).toBe(false)
    map.set("a", 7)
    expect(keysOf(map)).toEqual(["c", "a", "d"])
    expect(map.get("a")).toBe(7)
  })

  it("forgets nothing while entries are only set again", () => {
    const map = filled("a", "b", "a", "b", "a")
    expect(keysOf(map)).toEqual(["a", "b"])
  })

  it("finds nothing after a delete, however old", () => {
    const map = filled("a", "b", "c")
    map.set("a", 5)
    map.delete("a")
    map.delete("c")
    expect([map.get("a"), map.has("c"), keysOf(map)]).toEqual([undefined, false, ["b"]])
    map.clear()
    expect(keysOf(map)).toEqual([])
  })
})
