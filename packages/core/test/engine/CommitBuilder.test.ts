// What a commit carries to the store: events, deliveries, losses, and the numbers that guard it.
import { RunnerId } from "@millrace/core/domain/Id"
import type { Webhook } from "@millrace/core/domain/Webhook"
import { assert, describe, it } from "@effect/vitest"
import { CommitBuilder } from "../../src/engine/internal/CommitBuilder.ts"
import { cancel } from "../../src/engine/internal/Cancelation.ts"
import { chain, newRun, node, play, retried } from "./PlayedRun.ts"

const webhook: Webhook = {
  url: "https://receiver.example/hook",
  origin: "https://receiver.example",
  events: null,
  metadata: { order: 7 },
  headers: "sealed",
}

describe("the deliveries of a commit", () => {
  const { drawn, nodes } = chain("a", "b")

  it("are one for each event of the run and each end of a node", () => {
    const run = play([...nodes, node("c", "step", {}, retried(2))], drawn, { run: { webhook } })
    assert.deepStrictEqual(
      run.step(1).commit.deliveries.map(({ sequence, type }) => [sequence, type]),
      [[1, "run.started"]],
    )
    // A node that waits has not ended.
    const waiting = run.step(2, [run.fails("c", 2), run.completes("a", 2)]).commit
    assert.deepStrictEqual(
      waiting.deliveries.map(({ sequence, type }) => [sequence, type]),
      [[2, "node.completed"]],
    )
    run.step(1_002, [run.due("c"), run.completes("b", 3)])
    const last = run.step(1_003, [run.fails("c", 1_003)]).commit
    assert.deepStrictEqual(
      last.deliveries.map(({ sequence, type }) => [sequence, type]),
      [
        [5, "run.failed"],
        [4, "node.failed"],
      ],
    )
    const body: unknown = JSON.parse(last.deliveries[1]!.body)
    assert.deepInclude(body, { success: false, metadata: { order: 7 }, error: "c is broken" })
    assert.deepInclude(last.deliveries[1], {
      url: webhook.url,
      origin: webhook.origin,
      headers: "sealed",
      runId: newRun.id,
      accountId: newRun.accountId,
      createdAt: 1_003,
    })
  })

  it("are those that the webhook asks for", () => {
    const events = ["run.completed"] as const
    const run = play(nodes, drawn, { run: { webhook: { ...webhook, events } } })
    assert.deepStrictEqual(run.step(1).commit.deliveries, [])
    run.step(2, [run.completes("a", 2)])
    const { commit } = run.step(3, [run.completes("b", 3)])
    assert.deepStrictEqual(
      commit.deliveries.map(({ type }) => type),
      ["run.completed"],
    )
  })

  it("are none without a webhook", () => {
    assert.deepStrictEqual(play(nodes, drawn).step(1).commit.deliveries, [])
  })
})

describe("the inputs that a commit implies", () => {
  it("are those that were bound to nodes, by their ports, and no others", () => {
    const run = play(
      [node("a", "step"), node("if", "branch"), node("all", "gather"), node("n", "step")],
      ["a -> all", "a -> if", "if.no -> n"],
    )
    run.step(1)
    const first = run.step(2, [run.completes("a", 2)]).commit
    assert.deepStrictEqual(first.implied, new Map([["a", []]]))
    run.step(3, [run.completes("all", 3, { output: 1 })])
    const last = run.step(4, [run.completes("if", 4, { yes: 1 })]).commit
    assert.deepStrictEqual(last.implied, new Map([["if", ["input"]]]))
    // What arrives at a port of several values is an array of them.
    const again = play([node("a", "step"), node("all", "gather", { other: 1 })], ["a -> all"])
    again.step(1)
    again.step(2, [again.completes("a", 2)])
    const ended = again.step(3, [again.completes("all", 3)]).commit
    assert.deepStrictEqual(ended.implied, new Map([["all", [["input"], "other"]]]))
  })

  it("are the same where a step is decided once more", () => {
    const run = play(chain("a", "b").nodes)
    run.step(1)
    const step = run.step(2, [run.suspends("a", 2, { for: "go" }), run.completes("b", 2)])
    const again = step.unseen!([])
    assert.deepStrictEqual(again.commit.implied, step.commit.implied)
    assert.strictEqual(again.commit.implied?.size, 2)
  })

  it("are none of nodes that are canceled from outside", () => {
    const run = play(chain("a").nodes)
    run.step(1)
    const { implied, nodeRuns } = cancel(run.stored, 2, () => 5)
    assert.strictEqual(nodeRuns.length, 1)
    assert.strictEqual(implied?.size ?? 0, 0)
  })
})

describe("the losses of a run", () => {
  const losses = [
    { runner: RunnerId.make("exe_dead"), lostAt: 1, nodes: [0], cause: "died" as const },
  ]

  it("are forgotten with the end of a node, and not before", () => {
    const run = play(chain("a", "b").nodes, [], { run: { losses } })
    assert.deepInclude(run.step(1).commit, { clearsLosses: false })
    assert.deepStrictEqual(run.state.run.losses, losses)
    const { commit } = run.step(2, [run.completes("a", 2)])
    assert.isTrue(commit.clearsLosses)
    assert.deepStrictEqual(commit.run.losses, [])
    assert.isFalse(run.step(3, [run.completes("b", 3)]).commit.clearsLosses)
  })
})

