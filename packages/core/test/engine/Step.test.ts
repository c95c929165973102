// What a step decides: which nodes begin, what is recorded of them, and when the run waits or ends.
import { never } from "@millrace/core/domain/Timestamp"
import { assert, describe, it } from "@effect/vitest"
import { goesOn } from "../../src/engine/internal/Step.ts"
import { chain, message, node, play, received, retried, second } from "./PlayedRun.ts"

const one = [node("a", "step")]

describe("the first step", () => {
  it("takes a queued run out of the queue, with an event, and begins its first nodes", () => {
    const { drawn, nodes } = chain("a", "b")
    const run = play([...nodes, node("c", "step")], drawn)
    const { commit, started, stopped } = run.step(7)
    assert.deepStrictEqual(run.names(started), ["a", "c"])
    assert.deepStrictEqual(stopped, [])
    assert.deepInclude(commit.run, {
      status: "RUNNING",
      startedAt: 7,
      finishedAt: null,
      sequence: 1,
      revision: 1,
      attempts: 2,
      nodeRunCount: 2,
      dueAt: null,
    })
    const active = { attempt: 1, startedAt: 7 }
    assert.deepStrictEqual(commit.run.active, [
      { ...active, ordinal: run.ordinal("a") },
      { ...active, ordinal: run.ordinal("c") },
    ])
    assert.deepStrictEqual(commit.expected, { _tag: "Existing", fence: 0, revision: 0 })
    assert.deepStrictEqual(commit.events, [
      {
        runId: commit.run.id,
        workflowId: commit.run.workflowId,
        sequence: 1,
        type: "run.started",
        at: 7,
        error: null,
        data: { status: "RUNNING", sequence: 1 },
      },
    ])
    assert.deepStrictEqual(commit.nodeRuns, [])
    assert.isUndefined(commit.seen)
    assert.isUndefined(commit.taken)
  })

  it("ends a run that has no nodes", () => {
    const run = play([])
    const { commit } = run.step(7)
    assert.deepInclude(commit.run, { status: "COMPLETED", finishedAt: 7, output: null })
    assert.deepStrictEqual(
      commit.events.map(({ type }) => type),
      ["run.started", "run.completed"],
    )
    assert.isFalse(goesOn(run.state))
  })

  it("of a later owner tells no second beginning", () => {
    const run = play(one)
    run.step(7)
    const again = run.restart(90)
    const { commit, started } = again.step(90)
    assert.deepStrictEqual(commit.events, [])
    assert.strictEqual(commit.run.startedAt, 7)
    assert.deepStrictEqual(again.names(started), ["a#2"])
    assert.strictEqual(started[0]?.startedAt, 7)
    assert.deepInclude(commit.run, { attempts: 2, nodeRunCount: 1, revision: 2 })
  })
})

