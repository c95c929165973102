// What a step reserves, and what it decides instead where the account or the start allows no more.
import { toNumber } from "@millrace/core/domain/Credits"
import type { RunEntry } from "@millrace/core/domain/Ledger"
import type { RunCommit } from "@millrace/core/ports/RunStore"
import { InsufficientCredits } from "@millrace/core/ports/LedgerStore"
import { assert, describe, it } from "@effect/vitest"
import { expired, node, passed, play, retried } from "./PlayedRun.ts"

const priced = (id: string, price: number, data = {}) => node(id, "priced", { price }, data)

/** A run with this estimate, as its start has stored it. */
const costing = (estimate: number, more = {}) => ({
  run: { estimatedCredits: estimate * 1e6, heldCredits: estimate * 1e6, revision: 1, ...more },
})

const told = ({ kind, part, posted, reserved }: RunEntry): string =>
  `${kind} ${part} ${toNumber(posted)} ${toNumber(reserved)}`

const book = ({ credits = [] }: RunCommit) => credits.map(told)

const charged = (credits: number) => ({ charged: credits * 1e6 })

describe("a step that costs what was expected", () => {
  it("posts what has ended out of what is held, and gives the rest back at the end", () => {
    const run = play([priced("a", 3), priced("b", 2)], ["a -> b"], costing(5))
    assert.deepStrictEqual(book(run.step(1).commit), [])
    const { commit, otherwise } = run.step(2, [run.completes("a", 2)])
    assert.isUndefined(otherwise)
    assert.deepStrictEqual(book(commit), ["post a#3 -3 -3"])
    assert.deepInclude(commit.run, { actualCredits: 3e6, heldCredits: 2e6 })
    const last = run.step(3, [run.completes("b", 3, passed, charged(1.5))])
    assert.deepStrictEqual(book(last.commit), ["post b#4 -1.5 -1.5", "void  0 -0.5"])
    assert.deepInclude(last.commit.run, { actualCredits: 4.5e6, heldCredits: 0 })
    assert.deepInclude(last.commit.events[0]?.data, { estimatedCredits: 5, actualCredits: 4.5 })
  })

  it("moves nothing in a run that costs nothing", () => {
    const run = play([node("a", "step"), node("b", "step")], ["a -> b"])
    run.step(1)
    assert.deepStrictEqual(run.step(2, [run.completes("a", 2)]).commit.credits, [])
    assert.deepStrictEqual(run.step(3, [run.completes("b", 3)]).commit.credits, [])
  })

  it("gives back what is left at the end, even if that is nothing", () => {
    const run = play([priced("a", 3)], [], costing(3))
    run.step(1)
    const { commit } = run.step(2, [run.completes("a", 2)])
    assert.deepStrictEqual(book(commit), ["post a#3 -3 -3", "void  0 0"])
  })

  it("reserves the estimate where it is the run's first", () => {
    const run = play([priced("a", 3)], [], { run: { estimatedCredits: 3e6 } })
    const { commit } = run.step(1)
    assert.deepStrictEqual(book(commit), ["reserve  0 3"])
    assert.strictEqual(commit.run.heldCredits, 3e6)
  })
})

