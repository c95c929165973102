import type { NodeRun, RunRecord } from "@millrace/core/domain/Run"
import { dueAtOf, nodeRunsOf, skipReasonOf } from "@millrace/core/domain/Run"
import { never } from "@millrace/core/domain/Timestamp"
import { describe, expect, it } from "vitest"

/** A run of one node, of which only what matters here is known. */
const record = (run: Partial<RunRecord["run"]>, rows: ReadonlyArray<Partial<NodeRun>> = []) =>
  ({
    run: { status: "RUNNING", active: [], waiting: [], finishedAt: null, ...run },
    definition: { id: "d", nodes: [{ id: "n", type: "t" }], edges: [], settings: {} },
    nodeRuns: rows.map((row) => ({ nodeId: "n", ordinal: 0, ...row })),
  }) as unknown as RunRecord

const only = (each: RunRecord) => {
  const { attempt, startedAt, status } = nodeRunsOf(each)[0]!
  return { attempt, startedAt, status }
}

const ended = { status: "FAILED", finishedAt: 90 } as const

describe("Run.nodeRunsOf", () => {
  it("counts the attempt that is in progress", () => {
    const active = [{ ordinal: 0, attempt: 2, startedAt: 10 }]
    expect(only(record({ active }))).toEqual({ attempt: 2, startedAt: 10, status: "RUNNING" })
  })

  it("counts an attempt that its process did not survive while the node waits for a slot", () => {
    const waiting = [{ ordinal: 0, attempt: 2, startedAt: 10, due: 10 }]
    const shown = { attempt: 1, startedAt: 10 }
    expect(only(record({ waiting }))).toEqual({ ...shown, status: "WAITING" })
    expect(only(record({ waiting, ...ended }))).toEqual({ ...shown, status: "CANCELED" })
  })

  it("counts such an attempt on top of those that the node's row knows", () => {
    const waiting = [{ ordinal: 0, attempt: 3, startedAt: 10, due: 10 }]
    const rows = [{ status: "WAITING", attempt: 1, startedAt: 10 }] as const
    expect(only(record({ waiting, ...ended }, rows)).attempt).toBe(2)
  })

  it("shows a node that suspended itself in the attempt that it is in", () => {
    const waiting = [{ ordinal: 0, attempt: 1, startedAt: 10, due: 500, state: 500 }]
    const rows = [{ status: "WAITING", attempt: 1, startedAt: 10 }] as const
    const shown = { attempt: 1, startedAt: 10, status: "WAITING" }
    expect(only(record({ waiting }, rows))).toEqual(shown)
  })
})

describe("Run.dueAtOf", () => {
  const due = (status: NodeRun["status"], at: number) => {
    const waiting = [{ ordinal: 0, attempt: 2, startedAt: 10, due: at }]
    return dueAtOf(record({ waiting }).run, { ordinal: 0, status })
  }

  it("is known of a waiting node, and of no other", () => {
    expect(due("WAITING", 500)).toBe(500)
    expect(due("CANCELED", 500)).toBeNull()
    expect(dueAtOf({ waiting: [] }, { ordinal: 0, status: "WAITING" })).toBeNull()
  })

  it("is not known of a node that waits for a message alone", () => {
    expect(due("WAITING", never)).toBeNull()
  })
})

describe("Run.skipReasonOf", () => {
  const line = (message: string) => [{ at: 1, level: "info", message, attempt: 0 }] as const

  it("is what the log of a skipped node says, without its first word", () => {
    const logs = line('Skipped: "a" is disabled')
    expect(skipReasonOf({ status: "SKIPPED", logs })).toBe('"a" is disabled')
    const passed = line("Disabled: the input is passed through")
    expect(skipReasonOf({ status: "SKIPPED", logs: passed })).toBe(passed[0].message)
  })

  it("is not known of other nodes, and not without a log", () => {
    expect(skipReasonOf({ status: "COMPLETED", logs: line("Skipped: x") })).toBeNull()
    expect(skipReasonOf({ status: "SKIPPED", logs: null })).toBeNull()
  })
})
