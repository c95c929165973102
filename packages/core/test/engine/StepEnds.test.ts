// How a run ends: by a failure, by its time, or from outside; and what is done about its nodes.
import { assert, describe, it } from "@effect/vitest"
import { cancel, giveUp } from "../../src/engine/internal/Cancelation.ts"
import { goesOn } from "../../src/engine/internal/Step.ts"
import { chain, expired, node, play, retried } from "./PlayedRun.ts"

const one = [node("a", "step")]

describe("a run whose time is up", () => {
  const timed = { settings: { timeoutMillis: 90_000 } }

  it("fails, breaks off what is in progress, and says how long it had", () => {
    const run = play(chain("a", "b").nodes, ["a -> b"], timed)
    run.step(1)
    const { commit, started, stopped } = run.step(90_001, [expired])
    assert.deepStrictEqual(stopped, [0])
    assert.deepStrictEqual(started, [])
    assert.deepInclude(commit.run, {
      status: "FAILED",
      error: "The run timed out after 1m 30s",
      finishedAt: 90_001,
    })
    assert.isFalse(goesOn(run.state))
  })

  it("fails for that, whatever has failed before", () => {
    const run = play(chain("a", "b").nodes, [], timed)
    run.step(1)
    run.step(2, [run.fails("a", 2)])
    const { commit } = run.step(90_001, [expired])
    assert.strictEqual(commit.run.error, "The run timed out after 1m 30s")
  })

  it("has ended in time where its last node ends in the same step", () => {
    const run = play(one, [], timed)
    run.step(1)
    const { commit, stopped } = run.step(90_001, [expired, run.completes("a", 90_000)])
    assert.strictEqual(commit.run.status, "COMPLETED")
    assert.deepStrictEqual(stopped, [])
  })
})

describe("a run that a failure has stopped", () => {
  const nodes = [...chain("a", "b", "c").nodes, node("d", "step")]

  it("lets what is in progress end, and begins nothing", () => {
    const run = play(nodes, ["b -> d"], { settings: { onFailure: "stop" } })
    run.step(1)
    const first = run.step(2, [run.fails("a", 2), run.completes("b", 2)])
    assert.deepStrictEqual(first.started, [])
    assert.deepStrictEqual(first.stopped, [])
    assert.strictEqual(first.commit.run.status, "RUNNING")
    const last = run.step(3, [run.completes("c", 3)])
    assert.deepInclude(last.commit.run, {
      status: "FAILED",
      error: 'Node "a" failed: a is broken',
    })
    assert.deepInclude(last.commit.events[0]?.data, { completedNodes: 2, failedNodes: 1 })
  })

  it("breaks off what is in progress where its workflow says so", () => {
    const run = play(nodes, ["b -> d"], { settings: { onFailure: "abort" } })
    run.step(1)
    const { commit, stopped } = run.step(2, [run.fails("a", 2)])
    assert.deepStrictEqual(stopped, [1, 2])
    assert.strictEqual(commit.run.status, "FAILED")
    assert.strictEqual(run.state.running.size, 0)
  })

  it("ends although a node waits", () => {
    const run = play(chain("a", "b").nodes, [], { settings: { onFailure: "stop" } })
    run.step(1)
    run.step(2, [run.suspends("b", 2, { until: 60_000 })])
    const { commit } = run.step(3, [run.fails("a", 3)])
    assert.strictEqual(commit.run.status, "FAILED")
    assert.strictEqual(commit.run.dueAt, null)
    assert.isFalse(goesOn(run.state))
  })

  it("goes on, in spite of the failure, where its workflow does not say otherwise", () => {
    const run = play(nodes, ["b -> d"])
    run.step(1)
    const { started } = run.step(2, [run.fails("a", 2), run.completes("b", 2)])
    assert.deepStrictEqual(run.names(started), ["d"])
  })
})

describe("a run that ends from outside", () => {
  const broken = () => {
    const run = play([...chain("a", "b").nodes, node("c", "step", {}, retried(2))], ["a -> b"])
    run.step(1)
    run.step(2, [run.completes("a", 2), run.fails("c", 2, { charged: 2_000_000 })])
    run.step(1_002, [run.due("c")])
    return run
  }

  it("is canceled, at no cost where nothing was charged", () => {
    const { stored } = broken()
    const commit = cancel(stored, 2_000, () => 0)
    assert.deepStrictEqual([commit.nodeRuns, commit.rewritten], [[], []])
    assert.deepInclude(commit.run, {
      status: "CANCELED",
      error: null,
      output: null,
      finishedAt: 2_000,
      revision: stored.run.revision + 1,
      actualCredits: 2_000_000,
    })
    const [event] = commit.events
    assert.deepInclude(event, { type: "run.canceled", error: "Run was canceled", at: 2_000 })
    assert.deepInclude(event?.data, { status: "CANCELED", completedNodes: 1, failedNodes: 0 })
  })

  it("pays for what its attempts have charged so far, each by its number", () => {
    const run = broken()
    const asked: Array<unknown> = []
    const commit = cancel(run.stored, 2_000, (ordinal, attempt) => {
      asked.push([ordinal, attempt])
      return 500_000
    })
    const [b, c] = [run.ordinal("b"), run.ordinal("c")]
    assert.deepStrictEqual(asked, [
      [b, 1],
      [c, 2],
    ])
    assert.strictEqual(commit.run.actualCredits, 3_000_000)
    const canceled = { status: "CANCELED", finishedAt: 2_000, error: null, sequence: null } as const
    assert.strictEqual(commit.nodeRuns.length, 1)
    assert.deepInclude(commit.nodeRuns[0], {
      ...canceled,
      nodeId: "b",
      nodeType: "step",
      ordinal: b,
      attempt: 1,
      startedAt: 2,
      credits: 500_000,
    })
    // It has a row, because it has waited.
    assert.strictEqual(commit.rewritten.length, 1)
    assert.deepInclude(commit.rewritten[0], {
      ...canceled,
      nodeId: "c",
      ordinal: c,
      attempt: 2,
      startedAt: 1,
      credits: 2_500_000,
    })
    const posts = (commit.credits ?? []).filter(({ kind }) => kind === "post")
    assert.deepStrictEqual(
      posts.map(({ part, posted }) => [part, posted]),
      [
        [`b#${commit.run.revision}`, -500_000],
        [`c#${commit.run.revision}`, -500_000],
      ],
    )
  })

  it("is given up with a reason, and counts the nodes that had failed", () => {
    const run = play(chain("a", "b").nodes)
    run.step(1)
    run.step(2, [run.fails("a", 2)])
    const commit = giveUp(run.stored, "it cannot be executed", 3)
    assert.deepInclude(commit.run, { status: "FAILED", error: "it cannot be executed" })
    assert.deepInclude(commit.events[0], { type: "run.failed", error: "it cannot be executed" })
    assert.deepInclude(commit.events[0]?.data, { completedNodes: 0, failedNodes: 1 })
    assert.deepStrictEqual([commit.nodeRuns, commit.rewritten], [[], []])
  })
})
