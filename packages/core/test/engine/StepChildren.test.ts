// What steps decide about child runs: which are started, whose ends wake which node, what their
// ends cost and tell, and when they are canceled with their parent.
import { RunId } from "@millrace/core/domain/Id"
import type { ChildEnd, Message, Wait } from "@millrace/core/domain/Message"
import {
  cancelMessage,
  childMessage,
  problemOfMessage,
  withoutOwnStart,
} from "@millrace/core/domain/Message"
import type { ParentRun, Run } from "@millrace/core/domain/Run"
import type { RunCommit, StartedRun } from "@millrace/core/ports/RunStore"
import { InsufficientCredits } from "@millrace/core/ports/LedgerStore"
import { assert, describe, it } from "@effect/vitest"
import { cancel, giveUp } from "../../src/engine/internal/Cancelation.ts"
import { chain, message, newRun, node, passed, play, received } from "./PlayedRun.ts"

const two = chain("a", "b").nodes
const day = 86_400_000

/** A child that a node starts. */
const childOf = (id: string): StartedRun => ({
  run: { ...newRun, id: RunId.make(id), revision: 1 },
  credits: [],
  definition: { id: "d", nodes: [], edges: [], settings: {} },
})

const idsOf = (...ids: ReadonlyArray<string>) => ids.map((id) => RunId.make(id))

/** The message of the end of a child. */
const endOf = (number: number, runId: string, more: Partial<ChildEnd> = {}): Message => ({
  ...message(number, childMessage),
  payload: { runId, index: 0, status: "COMPLETED", error: null, credits: 0, ...more },
})

const sentBy = ({ messages = [] }: RunCommit) =>
  messages.map(({ message: { id, name }, runId }) => [runId, name, withoutOwnStart(id)])

const together = { for: childMessage, together: true }

const startedBy = ({ starts = [] }: RunCommit) => starts.map(({ run }) => run.id)

/** A run in which `a` has started children, and waits for them. */
const withChildren = (
  ids: ReadonlyArray<string>,
  nodes = two,
  run: Partial<Run> = {},
  wait: Wait = { for: childMessage },
) => {
  const played = play(nodes, [], { run })
  played.step(1)
  const starts = ids.map(childOf)
  const { commit } = played.step(2, [played.suspends("a", 2, wait, { starts })])
  return { commit, played }
}

