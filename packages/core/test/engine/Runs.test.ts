// Starting and canceling: what is refused, what a start freezes, and what a cancel stops.
import { AccountId, RunId, WorkflowId } from "@millrace/core/domain/Id"
import { nodeRunsOf } from "@millrace/core/domain/Run"
import { Runs } from "@millrace/core/engine/Runs"
import { Workflows } from "@millrace/core/engine/Workflows"
import { RunStore } from "@millrace/core/ports/RunStore"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { account, byNode, edge, engine, Gates, node, run, save, start } from "./TestEngine.ts"

const at = <A, E, R>(effect: Effect.Effect<A, E, R>) => effect.pipe(Effect.provide(engine()))
const stranger = AccountId.make("acc_stranger")

describe("Runs.start", () => {
  it.effect("names every problem by node and port, and creates nothing", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(
        start(
          [
            node("sum", "add", { left: "one" }),
            node("odd", "nonsense"),
            node("feed", "pass"),
            node("ask", "request"),
            node("again", "request"),
          ],
          [
            edge("feed", "sum.third"),
            edge("feed.elsewhere", "sum.left"),
            edge("ask.values", "odd"),
          ],
        ),
      )
      const text = (error as Error).message
      for (const part of [
        /"sum".*"right"/,
        /"odd".*nonsense/,
        /"third"/,
        /"elsewhere"/,
        /request/,
        /"left".*[Ee]xpected/,
      ]) {
        assert.match(text, part)
      }
      const page = yield* Effect.flatMap(RunStore, (runs) => runs.list({ account, limit: 10 }))
      assert.lengthOf(page.items, 0)
    }).pipe(at),
  )

  it.effect("lists every missing required input by node and port", () =>
    Effect.gen(function* () {
      const nodes = ["p", "q"].map((id) => node(id, "add"))
      const edges = [edge("src", "p.left"), edge("src", "q.right")]
      const error = yield* Effect.flip(start([node("src", "pass"), ...nodes], edges))
      assert.match((error as Error).message, /"p".*"right".*; .*"q".*"left"/)
    }).pipe(at),
  )

  it.effect("does not know another account's workflow", () =>
    Effect.gen(function* () {
      const runs = yield* Runs
      const { id } = yield* save([node("a", "pass")])
      const foreign = yield* Effect.flip(runs.start(stranger, { workflowId: id }))
      const unknown = yield* Effect.flip(
        runs.start(stranger, { workflowId: WorkflowId.make("wf_none") }),
      )
      assert.strictEqual(foreign._tag, "WorkflowNotFound")
      assert.strictEqual(unknown._tag, "WorkflowNotFound")
    }).pipe(at),
  )

  it.effect("replaces whole nodes for this run only", () =>
    Effect.gen(function* () {
      const runs = yield* Runs
      const workflow = yield* save(
        [node("sum", "add", { left: 1, right: 1 }), node("r", "response")],
        [edge("sum", "r")],
      )
      const start = (nodeOverrides: ReadonlyArray<ReturnType<typeof node>>) =>
        Effect.gen(function* () {
          const { id } = yield* runs.start(account, { workflowId: workflow.id, nodeOverrides })
          return (yield* runs.wait(account, id)).run.output
        })
      assert.strictEqual(yield* start([node("sum", "add", { left: 20, right: 1 })]), 21)
      assert.strictEqual(yield* start([]), 2)
      const error = yield* Effect.flip(start([node("ghost", "pass")]))
      assert.match((error as Error).message, /ghost/)
    }).pipe(at),
  )

  it.effect("lets an override win over an edge, which still orders", () =>
    Effect.gen(function* () {
      const record = yield* run(
        [node("first", "pass", { input: 1 }), node("sum", "add", { right: 1 })],
        [edge("first", "sum.left")],
        { graphInputOverrides: { sum: { left: 100 } } },
      )
      const nodes = byNode(record)
      assert.deepStrictEqual(nodes["sum"]?.output, { output: 101 })
      assert.isAtLeast(nodes["sum"]!.ordinal, nodes["first"]!.ordinal)
    }).pipe(at),
  )

  it.effect("shares one definition between the runs of a revision", () =>
    Effect.gen(function* () {
      const runs = yield* Runs
      const { id: workflowId } = yield* save([node("a", "pass")])
      const one = yield* runs.start(account, { workflowId })
      const two = yield* runs.start(account, { workflowId })
      assert.strictEqual(one.definitionId, two.definitionId)
      assert.notStrictEqual(one.id, two.id)
      assert.notStrictEqual(one.executionId, two.executionId)
    }).pipe(at),
  )
})

