// The rows that a start makes: of its run, and of the nodes whose outputs are known before it.
import { AccountId, KeyId, RunId, SessionId, WorkflowId } from "@millrace/core/domain/Id"
import type { Definition } from "@millrace/core/domain/Run"
import type { Workflow } from "@millrace/core/domain/Workflow"
import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import type { StartRequest, TakenOver } from "../../src/engine/internal/NewRun.ts"
import {
  concurrencyOf,
  givenRowsOf,
  newRunOf,
  overlayOf,
  pinnedRowsOf,
} from "../../src/engine/internal/NewRun.ts"
import type { Plan } from "../../src/engine/internal/Plan.ts"
import { chain } from "./PlayedRun.ts"

const account = AccountId.make("acc_1")
const { nodes } = chain("a", "b", "c")
const definition: Definition = { id: "wf_1@4", nodes, edges: [], settings: {} }

const workflow: Workflow = {
  id: WorkflowId.make("wf_1"),
  accountId: account,
  name: "Test",
  description: null,
  thumbnailUrl: null,
  nodes,
  edges: [],
  settings: {},
  revision: 4,
  createdAt: 1,
  updatedAt: 2,
}

const made: Plan = {
  definition,
  graph: Result.fail([]),
  values: { number: 1 },
  estimate: 7,
  prices: [],
  inputOverrides: {},
  pinnedOutputs: {},
}

const earlier = RunId.make("run_0")

const taken = (more: Partial<TakenOver> = {}): TakenOver => ({
  of: earlier,
  isSameGraph: true,
  outputs: { a: { output: 1 } },
  executedBy: new Map([["a", earlier]]),
  ...more,
})

const asked = (more: Partial<StartRequest> = {}): StartRequest => ({
  workflowId: workflow.id,
  ...more,
})

/** The row of a run that is asked for at the time 100. */
const runOf = (more: Partial<StartRequest> = {}, of = workflow) => {
  const id = RunId.make("run_1")
  const fresh = { id, executionId: "exe_1", createdAt: 100, webhook: null, parent: null }
  return newRunOf({ account, request: asked(more) }, of, made, fresh)
}

describe("NewRun.newRunOf", () => {
  it("says that a run executes all of a workflow, one node of it, or the rest of a run", () => {
    assert.strictEqual(runOf().mode, "full")
    assert.strictEqual(runOf({ rerun: taken() }).mode, "rerun")
    assert.strictEqual(runOf({ singleNodeId: "a" }).mode, "single")
  })

  it("names the version, the run before and what else a start brings, or null for each", () => {
    const none = {
      workflowRevision: 4,
      workflowVersion: null,
      singleNodeId: null,
      rerunOf: null,
      keyId: null,
      triggerId: null,
      after: null,
      viewport: null,
      maxCredits: null,
      priority: 0,
      source: "api",
    } as const
    assert.deepInclude(runOf(), none)
    const viewport = { x: 1, y: 2, zoom: 3 }
    const given = {
      singleNodeId: "a",
      keyId: KeyId.make("key_1"),
      after: { runId: earlier, depth: 2 },
      viewport,
      maxCredits: 9,
      priority: -1,
      source: "ui",
    } as const
    const run = runOf({ ...given, rerun: taken() }, { ...workflow, version: 3 })
    assert.deepInclude(run, { ...given, rerunOf: earlier, workflowVersion: 3 })
  })

  it("starts a run later only if its time has not come", () => {
    assert.deepInclude(runOf({ startAt: 100 }), { startAt: null, dueAt: null })
    assert.deepInclude(runOf({ startAt: 101 }), { startAt: 101, dueAt: 101 })
  })
})

describe("NewRun.concurrencyOf", () => {
  const settings = { concurrencyKey: "all", concurrency: 3 }

  it("takes the key of the workflow for whole runs, and not for a node that runs alone", () => {
    const whole = concurrencyOf(asked(), { settings }, {})
    assert.deepStrictEqual(whole, Result.succeed({ concurrencyKey: "all", concurrency: 3 }))
    const alone = concurrencyOf(asked({ singleNodeId: "a" }), { settings }, {})
    assert.deepStrictEqual(alone, Result.succeed({ concurrencyKey: null, concurrency: null }))
  })

  it("takes the key of the start first, also for a node that runs alone", () => {
    const request = asked({ concurrencyKey: "own", singleNodeId: "a" })
    const own = concurrencyOf(request, { settings: { concurrencyKey: "all" } }, {})
    assert.deepStrictEqual(own, Result.succeed({ concurrencyKey: "own", concurrency: 1 }))
  })
})