describe("a step that costs more than was expected", () => {
  /** Of `a`, `b` and `c`, each of two credits, `a` costs five; `b` follows it, `c` is beside it. */
  const dear = (more = {}) => {
    const run = play([priced("a", 2), priced("c", 2), priced("b", 2)], ["a -> b"], costing(6, more))
    run.step(1)
    return { run, step: run.step(2, [run.completes("a", 2, passed, charged(5))]) }
  }

  it("reserves as much as its nodes in progress still need", () => {
    const { run, step } = dear()
    assert.deepStrictEqual(book(step.commit), ["extend 3 0 3", "post a#3 -5 -5"])
    assert.strictEqual(step.commit.run.heldCredits, 4e6)
    assert.deepStrictEqual(run.names(step.started), ["b"])
    assert.isDefined(step.otherwise)
  })

  it("begins nothing where the account does not cover it, and pays for what was done", () => {
    const { run, step } = dear()
    const refusal = new InsufficientCredits({ required: 3e6, available: 1e6 })
    const instead = step.otherwise!(refusal)
    assert.deepStrictEqual(instead.started, [])
    assert.deepStrictEqual(book(instead.commit), ["post a#3 -5 -5"])
    assert.deepInclude(instead.commit.run, {
      status: "RUNNING",
      revision: 3,
      attempts: 2,
      nodeRunCount: 2,
      heldCredits: 1e6,
    })
    assert.deepStrictEqual(instead.commit.expected, step.commit.expected)
    assert.deepStrictEqual(instead.commit.nodeRuns, step.commit.nodeRuns)
    assert.deepStrictEqual(run.names(instead.commit.run.active), ["c"])
    assert.strictEqual(run.state.run, instead.commit.run)
    // What is in progress may end. It is paid for without asking again.
    const { commit, otherwise } = run.step(3, [run.completes("c", 3, passed, charged(4))])
    assert.isUndefined(otherwise)
    assert.deepStrictEqual(book(commit), ["post c#4 -4 -1", "void  0 0"])
    assert.deepInclude(commit.run, {
      status: "FAILED",
      error: "The credits ran out: the run needed 3 more, and fewer were available",
    })
  })

  it("says that nothing was available where an account owes", () => {
    const { run, step } = dear()
    step.otherwise!(new InsufficientCredits({ required: 3e6, available: -7e6 }))
    const { commit } = run.step(3, [run.completes("c", 3)])
    const error = "The credits ran out: the run needed 3 more, and fewer were available"
    assert.strictEqual(commit.run.error, error)
  })

  it("begins nothing where the start allowed no more, without asking the account", () => {
    const { run, step } = dear({ maxCredits: 8_999_999 })
    assert.deepStrictEqual(step.started, [])
    assert.isUndefined(step.otherwise)
    assert.deepStrictEqual(book(step.commit), ["post a#3 -5 -5"])
    const { commit } = run.step(3, [run.completes("c", 3)])
    const error = "The run needed 9 credits, and its start allowed 8.999999"
    assert.strictEqual(commit.run.error, error)
    const allowed = dear({ maxCredits: 9_000_000 }).step
    assert.strictEqual(allowed.started.length, 1)
  })

  it("leaves a node for later that found a slot and no credits", () => {
    const { run, step } = dear()
    step.otherwise!(new InsufficientCredits({ required: 3e6, available: 0 }))
    assert.strictEqual(run.state.ready.length - run.state.nextReady, 1)
    assert.isFalse(run.state.running.has(run.ordinal("b")))
  })

  it("keeps the waits of nodes that it does not call again", () => {
    const run = play([priced("a", 2), priced("n", 1, retried(2)), priced("m", 1)], [], costing(4))
    run.step(1)
    run.step(2, [run.fails("n", 2), run.suspends("m", 2, { until: 1_002 })])
    const signals = [run.completes("a", 1_002, passed, charged(4)), run.due("n"), run.due("m")]
    const step = run.step(1_002, signals)
    assert.deepStrictEqual(run.names(step.started), ["n#2", "m"])
    const instead = step.otherwise!(new InsufficientCredits({ required: 2e6, available: 0 }))
    // Nothing is in progress any more, so the run ends; its waits are those that it had.
    assert.strictEqual(instead.commit.run.status, "FAILED")
    assert.deepStrictEqual(run.names(instead.commit.run.waiting), ["n#2", "m"])
    assert.deepStrictEqual(instead.commit.run.waiting[1]?.state, { of: "m" })
    assert.deepInclude(instead.commit.run, { attempts: 3, nodeRunCount: 3 })
  })

  it("can be decided once more on messages, and then reserves as much", () => {
    const run = play([priced("a", 2), priced("w", 1), priced("b", 2)], ["a -> b"], costing(5))
    run.step(1)
    run.step(2, [run.suspends("w", 2, { for: "go" })])
    const step = run.step(3, [run.completes("a", 3, passed, charged(5))])
    assert.deepStrictEqual(book(step.commit), ["extend 4 0 2", "post a#4 -5 -5"])
    const again = step.unseen!([{ number: 1, name: "go", payload: null, at: 3 }])
    assert.deepStrictEqual(book(again.commit), ["extend 4 0 3", "post a#4 -5 -5"])
    assert.isDefined(again.otherwise)
  })
})

describe("what nodes in progress still need", () => {
  it("is what they are estimated at, less what their earlier attempts have charged", () => {
    const run = play([priced("n", 5, retried(3)), priced("a", 5)], ["n -> a"], costing(10))
    run.step(1)
    run.step(2, [run.fails("n", 2, charged(3))])
    const second = run.step(1_002, [run.due("n")])
    assert.deepStrictEqual(book(second.commit), [])
    run.step(1_003, [run.fails("n", 1_003, charged(9))])
    // Both attempts together have cost more than the estimate: no more is expected of it.
    const third = run.step(3_003, [run.due("n")])
    assert.deepStrictEqual(book(third.commit), [])
    assert.deepInclude(third.commit.run, { actualCredits: 12e6, heldCredits: 0 })
  })

  it("is nothing in a run that is broken off", () => {
    const run = play([priced("a", 2), priced("c", 2)], [], {
      ...costing(4),
      settings: { timeoutMillis: 1_000 },
    })
    run.step(1)
    run.step(2, [run.completes("a", 2, passed, charged(1))])
    const { commit, otherwise } = run.step(1_001, [expired])
    assert.isUndefined(otherwise)
    assert.deepStrictEqual(book(commit), ["void  0 -3"])
  })

  it("is nothing in a run whose estimate is nothing", () => {
    const run = play([priced("a", 2)], [])
    assert.deepStrictEqual(run.step(1).commit.credits, [])
  })
})