describe("CommitBuilder", () => {
  const [step] = play(chain("a").nodes).graph.nodes

  it("guards with the numbers before, and leaves the run before as it was", () => {
    const before = { ...newRun, fence: 3, revision: 8, sequence: 5 }
    const change = new CommitBuilder(before, 9)
    change.begin()
    const commit = change.commit()
    assert.deepStrictEqual(commit.expected, { _tag: "Existing", fence: 3, revision: 8 })
    assert.deepInclude(commit.run, { revision: 9, sequence: 6, fence: 3 })
    assert.deepInclude(before, { revision: 8, sequence: 5, status: "QUEUED" })
  })

  it("adds up charges, and leaves out those of nothing", () => {
    const change = new CommitBuilder({ ...newRun, revision: 1, actualCredits: 5 }, 9)
    for (const credits of [2, 0, 3]) change.charge({ id: "a" }, credits)
    assert.strictEqual(change.cost, 10)
    const { credits, run } = change.commit()
    assert.strictEqual(run.actualCredits, 10)
    assert.deepStrictEqual(
      credits?.map(({ posted }) => posted),
      [-2, -3],
    )
  })

  it("is short of what is not held: of the charges so far, and of what is expected", () => {
    const held = { ...newRun, revision: 1, estimatedCredits: 9, heldCredits: 4, actualCredits: 5 }
    const change = new CommitBuilder(held, 9)
    assert.strictEqual(change.shortOf(4), 0)
    assert.strictEqual(change.shortOf(5), 1)
    change.charge({ id: "a" }, 3)
    assert.strictEqual(change.shortOf(0), 0)
    assert.strictEqual(change.shortOf(4), 3)
    // A run that is not stored yet holds its estimate.
    const fresh = { ...newRun, estimatedCredits: 9 }
    assert.strictEqual(new CommitBuilder(fresh, 9).shortOf(10), 1)
  })

  it("reserves all that it is told to, once", () => {
    const change = new CommitBuilder({ ...newRun, revision: 1 }, 9)
    change.extend(2)
    change.extend(3)
    const { credits, run } = change.commit()
    assert.deepStrictEqual(credits, [{ kind: "extend", part: "2", posted: 0, reserved: 5, at: 9 }])
    assert.strictEqual(run.heldCredits, 5)
  })

  it("knows the attempt of the last row that it writes of a node", () => {
    const change = new CommitBuilder(newRun, 9)
    const at = step!.index
    assert.isUndefined(change.attemptOf(at))
    change.setNode(step!, { status: "WAITING", attempt: 1 })
    assert.strictEqual(change.attemptOf(at), 1)
    change.setNode(step!, { status: "WAITING", attempt: 2 }, true)
    change.setNode({ ...step!, index: at + 1 }, { status: "WAITING", attempt: 7 }, true)
    assert.strictEqual(change.attemptOf(at), 2)
    assert.strictEqual(change.attemptOf(at + 1), 7)
    assert.isUndefined(change.attemptOf(at + 2))
  })

  it("makes copies that do not change with it", () => {
    const change = new CommitBuilder({ ...newRun, revision: 1, heldCredits: 9 }, 9)
    change.begin()
    change.setNode(step!, { status: "WAITING", attempt: 1 })
    change.setNode(step!, { status: "WAITING", attempt: 2 }, true)
    change.charge({ id: "a" }, 2)
    change.take({ number: 1, name: "go", payload: null, at: 9 }, { id: "a" })
    const copy = change.fork()
    const before = change.fork().commit()
    change.setNode(step!, { status: "WAITING", attempt: 3 })
    change.charge({ id: "a" }, 2)
    change.take({ number: 2, name: "go", payload: null, at: 9 }, { id: "a" })
    change.end("COMPLETED", null, null, { completed: 1, failed: 0 })
    const after = copy.commit()
    assert.deepStrictEqual(after, before)
    assert.deepStrictEqual(
      [after.nodeRuns.length, after.rewritten.length, after.events.length, after.taken?.length],
      [1, 1, 1, 1],
    )
    assert.strictEqual(after.credits?.length, 1)
    assert.strictEqual(after.run.status, "RUNNING")
    const changed = change.commit()
    assert.deepStrictEqual([changed.nodeRuns.length, changed.taken?.length], [2, 2])
  })

  it("parks and keeps", () => {
    const parked = { ...newRun, owner: RunnerId.make("exe_a"), dueAt: 5 }
    const kept = new CommitBuilder(parked, 9)
    kept.keep()
    assert.deepInclude(kept.commit().run, { dueAt: null, owner: parked.owner })
    const again = new CommitBuilder(parked, 9)
    again.park(70)
    assert.deepInclude(again.commit().run, { dueAt: 70, owner: null })
  })

  it("ends a parked run as one that is due no more", () => {
    const change = new CommitBuilder({ ...newRun, dueAt: 5 }, 9)
    change.end("CANCELED", null, null, { completed: 0, failed: 0 })
    assert.deepInclude(change.commit().run, { dueAt: null, finishedAt: 9, status: "CANCELED" })
  })
})
