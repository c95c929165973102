// What the end of an attempt means for its node: done, tried again, handled, waiting, or canceled.
import type { LogLine } from "@millrace/core/domain/Run"
import { never } from "@millrace/core/domain/Timestamp"
import { assert, describe, it } from "@effect/vitest"
import { chain, expired, node, play, retried } from "./PlayedRun.ts"

const line = (text: string, attempt = 1): LogLine => ({
  at: 0,
  level: "info",
  message: text,
  attempt,
})

const flaky = (attempts: number, more = {}) =>
  node("a", "step", {}, { ...retried(attempts), ...more })

describe("an attempt that failed", () => {
  it("is followed by another one after the wait of its policy, counted from its end", () => {
    const run = play([flaky(4), node("b", "step")])
    run.step(1)
    const waits: Array<number> = []
    let now = 10
    for (let attempt = 1; attempt < 4; attempt++) {
      const { commit } = run.step(now + 5, [run.fails("a", now)])
      waits.push(commit.run.waiting[0]!.due - now)
      now = commit.run.waiting[0]!.due
      run.step(now, [run.due("a")])
    }
    assert.deepStrictEqual(waits, [1_000, 2_000, 4_000])
    const { commit } = run.step(now + 5, [run.fails("a", now + 5)])
    const { nodeRuns, rewritten } = commit
    assert.deepStrictEqual(nodeRuns, [])
    assert.deepInclude(rewritten[0], {
      status: "FAILED",
      attempt: 4,
      error: "a is broken",
      output: null,
      startedAt: 1,
      finishedAt: now + 5,
    })
  })

  it("leaves a row behind that waits, with its error and log and what it was given", () => {
    const run = play([node("b", "step"), flaky(2)], ["b -> a"])
    run.step(1)
    run.step(2, [run.completes("b", 2, { output: "x" })])
    const { commit } = run.step(9, [run.fails("a", 7, { logs: [line("oh")], charged: 3 })])
    assert.deepStrictEqual(commit.nodeRuns, [
      {
        nodeId: "a",
        nodeType: "step",
        ordinal: 1,
        status: "WAITING",
        attempt: 1,
        input: { input: "x" },
        output: null,
        largeValues: null,
        logs: [line("oh")],
        error: "a is broken",
        credits: 3,
        sequence: null,
        startedAt: 2,
        finishedAt: null,
      },
    ])
    assert.strictEqual(commit.run.actualCredits, 3)
    assert.deepStrictEqual(run.state.priorAttempts.get(1), { logs: [line("oh")], credits: 3 })
    assert.strictEqual(commit.run.sequence, 2)
  })

  it("waits as long as the handler asks for", () => {
    const run = play([flaky(2), node("b", "step")])
    run.step(1)
    const { commit } = run.step(9, [run.fails("a", 7, { retryAfterMillis: 90_000 })])
    assert.strictEqual(commit.run.waiting[0]?.due, 90_007)
  })

  it("is the last one where the handler calls it so", () => {
    const run = play([flaky(9), node("b", "step")])
    run.step(1)
    const { commit } = run.step(9, [run.fails("a", 7, { retryable: false })])
    assert.strictEqual(commit.nodeRuns[0]?.status, "FAILED")
    assert.strictEqual(commit.nodeRuns[0]?.error, "a is broken")
  })

  it("is the last one once the run has made as many as it may, and says so", () => {
    const limits = { attemptsPerRun: 2 }
    const few = play([flaky(9), node("b", "step")], [], { limits })
    few.step(1)
    const why = "(not tried again: the run has made 2 attempts; the limit is 2)"
    const { commit } = few.step(9, [few.fails("a", 7)])
    assert.strictEqual(commit.nodeRuns[0]?.error, `a is broken ${why}`)
    const enough = play([flaky(9), node("b", "step")], [], { limits: { attemptsPerRun: 3 } })
    enough.step(1)
    assert.strictEqual(enough.step(9, [enough.fails("a", 7)]).commit.nodeRuns[0]?.status, "WAITING")
    // A node that would not be tried again anyway says nothing of the limit.
    const once = play([flaky(1), node("b", "step")], [], { limits })
    once.step(1)
    assert.strictEqual(once.step(9, [once.fails("a", 7)]).commit.nodeRuns[0]?.error, "a is broken")
  })

  it("leaves by the port for errors where an edge waits for it", () => {
    const run = play([flaky(1), node("b", "step")], ["a.error -> b"])
    run.step(1)
    const { commit, started } = run.step(9, [run.fails("a", 7, { logs: [line("oh")], charged: 2 })])
    const error = { message: "a is broken", nodeId: "a", attempt: 1 }
    assert.deepStrictEqual(started[0]?.inputs, { input: error })
    const row = commit.nodeRuns[0]
    assert.deepInclude(row, {
      status: "COMPLETED",
      error: null,
      credits: 2,
      finishedAt: 7,
      sequence: 2,
    })
    assert.deepStrictEqual(row?.output, { error })
    const handled = { at: 7, level: "error" as const, message: "a is broken", attempt: 1 }
    assert.deepStrictEqual(row?.logs, [line("oh"), handled])
  })

  it("is replaced by the default output where there is one, at no cost", () => {
    const data = { onError: "default", default: { output: "plan B" } }
    const run = play([node("a", "priced", { price: 4 }, data), node("b", "step")], ["a -> b"])
    run.step(1)
    const { commit, started } = run.step(9, [run.fails("a", 7)])
    assert.deepStrictEqual(started[0]?.inputs, { input: "plan B" })
    assert.deepInclude(commit.nodeRuns[0], { status: "COMPLETED", credits: 0 })
    assert.deepStrictEqual(commit.nodeRuns[0]?.logs, [
      { at: 7, level: "error", message: "a is broken", attempt: 1 },
    ])
  })

  it("is not tried again in a run that has stopped, whatever its policy says", () => {
    const settings = { onFailure: "stop" as const }
    const run = play([flaky(9), node("b", "step"), node("c", "step")], [], { settings })
    run.step(1)
    run.step(2, [run.fails("b", 2)])
    const { commit } = run.step(3, [run.fails("a", 3)])
    assert.deepInclude(commit.nodeRuns[0], { status: "FAILED", error: "a is broken" })
  })
})