describe("NewRun.overlayOf", () => {
  it("lays over a workflow what is asked for, and nothing where nothing is", () => {
    const nothing = { values: {}, inputOverrides: {}, nodeOverrides: [], pinnedOutputs: {} }
    assert.deepStrictEqual(overlayOf(asked()), nothing)
    const values = { number: 1 }
    assert.deepStrictEqual(overlayOf(asked({ values })), { ...nothing, values })
  })

  it("takes over what an earlier run has put out, and says whether its graph is the same", () => {
    const { isUnstored, takenOver } = overlayOf(asked({ rerun: taken({ isSameGraph: false }) }))
    assert.deepStrictEqual([takenOver, isUnstored], [{ a: { output: 1 } }, false])
    assert.isTrue(overlayOf(asked({ rerun: taken() })).isUnstored)
  })
})

describe("NewRun.pinnedRowsOf", () => {
  const pinnedOutputs = { c: { output: "x" }, a: { output: 1 } }
  const rowsOf = (more: Partial<StartRequest> = {}) =>
    pinnedRowsOf(asked(more), { definition, pinnedOutputs }, { createdAt: 100 })
  const linesOf = (more: Partial<StartRequest> = {}) => rowsOf(more).map(({ logs }) => logs)

  const pinned = {
    at: 100,
    level: "info" as const,
    attempt: 0,
    message: "Pinned: the start of the run gave this output, and the node was not executed",
  }

  it("makes a completed row of each node whose output is given, and of no other", () => {
    const row = {
      nodeType: "step",
      status: "COMPLETED",
      attempt: 0,
      input: null,
      largeValues: null,
      logs: [pinned],
      error: null,
      credits: 0,
      sequence: null,
      startedAt: null,
      finishedAt: 100,
    }
    assert.deepStrictEqual<unknown>(rowsOf(), [
      { ...row, nodeId: "a", ordinal: 0, output: { output: 1 } },
      { ...row, nodeId: "c", ordinal: 2, output: { output: "x" } },
    ])
    const none = pinnedRowsOf(asked(), { definition, pinnedOutputs: {} }, { createdAt: 100 })
    assert.deepStrictEqual(none, [])
  })

  it("says in their logs by which key or in which session the output was given", () => {
    const keyId = KeyId.make("key_1")
    const sessionId = SessionId.make("ses_1")
    const byKey = [{ ...pinned, data: { keyId } }]
    assert.deepStrictEqual(linesOf({ keyId }), [byKey, byKey])
    const bySession = [{ ...pinned, data: { sessionId } }]
    assert.deepStrictEqual(linesOf({ keyId, sessionId }), [bySession, bySession])
  })

  it("names the run that executed a node whose output was taken over", () => {
    const message = "Taken over from run run_0, where the node completed"
    const takenOver = [{ ...pinned, message, data: { runId: earlier } }]
    assert.deepStrictEqual(linesOf({ rerun: taken() }), [takenOver, [pinned]])
  })
})

describe("NewRun.givenRowsOf", () => {
  it("makes the rows of nodes outside of a loop, and names the run whose loop it is", () => {
    const plan = { definition, pinnedOutputs: { b: { output: [2] } } }
    const rows = givenRowsOf(plan, earlier, 100)
    assert.strictEqual(rows.length, 1)
    assert.deepInclude(rows[0], {
      nodeId: "b",
      ordinal: 1,
      status: "COMPLETED",
      output: { output: [2] },
      finishedAt: 100,
    })
    const message = "Given by run run_0, to the body of its loop"
    const line = { at: 100, level: "info", attempt: 0, message, data: { runId: earlier } }
    assert.deepStrictEqual<unknown>(rows[0]?.logs, [line])
  })
})
