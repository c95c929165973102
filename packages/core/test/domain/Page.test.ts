// What lists, statements, events and answers hold.
import { answerText } from "@millrace/core/domain/Delivery"
import { AccountId, RunId, WorkflowId } from "@millrace/core/domain/Id"
import { keptAnswerBytes } from "@millrace/core/domain/Limits"
import { fromOverfetch } from "@millrace/core/domain/Page"
import type { NodeEnd } from "@millrace/core/domain/RunEvent"
import { merged, ofNode } from "@millrace/core/domain/RunEvent"
import { csvHead, csvLineOf } from "@millrace/core/domain/StatementCsv"
import { assert, describe, it } from "@effect/vitest"

describe("Page.fromOverfetch", () => {
  const items = [3, 2, 1].map((createdAt) => ({ createdAt, id: `x${createdAt}`, more: true }))

  it("leaves out what is too much, and says where to go on", () => {
    assert.deepStrictEqual(fromOverfetch(items, 2), {
      items: items.slice(0, 2),
      next: { createdAt: 2, id: "x2" },
    })
  })

  it("says nothing of a next page where there is none", () => {
    for (const limit of [3, 4]) {
      assert.deepStrictEqual(fromOverfetch(items, limit), { items, next: undefined })
    }
    assert.deepStrictEqual(fromOverfetch(items, 0), { items: [], next: undefined })
  })
})

describe("StatementCsv", () => {
  const entry = {
    number: 7,
    key: "k",
    accountId: AccountId.make("acc_1"),
    kind: "post",
    posted: -1_500_000,
    reserved: 0,
    runId: RunId.make("run_1"),
    part: "a#3",
    actor: null,
    reason: "x",
    at: 0,
  } as const

  it("has a line with the names of the columns, and one for each entry", () => {
    const columns = "number,at,kind,posted,reserved,runId,nodeId,part,actor,reason"
    assert.strictEqual(csvHead, `${columns}\r\n`)
    const cells = "7,1970-01-01T00:00:00.000Z,post,-1.5,0,run_1,a,a#3,,x"
    assert.strictEqual(csvLineOf(entry), `${cells}\r\n`)
  })

  it("quotes what would end a cell, and lets no cell be a formula", () => {
    const reasonOf = (reason: string) =>
      csvLineOf({ ...entry, reason })
        .slice(0, -2)
        .split(",,")[1]
    assert.strictEqual(reasonOf('say "a", b'), '"say ""a"", b"')
    for (const end of ["\r", "\n", ","]) assert.strictEqual(reasonOf(`a${end}b`), `"a${end}b"`)
    for (const first of ["=", "+", "-", "@", "\t"]) {
      assert.strictEqual(reasonOf(`${first}1`), `'${first}1`)
    }
    assert.strictEqual(reasonOf("\r1"), `"'\r1"`)
    assert.strictEqual(reasonOf("a=1"), "a=1")
  })
})

describe("RunEvent", () => {
  const run = { id: RunId.make("run_1"), workflowId: WorkflowId.make("wf_1") }
  const end = (sequence: number | null, change: Partial<NodeEnd> = {}): NodeEnd => ({
    attempt: 1,
    error: null,
    finishedAt: 5,
    nodeId: "n",
    nodeType: "pass",
    sequence,
    status: "COMPLETED",
    ...change,
  })

  it("follows from the end of a node, by its status", () => {
    assert.deepStrictEqual(ofNode(run, end(2)), {
      runId: run.id,
      workflowId: run.workflowId,
      sequence: 2,
      type: "node.completed",
      at: 5,
      error: null,
      data: { status: "COMPLETED", nodeId: "n", nodeType: "pass", attempt: 1, sequence: 2 },
    })
    const failed = ofNode(run, end(3, { status: "FAILED", error: "no" }))
    assert.deepStrictEqual([failed?.type, failed?.error], ["node.failed", "no"])
    assert.isUndefined(ofNode(run, end(null)))
    assert.isUndefined(ofNode(run, end(2, { finishedAt: null })))
  })

  it("stands in order with those of the run, after a number", () => {
    const own = [1, 4].map((sequence) => ofNode(run, end(sequence))!)
    const numbers = (after: number) =>
      merged(run, own, [end(3), end(null), end(2)], after).map(({ sequence }) => sequence)
    assert.deepStrictEqual(numbers(0), [1, 2, 3, 4])
    assert.deepStrictEqual(numbers(2), [3, 4])
  })
})

describe("Delivery.answerText", () => {
  it("keeps the beginning of an answer as text that every store can hold", () => {
    assert.strictEqual(answerText(new TextEncoder().encode("a\u0000b")), "a\ufffdb")
    assert.lengthOf(answerText(new Uint8Array(keptAnswerBytes + 9).fill(65)), keptAnswerBytes)
  })
})