describe("a node that ends", () => {
  it("releases those that wait for it, and is recorded with what it was given", () => {
    const { drawn, nodes } = chain("a", "b")
    const run = play(nodes, drawn)
    run.step(1)
    const { commit, started } = run.step(9, [run.completes("a", 5, { output: "x" })])
    assert.deepStrictEqual(run.names(started), ["b"])
    assert.deepStrictEqual(started[0]?.inputs, { input: "x" })
    assert.deepStrictEqual(commit.nodeRuns, [
      {
        nodeId: "a",
        nodeType: "step",
        ordinal: 0,
        status: "COMPLETED",
        attempt: 1,
        input: {},
        output: { output: "x" },
        largeValues: null,
        logs: null,
        error: null,
        credits: 0,
        sequence: 2,
        startedAt: 1,
        finishedAt: 5,
      },
    ])
    assert.deepStrictEqual(commit.rewritten, [])
    assert.deepInclude(commit.run, { attempts: 2, nodeRunCount: 2, sequence: 2 })
    assert.deepStrictEqual(run.row("a"), commit.nodeRuns[0])
  })

  it("is not recorded for an attempt that is not its current one, or when it has ended", () => {
    const run = play(chain("a", "b").nodes)
    run.step(1)
    const { commit } = run.step(9, [run.completes("a", 5, {}, { attempt: 2 })])
    assert.deepStrictEqual(commit.nodeRuns, [])
    assert.deepStrictEqual(run.names(commit.run.active), ["a", "b"])
    run.step(9, [run.completes("a", 5)])
    const later = run.step(10, [run.completes("a", 6, { output: "late" })]).commit
    assert.deepStrictEqual(later.nodeRuns, [])
    assert.strictEqual(later.run.status, "RUNNING")
  })

  it("completes the run when it is the last one, with the output of its response", () => {
    const run = play([node("a", "step"), node("r", "response")], ["a -> r"])
    run.step(1)
    run.step(2, [run.completes("a", 2, { output: 42 })])
    assert.isTrue(goesOn(run.state))
    const { commit } = run.step(9, [run.completes("r", 8)])
    assert.deepInclude(commit.run, {
      status: "COMPLETED",
      output: 42,
      error: null,
      finishedAt: 9,
      sequence: 4,
    })
    assert.deepStrictEqual(commit.events, [
      {
        runId: commit.run.id,
        workflowId: commit.run.workflowId,
        sequence: 4,
        type: "run.completed",
        at: 9,
        error: null,
        data: {
          status: "COMPLETED",
          completedNodes: 2,
          failedNodes: 0,
          estimatedCredits: 0,
          actualCredits: 0,
          sequence: 4,
        },
      },
    ])
    assert.isFalse(goesOn(run.state))
  })

  it("counts what failed and what did not, over the whole run", () => {
    const run = play([...chain("a", "b", "c").nodes])
    run.step(1)
    run.step(2, [run.fails("a", 2), run.completes("b", 2)])
    const { commit } = run.step(3, [run.fails("c", 3)])
    assert.strictEqual(commit.run.status, "FAILED")
    assert.strictEqual(commit.run.error, 'Node "a" failed: a is broken (and 1 more node)')
    assert.deepInclude(commit.events[0], { type: "run.failed", error: commit.run.error })
    assert.deepInclude(commit.events[0]?.data, { completedNodes: 1, failedNodes: 2 })
  })
})

describe("nodes that do not execute", () => {
  it("are recorded as skipped, with the reason in the log", () => {
    const run = play(
      [node("if", "branch"), node("a", "step"), node("b", "step")],
      ["if.yes -> a", "a -> b"],
    )
    run.step(1)
    const { commit } = run.step(9, [run.completes("if", 5, { no: 1 })])
    const [, a, b] = commit.nodeRuns
    const none = { attempt: 0, input: null, output: null, error: null, credits: 0, sequence: null }
    assert.deepInclude(a, { ...none, nodeId: "a", status: "SKIPPED", startedAt: null })
    assert.deepInclude(b, { nodeId: "b", status: "SKIPPED", finishedAt: 9 })
    assert.deepStrictEqual(a?.logs, [
      {
        at: 9,
        level: "info",
        message: 'Skipped: no input of "a" was taken (if took "no")',
        attempt: 0,
      },
    ])
    assert.strictEqual(commit.run.status, "COMPLETED")
  })

  it("are warned of where they are left over from drawing", () => {
    const run = play([node("a", "step"), node("left", "need")])
    const { commit, started } = run.step(3)
    assert.deepStrictEqual(run.names(started), ["a"])
    assert.strictEqual(commit.nodeRuns[0]?.status, "SKIPPED")
    assert.strictEqual(commit.nodeRuns[0]?.logs?.[0]?.level, "warn")
  })

  it("pass on what arrives where they are disabled", () => {
    const run = play(
      [node("a", "step"), node("off", "step", {}, { disabled: true }), node("b", "step")],
      ["a -> off", "off -> b"],
    )
    run.step(1)
    const { commit, started } = run.step(4, [run.completes("a", 4, { output: "x" })])
    assert.deepStrictEqual(started[0]?.inputs, { input: "x" })
    const [, off] = commit.nodeRuns
    assert.deepInclude(off, { nodeId: "off", status: "SKIPPED", finishedAt: 4 })
    assert.deepStrictEqual(off?.output, { output: "x" })
    assert.deepStrictEqual(off?.logs, [
      { at: 4, level: "info", message: "Disabled: the input is passed through", attempt: 0 },
    ])
  })

  it("fail for want of exactly one value at a port, without an attempt", () => {
    const run = play(
      [node("a", "step"), node("b", "step"), node("join", "step"), node("c", "step")],
      ["a -> join", "b -> join", "join -> c"],
    )
    run.step(1)
    const ends = [run.completes("a", 2, { output: 1 }), run.completes("b", 2, { output: 2 })]
    const { commit } = run.step(9, ends)
    const row = commit.nodeRuns.find(({ nodeId }) => nodeId === "join")
    assert.deepStrictEqual(row, {
      nodeId: "join",
      nodeType: "step",
      ordinal: 2,
      status: "FAILED",
      attempt: 0,
      input: null,
      output: null,
      largeValues: null,
      logs: null,
      error: 'Input "input" of "join" takes one value, but edges "e1" and "e2" each carry one',
      credits: 0,
      sequence: 4,
      startedAt: null,
      finishedAt: 9,
    })
    assert.strictEqual(run.row("c")?.status, "SKIPPED")
    assert.strictEqual(commit.run.status, "FAILED")
  })
})