describe("a node that starts runs", () => {
  it("starts them in the commit with which it begins to wait", () => {
    const { commit, played } = withChildren(["run_x", "run_y"])
    assert.deepStrictEqual(startedBy(commit), idsOf("run_x", "run_y"))
    assert.deepStrictEqual(commit.run.waiting[0]?.children, idsOf("run_x", "run_y"))
    assert.deepStrictEqual(startedBy(played.step(3).commit), [])
  })

  it("goes on with the end of one of them, and goes on waiting for the others", () => {
    const { played } = withChildren(["run_x", "run_y"])
    const { commit, started } = played.step(3, [received(endOf(1, "run_y", { credits: 7 }))])
    assert.deepStrictEqual(played.names(started), ["a"])
    assert.deepStrictEqual(
      commit.run.active.find(({ ordinal }) => ordinal === 0)?.children,
      idsOf("run_x"),
    )
    assert.strictEqual(commit.run.childCredits, 7)
  })

  it("has got on when it hears of an end, so its run forgets which owners it has lost", () => {
    const { played } = withChildren(["run_x"])
    const losses = [{ runner: "exe_x" as never, lostAt: 1, nodes: [0], cause: "died" as const }]
    const again = play(two, [], { run: { ...played.stored.run, losses } })
    const { commit } = again.step(3, [received(endOf(1, "run_x"))])
    assert.deepStrictEqual(commit.taken, [{ number: 1, nodeId: "a" }])
    assert.deepStrictEqual([commit.run.losses, commit.clearsLosses], [[], true])
  })

  it("hears of no run that another node has started, or that an earlier attempt had", () => {
    const { played } = withChildren(["run_x"])
    const starts = [childOf("run_z")]
    played.step(3, [played.suspends("b", 3, { for: childMessage }, { starts })])
    const { commit, started } = played.step(4, [received(endOf(1, "run_z"), endOf(2, "run_old"))])
    assert.deepStrictEqual(played.names(started), ["b"])
    assert.deepStrictEqual(commit.taken, [{ number: 1, nodeId: "b" }])
  })

  it("hears of no run where it has started none, and another node hears of it", () => {
    const played = play(two)
    played.step(1)
    const wait = { for: childMessage }
    played.step(2, [played.suspends("a", 2, wait)])
    played.step(3, [played.suspends("b", 3, wait, { starts: [childOf("run_x")] })])
    const { commit, started } = played.step(4, [received(endOf(1, "run_x"))])
    assert.deepStrictEqual(played.names(started), ["b"])
    assert.deepStrictEqual(commit.taken, [{ number: 1, nodeId: "b" }])
  })

  it("keeps them when its process dies, or an attempt that knows of an end is repeated", () => {
    const { played } = withChildren(["run_x", "run_y"])
    played.step(3, [received(endOf(1, "run_y"))])
    const next = played.restart(4, { messages: [endOf(1, "run_y")] })
    const { commit, started } = next.step(4)
    assert.deepStrictEqual(next.names(started), ["a#2", "b#2"])
    assert.deepStrictEqual(started[0]?.children, idsOf("run_x"))
    assert.deepStrictEqual(sentBy(commit), [])
  })

  it.each(["completes", "fails"] as const)("cancels those that are left when it %s", (how) => {
    const { played } = withChildren(["run_x", "run_y"])
    played.step(3, [received(endOf(1, "run_y"))])
    const { commit } = played.step(4, [played[how]("a", 4)])
    assert.deepStrictEqual(sentBy(commit), [["run_x", cancelMessage, "run_1"]])
  })

  it("hears of all that have ended at once, and is called with the first that failed", () => {
    const { played } = withChildren(["run_x", "run_y", "run_z"], two, {}, together)
    const ends = [
      endOf(1, "run_z", { credits: 1 }),
      endOf(2, "run_x", { credits: 2, status: "FAILED", error: "no" }),
      endOf(3, "run_old"),
    ]
    const { commit, started } = played.step(3, [received(...ends)])
    assert.deepStrictEqual(played.names(started), ["a"])
    assert.deepStrictEqual(commit.taken, [
      { number: 1, nodeId: "a" },
      { number: 2, nodeId: "a" },
    ])
    const active = commit.run.active.find(({ ordinal }) => ordinal === 0)
    assert.deepStrictEqual([active?.children, active?.message], [idsOf("run_y"), 2])
    assert.strictEqual(commit.run.childCredits, 3)
    assert.deepStrictEqual([...played.state.held.values()], [ends[1]!])
    const next = played.restart(4, { messages: [ends[1]!, endOf(4, "run_y")] })
    const again = next.step(4)
    assert.deepStrictEqual(again.started[0]?.message, 2)
    assert.deepStrictEqual(again.started[0]?.children, idsOf("run_y"))
  })

  it("is called with the first of these ends if all completed, and hears others later", () => {
    const { played } = withChildren(["run_x", "run_y", "run_z"], two, {}, together)
    const first = played.step(3, [received(endOf(1, "run_y"), endOf(2, "run_z"))])
    assert.strictEqual(first.started[0]?.message, 1)
    assert.deepStrictEqual([...played.state.held.keys()], [1])
    const busy = played.step(4, [received(endOf(3, "run_x"))])
    assert.deepStrictEqual([busy.commit.taken, busy.started], [undefined, []])
    const starts = [childOf("run_w")]
    const { commit, started } = played.step(5, [played.suspends("a", 5, together, { starts })])
    assert.deepStrictEqual(commit.taken, [{ number: 3, nodeId: "a" }])
    assert.deepStrictEqual(started[0]?.children, idsOf("run_w"))
  })

  it("starts none that the account's credits do not cover, and starts nothing more", () => {
    const played = play(two)
    played.step(1)
    const starts = [childOf("run_x")]
    const step = played.step(2, [played.suspends("a", 2, { for: childMessage }, { starts })])
    const refusal = new InsufficientCredits({ available: 0, required: 3_000_000 })
    const { commit } = step.otherwise!(refusal)
    assert.deepStrictEqual(startedBy(commit), [])
    const ended = played.step(3, [played.completes("b", 3)]).commit.run
    assert.strictEqual(ended.status, "FAILED")
    assert.match(ended.error ?? "", /The credits ran out: the run needed 3 more/)
  })
})

