// Which message ends which wait, and how a step is decided once more on those that it did not see.
import type { RunCommit } from "@millrace/core/ports/RunStore"
import { assert, describe, it } from "@effect/vitest"
import { chain, message, node, play, received, retried } from "./PlayedRun.ts"

const two = chain("a", "b").nodes

/** Which message went to which node. */
const takenBy = ({ taken = [] }: RunCommit) => taken.map(({ nodeId, number }) => [nodeId, number])

describe("a message", () => {
  it("ends the wait of the first node of the run that waits for its name", () => {
    const run = play(chain("a", "b", "c").nodes)
    run.step(1)
    run.step(2, [run.suspends("c", 2, { for: "go" })])
    run.step(3, [run.suspends("b", 3, { for: "go" }), run.suspends("a", 3, { for: "stop" })])
    const { commit, started } = run.step(9, [received(message(1, "go", 5))])
    assert.deepStrictEqual(takenBy(commit), [["b", 1]])
    assert.deepStrictEqual(run.names(started), ["b"])
    assert.deepInclude(started[0], { message: 1, state: { of: "b" }, attempt: 1, startedAt: 1 })
    assert.deepStrictEqual(run.names(commit.run.waiting), ["a", "c"])
    assert.deepStrictEqual(run.state.held.get(1), message(1, "go", 5))
    assert.deepStrictEqual(run.state.inbox, [])
    assert.strictEqual(commit.run.active[0]?.message, 1)
  })

  it("goes to one node each, in the order in which they came", () => {
    const run = play(two)
    run.step(1)
    run.step(2, [run.suspends("a", 2, { for: "go" }), run.suspends("b", 2, { for: "go" })])
    const sent = received(message(1, "stop"), message(2, "go"), message(3, "go"), message(4, "go"))
    const { commit } = run.step(9, [sent])
    assert.deepStrictEqual(takenBy(commit), [
      ["a", 2],
      ["b", 3],
    ])
    assert.deepStrictEqual(
      run.state.inbox.map(({ number }) => number),
      [1, 4],
    )
    assert.strictEqual(run.state.seen, 4)
  })

  it("ends a wait up to its very last moment, and not after it", () => {
    for (const at of [50, 51]) {
      const run = play(two)
      run.step(1)
      run.step(2, [run.suspends("a", 2, { for: "go", until: 50 })])
      const { commit, started } = run.step(60, [run.due("a"), received(message(1, "go", at))])
      assert.deepStrictEqual(takenBy(commit), at === 50 ? [["a", 1]] : [])
      assert.strictEqual(started[0]?.message, at === 50 ? 1 : undefined)
      assert.strictEqual(started.length, 1)
    }
  })

  it("ends no wait for a time", () => {
    const run = play(two)
    run.step(1)
    run.step(2, [run.suspends("a", 2, { until: 50 })])
    assert.deepStrictEqual(takenBy(run.step(9, [received(message(1, "go"))]).commit), [])
  })

  it("that came before is taken as soon as a node waits, in the same step", () => {
    const run = play(two)
    run.step(1)
    run.step(2, [received(message(1, "go"))])
    const { commit, started } = run.step(3, [run.suspends("a", 3, { for: "go" })])
    assert.deepStrictEqual(takenBy(commit), [["a", 1]])
    assert.deepStrictEqual(run.names(started), ["a"])
    // The attempt has never stopped.
    assert.deepInclude(commit.run, { attempts: 2, nodeRunCount: 2, waiting: [] })
    assert.strictEqual(commit.nodeRuns[0]?.status, "WAITING")
  })

  it("is known once, however often it comes", () => {
    const run = play(two)
    run.step(1)
    run.step(2, [received(message(1, "x"), message(2, "x"))])
    run.step(3, [received(message(2, "x")), received(message(2, "x"), message(3, "x"))])
    assert.deepStrictEqual(
      run.state.inbox.map(({ number }) => number),
      [1, 2, 3],
    )
    assert.strictEqual(run.state.seen, 3)
  })

  it("is taken by nobody in a run that a failure has stopped", () => {
    const run = play(chain("a", "b", "c").nodes, [], { settings: { onFailure: "stop" } })
    run.step(1)
    run.step(2, [run.suspends("a", 2, { for: "go" })])
    const signals = [run.fails("b", 3), received(message(1, "go"))]
    const { commit, started } = run.step(3, signals)
    assert.deepStrictEqual([takenBy(commit), started], [[], []])
  })

  it("stays with its node over failed attempts, with what the node had left behind", () => {
    const run = play([node("a", "step", {}, retried(3)), node("b", "step")])
    run.step(1)
    run.step(2, [run.suspends("a", 2, { for: "go" })])
    run.step(3, [received(message(1, "go"))])
    const { commit } = run.step(4, [run.fails("a", 4)])
    const kept = { attempt: 2, startedAt: 1, message: 1, state: { of: "a" } }
    assert.deepStrictEqual(commit.run.waiting, [{ ...kept, ordinal: 0, due: 1_004 }])
    assert.isTrue(run.state.held.has(1))
    const again = run.step(1_004, [run.due("a")])
    assert.deepInclude(again.started[0], kept)
    run.step(1_005, [run.completes("a", 1_005)])
    assert.isFalse(run.state.held.has(1))
  })

  it("is done with once its node waits again, for another one", () => {
    const run = play(two)
    run.step(1)
    run.step(2, [run.suspends("a", 2, { for: "go" })])
    run.step(3, [received(message(1, "go"))])
    const { commit } = run.step(4, [run.suspends("a", 4, { for: "go" })])
    assert.strictEqual(commit.run.waiting[0]?.message, undefined)
    assert.isFalse(run.state.held.has(1))
  })

  it("is given again to whoever goes on with its node after a crash", () => {
    const run = play(two)
    run.step(1)
    run.step(2, [run.suspends("a", 2, { for: "go" })])
    run.step(3, [received(message(1, "go"))])
    const messages = [message(1, "go"), message(2, "go")]
    const next = run.restart(9, { messages, run: { messages: 2 } })
    assert.deepStrictEqual([...next.state.held.keys()], [1])
    assert.deepStrictEqual(next.state.inbox, [message(2, "go")])
    const { started } = next.step(9)
    assert.deepInclude(started[0], { message: 1, attempt: 2, state: { of: "a" } })
  })
})