describe("the slots of a run", () => {
  const four = chain("a", "b", "c", "d").nodes

  it("are filled in the order of the run, and again when a node has ended", () => {
    const run = play(four, [], { limits: { nodesAtOnce: 2 } })
    const first = run.step(1)
    assert.deepStrictEqual(run.names(first.started), ["a", "b"])
    assert.deepInclude(first.commit.run, { attempts: 2, nodeRunCount: 2 })
    const second = run.step(2, [run.completes("b", 2)])
    assert.deepStrictEqual(run.names(second.started), ["c"])
    assert.strictEqual(second.started[0]?.startedAt, 2)
    assert.deepStrictEqual(run.names(second.commit.run.active), ["a", "c"])
    const third = run.step(3, [run.completes("a", 3), run.completes("c", 3)])
    assert.deepStrictEqual(run.names(third.started), ["d"])
    assert.deepInclude(third.commit.run, { attempts: 4, nodeRunCount: 4 })
  })

  it("are free while a node waits, and the node waits on for one when its time has come", () => {
    const run = play([node("a", "step"), node("b", "step")], [], { limits: { nodesAtOnce: 1 } })
    run.step(1)
    const suspended = run.step(2, [run.suspends("a", 2, { until: 50 })])
    assert.deepStrictEqual(run.names(suspended.started), ["b"])
    const woken = run.step(50, [run.due("a")])
    assert.deepStrictEqual(run.names(woken.started), [])
    // The next owner finds a wait that is over.
    const over = { ordinal: 0, attempt: 1, startedAt: 1, state: { of: "a" }, due: 1 }
    assert.deepStrictEqual(woken.commit.run.waiting, [over])
    const next = run.step(60, [run.completes("b", 60)])
    assert.deepStrictEqual(run.names(next.started), ["a"])
    assert.deepStrictEqual(next.started[0]?.state, { of: "a" })
    assert.strictEqual(next.started[0]?.startedAt, 1)
    assert.deepStrictEqual(next.commit.run.waiting, [])
    assert.deepInclude(next.commit.run, { attempts: 2, nodeRunCount: 2 })
  })

  it("stay empty while the process is about to stop", () => {
    const run = play(chain("a", "b").nodes, ["a -> b"])
    run.step(1)
    const { commit, started } = run.drain(2, run.completes("a", 2))
    assert.deepStrictEqual(started, [])
    assert.deepStrictEqual(commit.run.active, [])
    assert.deepInclude(commit.run, { status: "RUNNING", dueAt: null, attempts: 1 })
    assert.isFalse(goesOn(run.state))
    const next = run.restart(3)
    assert.deepStrictEqual(next.names(next.step(3).started), ["b"])
  })
})

