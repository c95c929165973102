// Which large values a process has in memory, and which it forgets first.
import { RunId } from "@millrace/core/domain/Id"
import type { Json } from "@millrace/core/domain/Json"
import { describe, expect, it } from "vitest"
import { ValueMemory } from "../../src/engine/internal/ValueMemory.ts"

const [run, other] = [RunId.make("run_1"), RunId.make("run_2")]

const valueOf = (id: string, bytes: number) => ({ id, bytes, type: "array" as const, preview: id })

/** A memory of 100 bytes, and a way to keep values in it. */
const make = () => {
  const memory = new ValueMemory(100)
  const keep = (id: string, bytes: number, json: Json = [id], runId = run) => {
    const value = valueOf(id, bytes)
    memory.keep({ runId, value, json })
    return { json, value }
  }
  const has = (ids: string) =>
    Array.from(ids)
      .filter((id) => memory.get(id) !== undefined)
      .join("")
  return { has, keep, memory }
}

describe("ValueMemory", () => {
  it("keeps values of as many bytes as it may, and no more", () => {
    const { has, keep } = make()
    keep("a", 40)
    keep("b", 60)
    expect(has("ab")).toBe("ab")
    keep("c", 1)
    expect(has("abc")).toBe("bc")
  })

  it("forgets first what was used longest ago", () => {
    const { has, keep, memory } = make()
    keep("a", 40)
    keep("b", 40)
    expect(memory.get("a")).toEqual(["a"])
    keep("c", 40)
    expect(has("abc")).toBe("ac")
  })

  it("forgets as many as it takes, and a value that is larger than all its room", () => {
    const { has, keep } = make()
    for (const id of "abcd") keep(id, 25)
    keep("e", 60)
    expect(has("abcde")).toBe("de")
    keep("f", 101)
    expect(has("abcdef")).toBe("")
    keep("g", 100)
    expect(has("g")).toBe("g")
  })

  it("counts a value that is kept again once, and one that was forgotten no more", () => {
    const { has, keep, memory } = make()
    for (let time = 0; time < 5; time++) keep("a", 50)
    keep("b", 50)
    expect(has("ab")).toBe("ab")
    memory.forget("a")
    memory.forget("a")
    memory.forget("unknown")
    keep("c", 50)
    expect(has("abc")).toBe("bc")
  })

  it("knows the very value of a run, and neither an equal one nor that of another run", () => {
    const { keep, memory } = make()
    const { json, value } = keep("a", 10)
    expect(memory.knownAs(run, json)).toEqual(value)
    expect(memory.knownAs(run, ["a"])).toBe(undefined)
    expect(memory.knownAs(other, json)).toBe(undefined)
    memory.forget("a")
    expect(memory.knownAs(run, json)).toBe(undefined)
  })

  it("knows a value that two names stand for by the later one, and forgets it with that", () => {
    const { keep, memory } = make()
    const shared = ["shared"]
    keep("a", 10, shared)
    const { value } = keep("b", 10, shared)
    memory.forget("a")
    expect(memory.knownAs(run, shared)).toEqual(value)
    memory.forget("b")
    expect(memory.knownAs(run, shared)).toBe(undefined)
  })
})