describe("what a node has cost", () => {
  /** A node with a price of four credits. */
  const dear = (data = {}) =>
    play([node("a", "priced", { price: 4 }, data), node("b", "step")], [], {
      run: { estimatedCredits: 4e6, heldCredits: 4e6, revision: 1 },
    })

  it("is its estimate, where its handler charged nothing and did its work", () => {
    const run = dear()
    run.step(1)
    const { commit } = run.step(2, [run.completes("a", 2)])
    assert.strictEqual(commit.nodeRuns[0]?.credits, 4e6)
    assert.strictEqual(commit.run.actualCredits, 4e6)
  })

  it("is what its handler charged, also where that is nothing", () => {
    for (const charged of [0, 1e6]) {
      const run = dear()
      run.step(1)
      const { commit } = run.step(2, [run.completes("a", 2, {}, { charged })])
      assert.strictEqual(commit.nodeRuns[0]?.credits, charged)
      assert.strictEqual(commit.run.actualCredits, charged)
    }
  })

  it("is nothing where it failed without a charge", () => {
    const run = dear()
    run.step(1)
    const { commit } = run.step(2, [run.fails("a", 2)])
    assert.strictEqual(commit.nodeRuns[0]?.credits, 0)
  })

  it("is its estimate in the end where failed attempts charged nothing", () => {
    const run = dear(retried(2))
    run.step(1)
    run.step(2, [run.fails("a", 2)])
    run.step(1_002, [run.due("a")])
    const { commit } = run.step(1_003, [run.completes("a", 1_003)])
    assert.strictEqual(commit.rewritten[0]?.credits, 4e6)
  })

  it("is what its attempts charged together, and never the estimate besides", () => {
    const run = dear(retried(2))
    run.step(1)
    const first = run.step(2, [run.fails("a", 2, { charged: 1e6 })]).commit
    assert.strictEqual(first.credits?.[0]?.part, "a#3")
    run.step(1_002, [run.due("a")])
    const { commit } = run.step(1_003, [run.completes("a", 1_003)])
    assert.strictEqual(commit.rewritten[0]?.credits, 1e6)
    assert.strictEqual(commit.run.actualCredits, 1e6)
    assert.deepStrictEqual(commit.credits, [])
  })
})