/** A child that its parent has computed. */
const computedOf = (id: string, credits = 0): StartedRun => {
  const { run, ...child } = childOf(id)
  const ended = { status: "COMPLETED" as const, finishedAt: 2, actualCredits: credits }
  return { ...child, run: { ...run, ...ended } }
}

/** A run in which `a` waits until now, with what it has computed, and in which `b` goes on. */
const withComputed = (starts: ReadonlyArray<StartedRun>, run: Partial<Run> = {}) => {
  const played = play(two, [], { run })
  played.step(1)
  const wait = { for: childMessage, until: 2 }
  return { played, step: played.step(2, [played.suspends("a", 2, wait, { starts })]) }
}

describe("a node that has computed children", () => {
  it("stores them and waits for none of them, and its run has cost what they have", () => {
    const losses = [{ runner: "exe_x" as never, lostAt: 1, nodes: [0], cause: "died" as const }]
    const starts = [computedOf("run_x", 3), computedOf("run_y", 4), childOf("run_z")]
    const { commit } = withComputed(starts, { childCredits: 1, losses }).step
    assert.deepStrictEqual(startedBy(commit), idsOf("run_x", "run_y", "run_z"))
    assert.deepStrictEqual(commit.run.waiting[0]?.children, idsOf("run_z"))
    assert.strictEqual(commit.run.childCredits, 8)
    assert.deepStrictEqual([commit.run.losses, commit.clearsLosses], [[], true])
  })

  it("goes on from there when it is tried again, so that it computes none of them twice", () => {
    const retry = { attempts: 3, initial: "1 second", jitter: 0 }
    const nodes = [node("a", "step", {}, { retry }), node("b", "step")]
    const played = play(nodes, [])
    played.step(1)
    const starts = [computedOf("run_x")]
    played.step(2, [played.suspends("a", 2, { until: 2 }, { starts })])
    played.step(3, [played.due("a")])
    played.step(4, [played.fails("a", 4)])
    const [again] = played.step(2_000, [played.due("a")]).started
    assert.deepStrictEqual([again?.attempt, again?.state, again?.children], [2, { of: "a" }, []])
  })

  it("stores those that the account covers, and its run stops", () => {
    const starts = ["run_w", "run_x", "run_y", "run_z"].map((id) => computedOf(id, 2))
    const { played, step } = withComputed([...starts, childOf("run_q")])
    const refusal = (id: string) =>
      new InsufficientCredits({ available: 0, required: 2, runId: RunId.make(id) })
    const first = step.otherwise!(refusal("run_z"))
    assert.deepStrictEqual(startedBy(first.commit), idsOf("run_w", "run_x", "run_y"))
    assert.strictEqual(first.commit.run.childCredits, 6)
    // Meanwhile another run of the account has reserved credits.
    const { commit, started } = first.otherwise!(refusal("run_x"))
    assert.deepStrictEqual([startedBy(commit), started], [idsOf("run_w"), []])
    assert.strictEqual(commit.run.childCredits, 2)
    const ended = played.step(3, [played.completes("b", 3)]).commit.run
    assert.deepStrictEqual([ended.status, ended.childCredits], ["FAILED", 2])
  })

  it("starts none in a run that is out of credits, and stores what is covered", () => {
    const played = play(chain("a", "b", "c").nodes)
    played.step(1)
    const wait = { for: childMessage }
    const first = played.step(2, [played.suspends("a", 2, wait, { starts: [childOf("run_x")] })])
    first.otherwise!(new InsufficientCredits({ available: 0, required: 3 }))
    const starts = [computedOf("run_y", 1), childOf("run_z")]
    const { commit, otherwise } = played.step(3, [played.suspends("b", 3, wait, { starts })])
    assert.deepStrictEqual(startedBy(commit), idsOf("run_y"))
    const again = otherwise!(new InsufficientCredits({ available: 0, required: 3 }))
    assert.deepStrictEqual([startedBy(again.commit), again.otherwise], [[], undefined])
    assert.strictEqual(again.commit.run.childCredits, 0)
  })
})