describe("a step of a run that waits for messages", () => {
  /** A run whose node `a` waits for `go`, and `b` is in progress. */
  const listening = () => {
    const run = play(two)
    run.step(1)
    return { run, step: run.step(2, [run.suspends("a", 2, { for: "go", until: 60_000 })]) }
  }

  it("says what it has seen, as long as a node waits for one", () => {
    const { run, step } = listening()
    assert.strictEqual(step.commit.seen, 0)
    const later = run.step(3, [received(message(1, "x"), message(2, "x"))])
    assert.strictEqual(later.commit.seen, 2)
    assert.isUndefined(run.step(4, [received(message(3, "go"))]).commit.seen)
  })

  it("is decided once more on what it did not see: its node goes on at once", () => {
    const { run, step } = listening()
    const again = step.unseen!([message(1, "go", 2)])
    assert.strictEqual(again.commit.run.revision, step.commit.run.revision)
    assert.deepStrictEqual(again.commit.expected, step.commit.expected)
    assert.deepStrictEqual(takenBy(again.commit), [["a", 1]])
    assert.deepStrictEqual(run.names(again.started), ["a"])
    assert.deepStrictEqual(again.commit.run.waiting, [])
    assert.deepStrictEqual(run.names(again.commit.run.active), ["b", "a"])
    assert.deepStrictEqual(again.commit.nodeRuns, step.commit.nodeRuns)
    assert.strictEqual(again.commit.run.attempts, step.commit.run.attempts)
    assert.isUndefined(again.unseen)
    assert.strictEqual(run.state.run, again.commit.run)
  })

  it("can be decided once more as often as there are new messages", () => {
    const { run, step } = listening()
    const second = step.unseen!([message(1, "x")])
    assert.strictEqual(second.commit.seen, 1)
    assert.deepStrictEqual(run.names(second.commit.run.waiting), ["a"])
    const third = second.unseen!([message(2, "go")])
    assert.deepStrictEqual(takenBy(third.commit), [["a", 2]])
    assert.deepStrictEqual(run.state.inbox, [message(1, "x")])
  })

  it("parks no run for which a message is there", () => {
    const run = play([node("a", "step")])
    run.step(1)
    const parked = run.step(2, [run.suspends("a", 2, { for: "go" })])
    assert.isNotNull(parked.commit.run.dueAt)
    const again = parked.unseen!([message(1, "go", 2)])
    assert.strictEqual(again.commit.run.dueAt, null)
    assert.deepStrictEqual(run.names(again.started), ["a"])
  })

  it("begins nothing where its process is about to stop, and keeps the message for later", () => {
    const run = play(two)
    run.step(1)
    const step = run.drain(2, run.suspends("a", 2, { for: "go" }))
    const again = step.unseen!([message(1, "go", 2)])
    assert.deepStrictEqual(again.started, [])
    assert.deepStrictEqual(again.commit.run.waiting, [
      { ordinal: 0, attempt: 1, startedAt: 1, due: 1, message: 1, state: { of: "a" } },
    ])
  })
})

