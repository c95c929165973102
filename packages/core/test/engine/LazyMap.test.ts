// A map that takes little memory while it has one entry at most is like any other map.
import { describe, expect, it } from "vitest"
import { LazyMap } from "../../src/engine/internal/LazyMap.ts"

const contentOf = (map: LazyMap<string, number>) => ({
  size: map.size,
  keys: [...map.keys()],
  values: [...map.values()],
  entries: [...map.entries()],
})

describe("LazyMap", () => {
  it("is empty at first, and after it is cleared", () => {
    const map = new LazyMap<string, number>()
    const empty = { size: 0, keys: [], values: [], entries: [] }
    expect(contentOf(map)).toEqual(empty)
    expect([map.get("a"), map.has("a"), map.delete("a")]).toEqual([undefined, false, false])
    map.set("a", 1)
    map.clear()
    expect(contentOf(map)).toEqual(empty)
  })

  it("has one entry, which can be replaced and deleted", () => {
    const map = new LazyMap<string, number>()
    map.set("a", 1)
    map.set("a", 2)
    const content = { size: 1, keys: ["a"], values: [2], entries: [["a", 2]] }
    expect(contentOf(map)).toEqual(content)
    expect([map.get("a"), map.has("a"), map.get("b"), map.has("b")]).toEqual([
      2,
      true,
      undefined,
      false,
    ])
    expect([map.delete("b"), map.size, map.delete("a"), map.size]).toEqual([false, 1, true, 0])
    map.set("b", 3)
    expect(map.get("b")).toBe(3)
  })

  it("has its entries in the order in which they were first set", () => {
    const map = new LazyMap<string, number>()
    map.set("b", 1)
    map.set("a", 2)
    map.set("b", 3)
    expect([map.get("b"), map.has("a"), map.has("c")]).toEqual([3, true, false])
    expect(contentOf(map)).toEqual({
      size: 2,
      keys: ["b", "a"],
      values: [3, 2],
      entries: [
        ["b", 3],
        ["a", 2],
      ],
    })
    expect([map.delete("b"), map.delete("b"), map.size]).toEqual([true, false, 1])
  })
})