describe("a suspended attempt", () => {
  it("leaves a row that waits without an error, and goes on in the same attempt", () => {
    const run = play(chain("a", "b").nodes)
    run.step(1)
    const said = { logs: [line("so far")], charged: 2 }
    const { commit } = run.step(9, [run.suspends("a", 7, { until: 50 }, said)])
    assert.deepInclude(commit.nodeRuns[0], {
      status: "WAITING",
      attempt: 1,
      error: null,
      credits: 2,
      startedAt: 1,
      finishedAt: null,
    })
    assert.deepStrictEqual(commit.run.waiting, [
      { ordinal: 0, startedAt: 1, attempt: 1, due: 50, state: { of: "a" } },
    ])
    const again = run.step(50, [run.due("a")])
    assert.strictEqual(again.started[0]?.attempt, 1)
    // The row that waits is replaced.
    const ended = run.step(60, [run.completes("a", 60, {}, { charged: 3, logs: [line("done")] })])
    assert.deepStrictEqual(ended.commit.nodeRuns, [])
    const row = { credits: 5, startedAt: 1, finishedAt: 60, attempt: 1 }
    assert.deepInclude(ended.commit.rewritten[0], { ...row, status: "COMPLETED" })
    assert.isFalse(run.state.priorAttempts.has(0))
  })

  it("may suspend itself again, and its row is replaced each time", () => {
    const run = play(chain("a", "b").nodes)
    run.step(1)
    run.step(2, [run.suspends("a", 2, { until: 50 }, { charged: 1 })])
    run.step(50, [run.due("a")])
    const { commit } = run.step(51, [run.suspends("a", 51, { until: 90 }, { charged: 1 })])
    assert.deepStrictEqual(commit.nodeRuns, [])
    assert.deepInclude(commit.rewritten[0], { status: "WAITING", credits: 2 })
    assert.strictEqual(run.row("a")?.credits, 2)
  })

  it("waits for a message as long as it takes where no time is given", () => {
    const run = play(chain("a", "b").nodes)
    run.step(1)
    const { commit } = run.step(2, [run.suspends("a", 2, { for: "go" })])
    assert.deepInclude(commit.run.waiting[0], { due: never, for: "go" })
    const timed = play(chain("a", "b").nodes)
    timed.step(1)
    const step = timed.step(2, [timed.suspends("a", 2, { until: 50 })])
    assert.isFalse("for" in step.commit.run.waiting[0]!)
  })
})

describe("an attempt that is broken off", () => {
  const timed = { settings: { timeoutMillis: 1_000 } }

  it("leaves no row where it charged nothing", () => {
    const run = play(chain("a", "b").nodes, [], timed)
    run.step(1)
    const { commit, stopped } = run.step(1_001, [expired])
    assert.deepStrictEqual([commit.nodeRuns, commit.rewritten], [[], []])
    assert.deepStrictEqual(stopped, [0, 1])
  })

  it("is paid for: its node is canceled, with what it has charged so far", () => {
    const run = play(chain("a").nodes, [], timed)
    run.step(1)
    const asked: Array<unknown> = []
    run.state.charges = {
      spent: (...of) => {
        asked.push(of)
        return 7
      },
    }
    const { commit } = run.step(1_001, [expired])
    assert.deepStrictEqual(asked, [[0, 1]])
    assert.deepStrictEqual(commit.nodeRuns, [
      {
        nodeId: "a",
        nodeType: "step",
        ordinal: 0,
        status: "CANCELED",
        attempt: 1,
        input: {},
        output: null,
        largeValues: null,
        logs: null,
        error: null,
        credits: 7,
        sequence: null,
        startedAt: 1,
        finishedAt: 1_001,
      },
    ])
    assert.strictEqual(commit.run.actualCredits, 7)
  })

  it("keeps what earlier attempts of its node logged and charged", () => {
    const run = play([flaky(2)], [], { settings: { timeoutMillis: 5_000 } })
    run.step(1)
    run.step(2, [run.fails("a", 2, { charged: 5, logs: [line("oh")] })])
    run.step(1_002, [run.due("a")])
    run.state.charges = { spent: () => 7 }
    const { commit } = run.step(5_001, [expired])
    assert.deepStrictEqual(commit.nodeRuns, [])
    assert.deepInclude(commit.rewritten[0], { status: "CANCELED", attempt: 2, credits: 12 })
    assert.deepStrictEqual(commit.rewritten[0]?.logs, [line("oh")])
    assert.strictEqual(commit.run.actualCredits, 12)
  })
})