describe("a wait whose time has passed in a step that did not see a message", () => {
  /** A run of which `a` has waited for `go` until time 50. */
  const passed = (limits = {}) => {
    const run = play(two, [], { limits })
    run.step(1)
    run.step(2, [run.suspends("a", 2, { for: "go", until: 50 })])
    return { run, step: run.step(50, [run.due("a")]) }
  }

  it("was ended by the message that came in time", () => {
    const { run, step } = passed()
    assert.deepStrictEqual(run.names(step.started), ["a"])
    assert.isUndefined(step.started[0]?.message)
    assert.strictEqual(step.commit.seen, 0)
    const again = step.unseen!([message(1, "x", 49), message(2, "go", 50)])
    assert.deepStrictEqual(takenBy(again.commit), [["a", 2]])
    assert.strictEqual(again.started.length, 1)
    assert.strictEqual(again.started[0]?.message, 2)
    assert.strictEqual(run.state.running.get(0)?.message, 2)
    assert.deepStrictEqual(run.state.inbox, [message(1, "x", 49)])
    assert.strictEqual(again.commit.run.active.find(({ ordinal }) => ordinal === 0)?.message, 2)
    assert.deepInclude(again.commit.run, { attempts: step.commit.run.attempts, nodeRunCount: 2 })
    // Nothing else was ended by its time, and nobody waits.
    assert.isUndefined(again.unseen)
  })

  it("was not ended by one that came too late", () => {
    const { run, step } = passed()
    const again = step.unseen!([message(1, "go", 51)])
    assert.deepStrictEqual(takenBy(again.commit), [])
    assert.isUndefined(again.started[0]?.message)
    assert.deepStrictEqual(run.names(again.started), ["a"])
    assert.strictEqual(again.commit.seen, 1)
    assert.isDefined(again.unseen)
    const { attempts, nodeRunCount } = step.commit.run
    assert.deepInclude(again.commit.run, { attempts, nodeRunCount })
  })

  it("keeps the message while there is no slot", () => {
    const run = play(two, [], { limits: { nodesAtOnce: 1 } })
    run.step(1)
    run.step(2, [run.suspends("a", 2, { for: "go", until: 50 })])
    const step = run.step(50, [run.due("a")])
    assert.deepStrictEqual(step.started, [])
    const again = step.unseen!([message(1, "go", 50)])
    assert.deepStrictEqual(takenBy(again.commit), [["a", 1]])
    assert.strictEqual(again.commit.run.waiting[0]?.message, 1)
    const next = run.step(60, [run.completes("b", 60)])
    assert.strictEqual(next.started[0]?.message, 1)
  })

  it("gives no message of another node's wait to it", () => {
    const run = play(chain("a", "b", "c").nodes)
    run.step(1)
    run.step(2, [
      run.suspends("a", 2, { for: "go", until: 50 }),
      run.suspends("b", 2, { for: "go", until: 50 }),
      run.suspends("c", 2, { for: "end" }),
    ])
    const step = run.step(50, [run.due("a"), run.due("b")])
    const sent = [message(1, "end", 40), message(2, "go", 40)]
    const again = step.unseen!(sent)
    assert.deepStrictEqual(takenBy(again.commit), [
      ["a", 2],
      ["c", 1],
    ])
    assert.deepStrictEqual(run.names(again.started).toSorted(), ["a", "b", "c"])
  })

  it("takes no message from a node that the step has called with it", () => {
    const run = play(two)
    run.step(1)
    const waits = [
      run.suspends("a", 2, { for: "go", until: 50 }),
      run.suspends("b", 2, { for: "x" }),
    ]
    run.step(2, waits)
    const step = run.step(50, [run.due("a"), received(message(1, "x", 40))])
    const again = step.unseen!([message(2, "go", 40)])
    assert.deepStrictEqual(
      again.started.map(({ message: number, ordinal }) => [ordinal, number]),
      step.started.map(({ ordinal }) => [ordinal, ordinal === 0 ? 2 : 1]),
    )
    assert.deepStrictEqual(takenBy(again.commit), [
      ["b", 1],
      ["a", 2],
    ])
  })

  it("stays as it is in a run that has stopped meanwhile", () => {
    const run = play(chain("a", "b", "c").nodes, [], { settings: { onFailure: "stop" } })
    run.step(1)
    run.step(2, [run.suspends("a", 2, { for: "go", until: 50 })])
    const step = run.step(50, [run.due("a"), run.fails("b", 50)])
    const again = step.unseen!([message(1, "go", 40)])
    assert.deepStrictEqual([takenBy(again.commit), again.started], [[], []])
    assert.strictEqual(again.commit.run.status, "RUNNING")
  })

  it("needs no second look where it was a wait for a time", () => {
    const run = play(two)
    run.step(1)
    run.step(2, [run.suspends("a", 2, { until: 50 })])
    const step = run.step(50, [run.due("a")])
    assert.isUndefined(step.unseen)
    assert.isFalse("unseen" in step)
  })
})
