// What the next owner of a run knows of it: what it resumes, tries again, and leaves alone.
import type { NodeRun } from "@millrace/core/domain/Run"
import { assert, describe, it } from "@effect/vitest"
import {
  activeOf,
  heldBy,
  isListening,
  nextDue,
  reachedBy,
} from "../../src/engine/internal/RunState.ts"
import { chain, message, newRun, node, play, retried } from "./PlayedRun.ts"

const two = chain("a", "b").nodes

describe("the next owner of a run", () => {
  it("does not execute again what has ended, and goes on where it stopped", () => {
    const { drawn, nodes } = chain("a", "b", "c")
    const run = play(nodes, drawn)
    run.step(1)
    run.step(2, [run.completes("a", 2, { output: "x" })])
    const next = run.restart(9)
    const { commit, started } = next.step(9)
    assert.deepStrictEqual(next.names(started), ["b#2"])
    assert.deepStrictEqual(started[0]?.inputs, { input: "x" })
    assert.deepStrictEqual(commit.nodeRuns, [])
    assert.deepStrictEqual(next.stored.nodeRuns, run.stored.nodeRuns)
  })

  it("knows what has failed and what has completed", () => {
    const run = play(chain("a", "b", "c", "e").nodes)
    run.step(1)
    run.step(2, [run.fails("c", 2), run.completes("b", 2)])
    run.step(3, [run.fails("a", 3)])
    run.step(4, [run.fails("e", 4)])
    // The first failure counts, and not the first node.
    const next = play(chain("a", "b", "c", "e", "d").nodes, [], {
      nodeRuns: run.stored.nodeRuns,
      run: { ...run.stored.run, status: "RUNNING", finishedAt: null },
    })
    next.step(9)
    const { commit } = next.step(10, [next.completes("d", 10)])
    assert.strictEqual(commit.run.error, 'Node "c" failed: c is broken (and 2 more nodes)')
    assert.deepInclude(commit.events[0]?.data, { completedNodes: 2, failedNodes: 3 })
  })

  it("knows the output of a response", () => {
    const drawn = ["a -> r"]
    const run = play([node("a", "step"), node("r", "response"), node("b", "step")], drawn)
    run.step(1)
    run.step(2, [run.completes("a", 2, { output: 42 })])
    run.step(3, [run.completes("r", 3)])
    const next = run.restart(9)
    next.step(9)
    assert.strictEqual(next.step(10, [next.completes("b", 10)]).commit.run.output, 42)
  })

  it("knows what earlier attempts have logged and charged, and adds to it", () => {
    const run = play([node("a", "step", {}, retried(3))])
    run.step(1)
    const logs = [{ at: 2, level: "info" as const, message: "first", attempt: 1 }]
    run.step(2, [run.fails("a", 2, { charged: 2e6, logs })])
    const next = run.restart(9)
    assert.deepStrictEqual(next.state.priorAttempts.get(0), { logs, credits: 2e6 })
    next.step(1_002, [next.due("a")])
    const { commit } = next.step(1_003, [next.completes("a", 1_003, {}, { charged: 1e6 })])
    assert.deepStrictEqual(commit.nodeRuns, [])
    assert.strictEqual(commit.rewritten[0]?.credits, 3e6)
    assert.strictEqual(commit.run.actualCredits, 3e6)
  })

  it("begins the next attempt of what was in progress, with the state that it had", () => {
    const run = play(two)
    run.step(1)
    run.step(2, [run.suspends("a", 2, { until: 50 })])
    run.step(50, [run.due("a")])
    const next = run.restart(90)
    const { commit, started } = next.step(90)
    assert.deepStrictEqual(next.names(started).toSorted(), ["a#2", "b#2"])
    const a = started.find(({ index }) => index === 0)
    assert.deepStrictEqual(a?.state, { of: "a" })
    assert.deepInclude(commit.run, { attempts: 4, nodeRunCount: 2 })
  })

  it("keeps no attempt of a node that fails for its inputs, as its graph is another one", () => {
    for (const joins of ["step", "once"]) {
      const drawn = ["a -> join", "b -> join"]
      const run = play([...two, node("join", joins), node("c", "step")], drawn)
      run.step(1)
      run.step(2, [run.completes("a", 2), run.completes("b", 2)])
      // As a process has begun it that took only one of the two values.
      const index = run.ordinal("join")
      const active = [{ ordinal: index, attempt: 1, startedAt: 2 }]
      const rows = run.stored.nodeRuns.filter(({ ordinal }) => ordinal !== index)
      const next = run.restart(9, { run: { active }, nodeRuns: rows })
      assert.deepStrictEqual(
        next.state.running.get(index)?.inputs,
        joins === "once" ? {} : undefined,
      )
      const { commit } = next.step(9, joins === "once" ? [next.fails("join", 9)] : [])
      assert.strictEqual(next.row("join")?.status, "FAILED")
      assert.deepStrictEqual(commit.run.waiting, [])
    }
  })

  it("leaves an attempt in progress that may be made once only", () => {
    const drawn = ["a -> n"]
    const run = play([node("a", "step"), node("n", "once"), node("b", "step")], drawn)
    run.step(1)
    run.step(2, [run.completes("a", 2, { output: 7 })])
    const next = run.restart(9)
    const index = next.ordinal("n")
    const expected = { attempt: 1, startedAt: 2, ordinal: index, index, inputs: { input: 7 } }
    assert.deepStrictEqual(next.state.running.get(index), expected)
    assert.isFalse(next.state.again.has(index))
    const { started } = next.step(9)
    assert.deepStrictEqual(next.names(started), ["b#2"])
  })

  it("goes on waiting, and calls again what is over by then", () => {
    const run = play(chain("a", "b", "c").nodes)
    run.step(1)
    run.step(2, [run.suspends("a", 2, { until: 5_000 }), run.suspends("b", 2, { until: 9_000 })])
    const early = run.restart(4_999)
    assert.deepStrictEqual([...early.state.waiting.keys()], [0, 1])
    assert.deepStrictEqual(early.names(early.step(4_999).started), ["c#2"])
    const later = run.restart(5_000)
    assert.deepStrictEqual([...later.state.waiting.keys()], [1])
    const { started } = later.step(5_000)
    assert.deepStrictEqual(later.names(started).toSorted(), ["a", "c#2"])
    assert.deepStrictEqual(started.find(({ index }) => index === 0)?.state, { of: "a" })
  })

  it("goes on waiting for a message although the time is over: the message may be there", () => {
    const run = play(two)
    run.step(1)
    run.step(2, [run.suspends("a", 2, { for: "go", until: 50 })])
    const next = run.restart(90)
    assert.isTrue(next.state.waiting.has(0))
    assert.isFalse(next.state.again.has(0))
  })

  it("takes it that a parked run has reached its time, whatever its own clock says", () => {
    assert.strictEqual(reachedBy({ ...newRun, dueAt: 50 }, 40), 50)
    assert.strictEqual(reachedBy({ ...newRun, dueAt: 50 }, 60), 60)
    assert.strictEqual(reachedBy(newRun, 40), 40)
    const run = play([node("a", "step")])
    run.step(1)
    run.step(2, [run.suspends("a", 2, { until: 5_000 })])
    assert.deepStrictEqual([...run.restart(4_000).state.again.keys()], [0])
  })

  it("knows when the run's time is up, from its beginning on", () => {
    const settings = { timeoutMillis: 1_000 }
    const run = play(two, [], { settings, now: 5 })
    assert.strictEqual(run.state.deadline, 1_005)
    run.step(7)
    assert.strictEqual(run.restart(90).state.deadline, 1_007)
    assert.isUndefined(play(two).state.deadline)
  })

  it("has seen what was sent before, also what has expired since", () => {
    const run = play(two)
    run.step(1)
    const sent = { run: { messages: 4 }, messages: [message(2, "x"), message(3, "x")] }
    const next = run.restart(9, sent)
    assert.strictEqual(next.state.seen, 4)
    assert.deepStrictEqual(next.state.inbox, sent.messages)
    const fresh = run.restart(9, { ...sent, run: { messages: 1 } })
    assert.strictEqual(fresh.state.seen, 3)
  })
})