describe("the end of a run", () => {
  it("cancels all children that have not ended, whoever ends it", () => {
    const only = chain("a").nodes
    const { played } = withChildren(["run_x", "run_y"], only)
    const canceled = [
      ["run_x", cancelMessage, "run_1"],
      ["run_y", cancelMessage, "run_1"],
    ]
    assert.deepStrictEqual(sentBy(cancel(played.stored, 9, () => 0)), canceled)
    assert.deepStrictEqual(sentBy(giveUp(played.stored, "given up", 9)), canceled)
    assert.deepStrictEqual(sentBy(played.step(9, [{ _tag: "Expired" }]).commit), canceled)
  })
})

const parent: ParentRun = {
  runId: RunId.make("run_0"),
  nodeId: "call",
  index: 3,
  rootRunId: RunId.make("run_0"),
  depth: 1,
}
const told = [["run_0", childMessage, "run_1"]]

describe("a child run", () => {
  it("tells its parent of its end in its last commit, with what its tree has cost", () => {
    const played = play(two, [], { run: { parent, childCredits: 5 } })
    played.step(1)
    const { commit: first } = played.step(2, [played.completes("a", 2, passed, { charged: 2 })])
    assert.deepStrictEqual(sentBy(first), [])
    const { commit } = played.step(3, [played.completes("b", 3)])
    assert.deepStrictEqual(sentBy(commit), told)
    assert.deepStrictEqual(commit.messages?.[0]?.message.payload, {
      runId: "run_1",
      index: 3,
      status: "COMPLETED",
      error: null,
      credits: 7,
    })
    for (const ended of [cancel(played.stored, 9, () => 0), giveUp(played.stored, "no", 9)]) {
      assert.deepStrictEqual(sentBy(ended), told)
    }
  })

  it("tells of its end and of cancelations under ids that no sender of a message may use", () => {
    const { commit } = withChildren(["run_x"], two, { parent })
    const ended = cancel({ ...play(two, [], { run: commit.run }).stored }, 9, () => 0)
    const { messages = [] } = ended
    assert.strictEqual(messages.length, 2)
    for (const { message: sent } of messages) {
      assert.match(problemOfMessage(sent) ?? "", /begins with U\+0001; only ids of the engine do/)
    }
  })

  it("is canceled when its parent says so, and breaks off what is in progress", () => {
    const played = play(two, [], { run: { parent } })
    played.step(1)
    const { commit, stopped } = played.step(2, [received(message(1, cancelMessage))])
    assert.deepStrictEqual([commit.run.status, commit.run.error], ["CANCELED", null])
    assert.deepStrictEqual(stopped, [0, 1])
    assert.deepStrictEqual(sentBy(commit), told)
  })

  it("is canceled by its first step where it was told so while it was queued", () => {
    const played = play(two, [], { run: { parent }, messages: [message(1, cancelMessage)] })
    const { commit, started } = played.step(1)
    assert.deepStrictEqual([commit.run.status, started], ["CANCELED", []])
  })

  it("parks only if it has seen every message, and is canceled by one that it had not seen", () => {
    const played = play(two, [], { run: { parent } })
    played.step(1)
    played.step(2, [played.suspends("a", 2, { until: day })])
    const { commit, unseen } = played.step(3, [played.suspends("b", 3, { until: day })])
    assert.deepStrictEqual([commit.seen, commit.run.dueAt], [0, day])
    const again = unseen!([message(1, cancelMessage)])
    assert.deepStrictEqual([again.commit.run.status, again.started], ["CANCELED", []])
  })

  it("starts nothing of a step that a cancelation was faster than", () => {
    const played = play(chain("a", "b", "c").nodes, ["a -> b"], { run: { parent } })
    played.step(1)
    const { started, unseen } = played.step(2, [played.completes("a", 2)])
    assert.deepStrictEqual(played.names(started), ["b"])
    const again = unseen!([message(1, cancelMessage)])
    assert.deepStrictEqual(again.started, [])
    assert.deepStrictEqual(again.stopped, [played.ordinal("c")])
    assert.strictEqual(again.commit.run.status, "CANCELED")
  })

  it("is canceled although a failure has stopped it, with what is still in progress", () => {
    const settings = { onFailure: "stop" as const }
    const played = play(two, [], { run: { parent }, settings })
    played.step(1)
    const { commit, unseen } = played.step(2, [played.fails("a", 2)])
    assert.strictEqual(commit.run.status, "RUNNING")
    const again = unseen!([message(1, cancelMessage)])
    assert.deepStrictEqual([again.commit.run.status, again.stopped], ["CANCELED", [1]])
  })
})