describe("Runs.startOnce", () => {
  const named = (key: string, bodyHash = "same") => ({ key, bodyHash })

  it.effect("starts one run under a name, and answers every repetition with it", () =>
    Effect.gen(function* () {
      const runs = yield* Runs
      const { id: workflowId } = yield* save([node("a", "pass")])
      const first = yield* runs.startOnce(account, { workflowId }, named("k"))
      assert.isFalse(first.isReplay)
      const again = yield* runs.startOnce(account, { workflowId }, named("k"))
      assert.deepStrictEqual(again, { runId: first.runId, isReplay: true })
      const other = yield* runs.startOnce(account, { workflowId }, named("l"))
      assert.notStrictEqual(other.runId, first.runId)
      const page = yield* Effect.flatMap(RunStore, (store) => store.list({ account, limit: 10 }))
      assert.lengthOf(page.items, 2)
    }).pipe(at),
  )

  it.effect("starts one run for a thousand callers at once, whether there is room or not", () =>
    Effect.gen(function* () {
      const runs = yield* Runs
      const { id: workflowId } = yield* save([node("a", "pass")])
      const all = yield* Effect.forEach(
        Array.from({ length: 1_000 }),
        () => runs.startOnce(account, { workflowId }, named("k")),
        { concurrency: "unbounded" },
      )
      assert.lengthOf(new Set(all.map(({ runId }) => runId)), 1)
      assert.lengthOf(
        all.filter(({ isReplay }) => !isReplay),
        1,
      )
      const page = yield* Effect.flatMap(RunStore, (store) => store.list({ account, limit: 10 }))
      assert.lengthOf(page.items, 1)
    }).pipe(at),
  )

  it.effect("refuses a name that was given to another request, also for another account's", () =>
    Effect.gen(function* () {
      const runs = yield* Runs
      const { id: workflowId } = yield* save([node("a", "pass")])
      yield* runs.startOnce(account, { workflowId }, named("k"))
      const refused = runs.startOnce(account, { workflowId }, named("k", "other"))
      assert.strictEqual((yield* Effect.flip(refused))._tag, "IdempotencyKeyTaken")
      const foreign = runs.startOnce(stranger, { workflowId }, named("k", "other"))
      assert.strictEqual((yield* Effect.flip(foreign))._tag, "WorkflowNotFound")
    }).pipe(at),
  )

  it.effect("takes no name for a start that was refused", () =>
    Effect.gen(function* () {
      const runs = yield* Runs
      const { id: workflowId } = yield* save([node("a", "nonsense")])
      const bad = yield* Effect.flip(runs.startOnce(account, { workflowId }, named("k")))
      assert.strictEqual(bad._tag, "InvalidGraph")
      const good = { workflowId, nodeOverrides: [node("a", "pass")] }
      assert.isFalse((yield* runs.startOnce(account, good, named("k", "good"))).isReplay)
    }).pipe(at),
  )

  it.effect("knows a name again after the workflow was deleted", () =>
    Effect.gen(function* () {
      const runs = yield* Runs
      const { id: workflowId } = yield* save([node("a", "pass")])
      const { runId } = yield* runs.startOnce(account, { workflowId }, named("k"))
      yield* Effect.flatMap(Workflows, (all) => all.remove(account, workflowId))
      const again = yield* runs.startOnce(account, { workflowId }, named("k"))
      assert.deepStrictEqual(again, { runId, isReplay: true })
    }).pipe(at),
  )
})

