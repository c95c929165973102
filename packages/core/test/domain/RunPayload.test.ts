// How many bytes the payloads of runs have, and which runs of an answer keep theirs.
import type { NodeRun, Run, RunRecord } from "@millrace/core/domain/Run"
import {
  drawingBytesOf,
  nodeBytesOf,
  nodeSizesOf,
  payloadBytesOf,
  payloadsKept,
  runBytesOf,
  runSizesOf,
  withinBytes,
  withoutPayloads,
} from "@millrace/core/domain/RunPayload"
import { assert, describe, it } from "@effect/vitest"

const large = (at: string, bytes: number) =>
  ({ at, id: "v", bytes, type: "string", preview: "" }) as const

const row = {
  nodeId: "n",
  input: { a: "ä" },
  output: { b: null },
  logs: [],
  largeValues: null,
} as unknown as NodeRun

const run = { values: { x: 1 }, output: { y: 2 }, largeValues: null } as unknown as Run
const record = { run, nodeRuns: [row, row], definition: {} } as unknown as RunRecord

describe("RunPayload", () => {
  it("counts bytes of JSON in UTF-8, and nothing for null", () => {
    assert.strictEqual(runBytesOf(run), 7 + 7)
    assert.strictEqual(runBytesOf({ ...run, output: null }), 7)
    // {"a":"ä"} has ten bytes, {"b":null} as many, and [] two.
    assert.strictEqual(nodeBytesOf(row), 10 + 10 + 2)
    assert.strictEqual(nodeBytesOf({ ...row, input: null, output: null, logs: null }), 0)
    assert.strictEqual(payloadBytesOf(record), 14 + 2 * 22)
    assert.strictEqual(drawingBytesOf({ nodes: [], edges: [] }), 4)
  })

  it("counts a stored value in the place of the null that stands for it", () => {
    const stored = [large("/input/a", 100), large("/output/b", 1_000), large("/outputs", 5)]
    const sizes = nodeSizesOf({ ...row, largeValues: stored })
    assert.deepStrictEqual(sizes, { input: 10 + 96, output: 10 + 996, logs: 2 })
    assert.deepStrictEqual(nodeSizesOf(row), { input: 10, output: 10, logs: 2 })
    assert.deepStrictEqual(runSizesOf(run), { values: 7, output: 7 })
    const whole = { ...run, output: null, largeValues: [large("/output", 500)] }
    assert.deepStrictEqual(runSizesOf(whole), { values: 7, output: 500 })
    const inside = { ...run, largeValues: [large("/output/y", 500)] }
    assert.deepStrictEqual(runSizesOf(inside), { values: 7, output: 7 + 496 })
  })

  it("keeps payloads in order as long as all of them together fit", () => {
    assert.deepStrictEqual(payloadsKept([4, 5, 1], 10), [true, true, true])
    assert.deepStrictEqual(payloadsKept([4, 7, 1], 10), [true, false, false])
    // One that is too large by itself takes nothing from the others.
    assert.deepStrictEqual(payloadsKept([4, 11, 6, 1], 10), [true, false, true, false])
    assert.deepStrictEqual(payloadsKept([10], 10), [true])
  })

  it("leaves out the payloads of a run that does not fit, and says so", () => {
    const [first, second] = withinBytes([record, record], payloadBytesOf(record))
    assert.strictEqual(first, record)
    assert.deepStrictEqual(second, withoutPayloads(record))
    assert.deepStrictEqual(
      [second?.omitted, second?.run.values, second?.run.output],
      [true, {}, null],
    )
    const { input, logs, nodeId, output } = second!.nodeRuns[0]!
    assert.deepStrictEqual([nodeId, input, output, logs], ["n", null, null, null])
  })
})
