import { stripVTControlCharacters } from "node:util"
import type { NodeRun } from "@millrace/core/domain/Run"
import { assert, describe, it } from "vitest"
import { coloured, plain } from "../src/internal/dev/Colors.ts"
import { nodeLine, timeText } from "../src/internal/dev/RunView.ts"

const completed: NodeRun = {
  nodeId: "fetch",
  nodeType: "http_request",
  ordinal: 1,
  status: "COMPLETED",
  attempt: 1,
  input: {},
  output: {},
  largeValues: null,
  logs: null,
  error: null,
  credits: 0,
  sequence: null,
  startedAt: 1_000,
  finishedAt: 1_023,
}

const widths = { id: 8, type: 12 }

describe("RunView.nodeLine", () => {
  it("says state and time in columns", () => {
    const line = nodeLine(completed, widths, plain)
    assert.strictEqual(line, "  fetch     http_request  ✔ COMPLETED   23 ms")
  })

  it("says why a node failed", () => {
    const failed: NodeRun = { ...completed, status: "FAILED", error: "HTTP 503 from example.com" }
    assert.match(nodeLine(failed, widths, plain), /✘ FAILED +23 ms {2}HTTP 503 from example\.com$/)
  })

  it("says why a node was skipped, once", () => {
    const log = {
      at: 1,
      level: "info",
      message: "Skipped: no input was taken",
      attempt: 0,
    } as const
    const times = { startedAt: null, finishedAt: 1 }
    const skipped: NodeRun = { ...completed, ...times, status: "SKIPPED", logs: [log] }
    assert.match(nodeLine(skipped, widths, plain), /– SKIPPED +no input was taken$/)
  })

  it("says the same in colours", () => {
    const line = nodeLine(completed, widths, coloured)
    const bare = nodeLine(completed, widths, plain)
    assert.notStrictEqual(line, bare)
    assert.strictEqual(stripVTControlCharacters(line), bare)
  })
})

describe("RunView.timeText", () => {
  it("counts milliseconds below a second, and seconds above", () => {
    assert.deepStrictEqual([0, 999, 1_000, 61_250].map(timeText), [
      "0 ms",
      "999 ms",
      "1.0 s",
      "61.3 s",
    ])
  })
})