describe("Runs.cancel", () => {
  it.effect("stops a running run: handlers are interrupted and nothing more is written", () =>
    Effect.gen(function* () {
      const gates = yield* Gates
      const runs = yield* Runs
      const store = yield* RunStore
      const { id } = yield* start(
        [node("done", "pass"), node("stuck", "gate"), node("later", "pass")],
        [edge("done", "stuck"), edge("stuck", "later")],
      )
      yield* gates.untilArrived("stuck")
      const canceled = yield* runs.cancel(account, id)
      assert.strictEqual(canceled.status, "CANCELED")
      assert.deepStrictEqual(gates.interrupted, ["stuck"])
      const record = yield* runs.wait(account, id)
      assert.deepStrictEqual(
        nodeRunsOf(record).map((each) => each.status),
        ["COMPLETED", "CANCELED", "CANCELED"],
      )
      const events = yield* store.events(account, id, 0)
      assert.deepStrictEqual(
        events.map((each) => each.type),
        ["run.started", "node.completed", "run.canceled"],
      )
      assert.strictEqual(events.at(-1)?.error, "Run was canceled")
    }).pipe(at),
  )

  it.effect("is a no-op for a canceled run and a conflict for one that ended otherwise", () =>
    Effect.gen(function* () {
      const gates = yield* Gates
      const runs = yield* Runs
      const stuck = yield* start([node("stuck", "gate")])
      yield* gates.untilArrived("stuck")
      const first = yield* runs.cancel(account, stuck.id)
      const again = yield* runs.cancel(account, stuck.id)
      assert.strictEqual(again.finishedAt, first.finishedAt)
      assert.strictEqual(again.sequence, first.sequence)
      const { run: done } = yield* run([node("a", "pass")])
      const refused = yield* Effect.flip(runs.cancel(account, done.id))
      assert.strictEqual(refused._tag, "RunEnded")
    }).pipe(at),
  )

  it.effect("does not know another account's run", () =>
    Effect.gen(function* () {
      const gates = yield* Gates
      const runs = yield* Runs
      const { id } = yield* start([node("stuck", "gate")])
      yield* gates.untilArrived("stuck")
      const foreign = yield* Effect.flip(runs.cancel(stranger, id))
      const unknown = yield* Effect.flip(runs.cancel(account, RunId.make("run_none")))
      assert.strictEqual(foreign._tag, "RunNotFound")
      assert.strictEqual(unknown._tag, "RunNotFound")
      yield* gates.open("stuck")
      assert.strictEqual((yield* runs.wait(account, id)).run.status, "COMPLETED")
    }).pipe(at),
  )

  it.effect("has one winner when it races the end of the run", () =>
    Effect.gen(function* () {
      const gates = yield* Gates
      const runs = yield* Runs
      const store = yield* RunStore
      for (let round = 0; round < 50; round++) {
        const id = `g${round}`
        const { id: runId } = yield* start([node(id, "gate")])
        yield* gates.untilArrived(id)
        const [, canceled] = yield* Effect.all(
          [gates.open(id), Effect.result(runs.cancel(account, runId))],
          { concurrency: 2 },
        )
        const { run: ended } = yield* runs.wait(account, runId)
        assert.strictEqual(ended.status === "CANCELED", canceled._tag === "Success")
        const events = yield* store.events(account, runId, 0)
        const ends = events.filter((each) => each.type !== "run.started" && !each.data["nodeId"])
        assert.lengthOf(ends, 1)
        assert.deepStrictEqual(
          events.map((each) => each.sequence),
          events.map((_, index) => index + 1),
        )
      }
    }).pipe(at),
  )
})