describe("what is known of a run", () => {
  it("is the record that its commits have made, by the order of its nodes", () => {
    const run = play(two)
    run.step(1)
    run.step(2, [run.completes("b", 2)])
    const { commit } = run.step(3, [run.completes("a", 3)])
    assert.deepStrictEqual(
      run.stored.nodeRuns.map(({ nodeId }) => nodeId),
      ["a", "b"],
    )
    assert.strictEqual(run.stored.run, commit.run)
    assert.strictEqual(run.stored.definition, run.state.definition)
  })

  it("says when the first wait ends, and whether one is for a message", () => {
    const run = play(chain("a", "b", "c").nodes)
    run.step(1)
    assert.isUndefined(nextDue(run.state))
    assert.isFalse(isListening(run.state))
    run.step(2, [run.suspends("a", 2, { until: 70 }), run.suspends("b", 2, { until: 50 })])
    assert.strictEqual(nextDue(run.state), 50)
    assert.isFalse(isListening(run.state))
    run.step(3, [run.suspends("c", 3, { for: "go", until: 90 })])
    assert.strictEqual(nextDue(run.state), 50)
    assert.isTrue(isListening(run.state))
  })

  it("names the messages that nodes hold, in progress or waiting", () => {
    const at = { attempt: 1, startedAt: 0 }
    const active = [
      { ...at, ordinal: 0, message: 3 },
      { ...at, ordinal: 1 },
    ]
    const waiting = [{ ...at, ordinal: 2, message: 1, due: 9 }]
    assert.deepStrictEqual(heldBy({ ...newRun, active, waiting }), [3, 1])
  })

  it("keeps of an attempt what is stored of it, and nothing else", () => {
    const more = { attempt: 2, startedAt: 5, ordinal: 1, inputs: {}, index: 1, due: 7 }
    const least = { attempt: 2, startedAt: 5, ordinal: 1 }
    assert.deepStrictEqual(activeOf(more), least)
    assert.deepStrictEqual(activeOf({ ...more, state: null }), { ...least, state: null })
    assert.deepStrictEqual(activeOf({ ...more, message: 4 }), { ...least, message: 4 })
    const both = { state: 1, message: 4 }
    assert.deepStrictEqual(activeOf({ ...more, ...both }), { ...least, ...both })
  })

  it("calls a failure that has no error by a word", () => {
    const failed: NodeRun = {
      nodeId: "a",
      nodeType: "step",
      ordinal: 0,
      status: "FAILED",
      attempt: 1,
      input: null,
      output: null,
      largeValues: null,
      logs: null,
      error: null,
      credits: 0,
      sequence: 2,
      startedAt: 1,
      finishedAt: 1,
    }
    const run = play(two, [], { nodeRuns: [failed] })
    run.step(1)
    const { commit } = run.step(2, [run.completes("b", 2)])
    assert.strictEqual(commit.run.error, 'Node "a" failed: failed')
  })
})