describe("a run of which every node waits", () => {
  /** A run whose only node waits until this time, as decided at time 100. */
  const waiting = (until: number, options = {}, settings = {}) => {
    const run = play(one, [], { settings })
    run.step(1)
    return { run, step: run.step(100, [run.suspends("a", 99, { until })], options) }
  }

  it("is parked until then where that is more than a second away", () => {
    const { run, step } = waiting(100 + second + 1)
    assert.deepInclude(step.commit.run, { dueAt: 1_101, owner: null, status: "RUNNING" })
    assert.deepStrictEqual(run.names(step.commit.run.waiting), ["a"])
    assert.isFalse(goesOn(run.state))
  })

  it("stays where that is within a second", () => {
    const { run, step } = waiting(100 + second)
    assert.strictEqual(step.commit.run.dueAt, null)
    assert.isTrue(goesOn(run.state))
  })

  it("is parked for the shortest wait where its process is about to stop", () => {
    const { step } = waiting(101, { isDraining: () => true })
    assert.strictEqual(step.commit.run.dueAt, 101)
  })

  it("is parked until its own time is up where that comes first", () => {
    const settings = { timeoutMillis: 5_000 }
    assert.strictEqual(waiting(60_000, {}, settings).step.commit.run.dueAt, 5_000)
    assert.strictEqual(waiting(4_000, {}, settings).step.commit.run.dueAt, 4_000)
  })

  it("is parked until the first of its waits ends", () => {
    const run = play(chain("a", "b", "c").nodes)
    run.step(1)
    const { commit } = run.step(2, [
      run.suspends("a", 2, { until: 30_000 }),
      run.suspends("c", 2, { until: 20_000 }),
      run.suspends("b", 2, { until: 40_000 }),
    ])
    assert.strictEqual(commit.run.dueAt, 20_000)
    // In the order of the run, whichever began to wait first.
    assert.deepStrictEqual(run.names(commit.run.waiting), ["a", "b", "c"])
  })

  it("is kept while another node is in progress, or ready and without a slot", () => {
    const run = play(chain("a", "b").nodes)
    run.step(1)
    const { commit } = run.step(2, [run.suspends("a", 2, { until: 60_000 })])
    assert.strictEqual(commit.run.dueAt, null)
    const stopping = run.drain(3, run.completes("b", 3)).commit
    assert.strictEqual(stopping.run.dueAt, 60_000)
    const late = play(chain("a", "b", "c").nodes, ["b -> c"])
    late.step(1)
    const ends = [late.suspends("a", 2, { until: 60_000 }), late.completes("b", 2)]
    assert.strictEqual(late.drain(2, ...ends).commit.run.dueAt, null)
  })

  it("is parked for ever where only a message ends its wait", () => {
    const run = play(one)
    run.step(1)
    const { commit } = run.step(2, [run.suspends("a", 2, { for: "go" })])
    assert.strictEqual(commit.run.dueAt, never)
    assert.strictEqual(commit.run.waiting[0]?.due, never)
  })

  it("forgets its losses when it is parked, and says so", () => {
    const losses = [{ runner: "exe_x" as never, lostAt: 1, nodes: [0], cause: "died" as const }]
    const run = play(one, [], { run: { losses } })
    assert.strictEqual(run.step(1).commit.clearsLosses, false)
    const { commit } = run.step(2, [run.suspends("a", 2, { until: 60_000 })])
    assert.deepStrictEqual(commit.run.losses, [])
    assert.strictEqual(commit.clearsLosses, true)
  })
})

describe("a wait that is over", () => {
  it("calls its node again, once, and other nodes wait on", () => {
    const run = play(chain("a", "b").nodes)
    run.step(1)
    run.step(2, [run.suspends("a", 2, { until: 50 }), run.suspends("b", 2, { until: 90 })])
    const { commit, started } = run.step(50, [run.due("a"), run.due("a")])
    assert.deepStrictEqual(run.names(started), ["a"])
    assert.deepStrictEqual(run.names(commit.run.waiting), ["b"])
    assert.deepStrictEqual(started[0]?.state, { of: "a" })
  })

  it("is none where the node does not wait", () => {
    const run = play(chain("a", "b").nodes)
    run.step(1)
    const { commit, started } = run.step(2, [run.due("a")])
    assert.deepStrictEqual(started, [])
    assert.deepStrictEqual(run.names(commit.run.active), ["a", "b"])
  })

  it("begins the next attempt of a node that had failed, and counts it", () => {
    const run = play([node("a", "step", {}, retried(3))])
    run.step(1)
    const { commit } = run.step(9, [run.fails("a", 5)])
    assert.deepStrictEqual(commit.run.waiting, [
      { ordinal: 0, attempt: 2, startedAt: 1, due: 1_005 },
    ])
    assert.strictEqual(commit.run.dueAt, null)
    const again = run.step(1_005, [run.due("a")])
    assert.deepStrictEqual(run.names(again.started), ["a#2"])
    assert.deepInclude(again.commit.run, { attempts: 2, nodeRunCount: 1 })
    assert.deepStrictEqual(again.commit.run.waiting, [])
  })
})

describe("messages to a run of which no node waits for one", () => {
  it("are kept for later, and make no commit stale", () => {
    const run = play(chain("a", "b").nodes)
    run.step(1)
    const { commit, unseen } = run.step(2, [received(message(1, "go"))])
    assert.isUndefined(unseen)
    assert.isUndefined(commit.seen)
    assert.isUndefined(commit.taken)
    const taking = run.step(3, [run.suspends("a", 3, { for: "go" })])
    assert.deepStrictEqual(taking.commit.taken, [{ number: 1, nodeId: "a" }])
  })
})
