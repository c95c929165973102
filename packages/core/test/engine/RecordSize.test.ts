// How much room a run is said to take: roughly its characters, counted no further than asked for.
import type { Json } from "@millrace/core/domain/Json"
import type { NodeRun, Run } from "@millrace/core/domain/Run"
import { describe, expect, it } from "vitest"
import { sizeOf } from "../../src/engine/internal/RecordSize.ts"
import { newRun } from "./PlayedRun.ts"

const most = 1_000_000

const row: NodeRun = {
  nodeId: "n",
  nodeType: "t",
  ordinal: 0,
  status: "COMPLETED",
  attempt: 1,
  input: null,
  output: null,
  largeValues: null,
  logs: null,
  error: null,
  credits: 0,
  sequence: 1,
  startedAt: 0,
  finishedAt: 0,
}

const size = (run: Partial<Run>, nodeRuns: ReadonlyArray<NodeRun> = [], limit = most): number =>
  sizeOf({ run: { ...newRun, ...run }, nodeRuns }, limit)

const bare = size({})

const text = "x".repeat(300)

describe("sizeOf", () => {
  it("counts texts and keys of values, however deep", () => {
    expect(size({ values: { key: text } }) - bare).toBe("key".length + 8 + text.length)
    const nested: Json = { list: [{ a: text }, { a: text }] }
    expect(size({ values: nested }) - size({ values: { list: [{ a: "" }, { a: "" }] } })).toBe(600)
  })

  it("counts neither numbers nor null beside their keys", () => {
    const values = { a: 1, b: null, c: true }
    expect(size({ values }) - bare).toBe(3 * 9)
  })

  it("counts what a run has beside its values", () => {
    const inputOverrides = { n: { port: text } }
    expect(size({ output: text }) - bare).toBe(text.length)
    expect(size({ inputOverrides }) - bare).toBe("n".length + "port".length + 2 * 8 + text.length)
    expect(size({ viewport: { x: 1, y: 2 } }) - bare).toBe(2 * 9)
  })

  const parts: ReadonlyArray<Partial<NodeRun>> = [
    { input: { a: text } },
    { output: { a: text } },
    { error: text },
    { logs: [{ at: 0, level: "info", message: text, attempt: 1 }] },
  ]

  it.each(parts)("counts what a node has got, put out and said: %#", (part) => {
    expect(size({}, [{ ...row, ...part }]) - size({}, [row])).toBeGreaterThanOrEqual(text.length)
  })

  it("counts a value once that one node puts out and others are given", () => {
    const value = { text }
    const ports = size({}, [row, row, row]) + 3 * ("a".length + 8)
    const given = { ...row, input: { a: value } }
    expect(size({}, [{ ...row, output: { a: value } }, given, given]) - ports).toBe(
      "text".length + 8 + text.length,
    )
    const equal = [1, 2, 3].map(() => ({ ...row, input: { a: { text } } }))
    expect(size({}, equal) - ports).toBe(3 * ("text".length + 8 + text.length))
  })

  it("counts a text as often as it is given, and null as nothing", () => {
    const ports = size({}, [row, row]) + 2 * ("a".length + 8)
    const given = { ...row, input: { a: text } }
    expect(size({}, [given, given]) - ports).toBe(2 * text.length)
    const none = { ...row, input: { a: null } }
    expect(size({}, [none, none])).toBe(ports)
  })

  it("counts something for each run and each node", () => {
    expect(bare).toBeGreaterThan(0)
    expect(size({}, [row, row]) - size({}, [row])).toBe(size({}, [row]) - bare)
    expect(size({}, [row])).toBeGreaterThan(bare)
  })

  it("stops counting behind what was asked for", () => {
    const list = Array.from({ length: 10_000 }, () => text)
    const counted = size({ values: { list } }, [], 5_000)
    expect(counted).toBeGreaterThan(5_000)
    expect(counted).toBeLessThan(200_000)
  })
})
