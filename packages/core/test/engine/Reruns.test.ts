// Reruns: what is taken over of an earlier run, what is executed anew, and which ones are refused.
import { AccountId, RunId } from "@millrace/core/domain/Id"
import type { Node } from "@millrace/core/domain/Workflow"
import { Runs } from "@millrace/core/engine/Runs"
import { Workflows } from "@millrace/core/engine/Workflows"
import { RunStore } from "@millrace/core/ports/RunStore"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Option } from "effect"
import { TestClock } from "effect/testing"
import { childrenOf, engineWithChildren } from "./TestChildren.ts"
import { account, byNode, edge, Gates, node, start } from "./TestEngine.ts"

const at = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  effect.pipe(Effect.provide(engineWithChildren()))

/** A run as it is after a while. */
const later = Effect.fnUntraced(function* (id: RunId) {
  yield* TestClock.adjust("30 seconds")
  return Option.getOrThrow(yield* RunStore.use((store) => store.find(account, id)))
})

/** Starts a workflow, and waits for a while. */
const played = (...given: Parameters<typeof start>) =>
  Effect.flatMap(start(...given), ({ id }) => later(id))

type Request = Parameters<Runs["Service"]["rerun"]>[2]

const rerun = Effect.fnUntraced(function* (id: RunId, request: Request = {}) {
  const again = yield* Runs.use((runs) => runs.rerun(account, id, request))
  return yield* later(again.runId)
})

/** What a rerun would do. */
const planned = (id: RunId, request: Request = {}) =>
  Effect.map(
    Runs.use((runs) => runs.planRerun(account, id, request)),
    ({ anew, takenOver }) => ({
      anew: [...anew].map(([nodeId, { _tag }]) => `${nodeId}: ${_tag}`),
      takenOver,
    }),
  )

const refusalOf = (id: RunId, request: Request = {}, by = account) =>
  Effect.map(Effect.flip(Runs.use((runs) => runs.rerun(by, id, request))), ({ _tag, message }) => [
    _tag,
    message,
  ])

const [a, f, b] = [node("a", "pass"), node("f", "fail", { message: "no" }), node("b", "pass")]
const edges = [edge("a.output", "f.input"), edge("f.output", "b.input")]
const mended: Node = node("f", "pass")

/** A run whose second node of three has failed. */
const failed = (given: Parameters<typeof start>[2] = {}) => played([a, f, b], edges, given)

describe("a rerun", () => {
  it.effect("takes over what has completed, and executes the rest", () =>
    Effect.gen(function* () {
      const { run } = yield* failed()
      assert.strictEqual(run.status, "FAILED")
      const plan = { anew: ["f: Unfinished", "b: Follows"], takenOver: ["a"] }
      assert.deepStrictEqual(yield* planned(run.id), plan)
      const again = yield* rerun(run.id, { nodeOverrides: [mended] })
      assert.deepInclude(again.run, { status: "COMPLETED", mode: "rerun", rerunOf: run.id })
      assert.deepInclude(byNode(again)["a"]!.logs![0]!, { data: { runId: run.id } })
      const third = yield* rerun(again.run.id, { from: ["b"] })
      const rows = byNode(third)
      assert.deepInclude(rows["a"]!.logs![0]!, { data: { runId: run.id } })
      assert.deepInclude(rows["f"]!.logs![0]!, { data: { runId: again.run.id } })
      assert.deepStrictEqual(rows["f"]!.output, byNode(again)["f"]!.output)
    }).pipe(at),
  )

  it.effect("has what the earlier run was started with, unless it says otherwise", () =>
    Effect.gen(function* () {
      const kept = {
        values: { x: 1 },
        priority: 4,
        maxCredits: 9_000_000,
        viewport: { x: 1, y: 2, zoom: 1 },
        concurrencyKey: "k",
      }
      const graphInputOverrides = { b: { other: 5 } }
      const { run } = yield* failed({ ...kept, graphInputOverrides })
      const same = yield* rerun(run.id)
      assert.deepInclude(same.run, {
        ...kept,
        inputOverrides: graphInputOverrides,
        source: "api",
        startAt: null,
      })
      const startAt = same.run.finishedAt! + 3_600_000
      const wish = { priority: 0, maxCredits: 1_000_000, source: "ui", startAt } as const
      const other = yield* rerun(run.id, wish)
      const { maxCredits, priority, source, startAt: begins, values } = other.run
      const got = { maxCredits, priority, source, startAt: begins }
      assert.deepStrictEqual<unknown>([got, values], [wish, { x: 1 }])
    }).pipe(at),
  )

  it.effect("executes what the caller names and what follows, and not what the caller gives", () =>
    Effect.gen(function* () {
      const { run } = yield* played([a, mended, b], edges)
      assert.deepStrictEqual(yield* planned(run.id, { from: ["f"] }), {
        anew: ["f: Asked", "b: Follows"],
        takenOver: ["a"],
      })
      const pinnedOutputs = { f: { output: "given" } }
      const again = yield* rerun(run.id, { pinnedOutputs })
      assert.deepStrictEqual(byNode(again)["b"]!.output, { output: "given" })
      const third = yield* rerun(again.run.id, { from: ["b"] })
      assert.deepInclude(byNode(third)["f"]!.logs![0]!, { data: { runId: again.run.id } })
    }).pipe(at),
  )

  it.effect("executes the graph of the earlier run, or the one that is stored now", () =>
    Effect.gen(function* () {
      const { run } = yield* failed()
      const changed = { nodes: [a, mended, b, node("c", "pass")] }
      yield* Workflows.use((workflows) => workflows.update(account, run.workflowId, changed))
      const current = { definition: "current" } as const
      const anew = ["f: Changed", "b: Follows", "c: New"]
      const plan = yield* planned(run.id, current)
      assert.sameMembers(plan.anew, anew)
      const again = yield* rerun(run.id, current)
      assert.deepInclude(again.run, { status: "COMPLETED", workflowRevision: 2 })
      const same = yield* rerun(run.id, { definition: "same" })
      assert.deepInclude(same.run, { status: "FAILED", workflowRevision: 1 })
    }).pipe(at),
  )

  it.effect("calls workflows as the earlier run did, unless it is of what is stored now", () =>
    Effect.gen(function* () {
      const inner = yield* played([node("p", "pass", { input: 1 })])
      const { workflowId } = inner.run
      const call = node("call", "call", { workflowId, values: {} })
      const { run } = yield* played([call, node("b", "fail", { message: "no" })])
      const outputOf = Effect.fnUntraced(function* (id: RunId) {
        const [child] = yield* childrenOf(id, "call")
        return byNode(yield* later(child!.id))["p"]!.output
      })
      const nodes = [node("p", "pass", { input: 2 })]
      yield* Workflows.use((workflows) => workflows.update(account, workflowId, { nodes }))
      const same = yield* rerun(run.id, { from: ["call"] })
      assert.deepStrictEqual(yield* outputOf(same.run.id), { output: 1 })
      const current = { definition: "current" } as const
      const plan = yield* planned(run.id, current)
      assert.deepStrictEqual(plan.anew, ["call: Changed", "b: Unfinished"])
      const again = yield* rerun(run.id, current)
      assert.deepStrictEqual(yield* outputOf(again.run.id), { output: 2 })
      yield* Workflows.use((workflows) => workflows.remove(account, workflowId))
      const [tag, message] = yield* refusalOf(run.id, current)
      assert.strictEqual(tag, "InvalidGraph")
      assert.include(message, "there is no workflow")
      assert.deepStrictEqual((yield* planned(run.id)).takenOver, ["call"])
    }).pipe(at),
  )

  it.effect("takes over large values", () =>
    Effect.gen(function* () {
      const nodes = [node("l", "long", { input: 70_000 }), node("p", "pass")]
      const { run } = yield* played(nodes, [edge("l.output", "p.input")])
      const again = yield* rerun(run.id, { from: ["p"] })
      assert.strictEqual(again.run.status, "COMPLETED")
      const bytes = byNode(again)["l"]!.largeValues?.[0]?.bytes
      assert.strictEqual(
        bytes ?? JSON.stringify(byNode(again)["l"]!.output!["output"]).length,
        70_002,
      )
    }).pipe(at),
  )
})

describe("a rerun is refused", () => {
  it.effect("of a run that is not there, or goes on", () =>
    Effect.gen(function* () {
      const { run } = yield* failed()
      const none = RunId.make("run_none")
      const unknown = ["RunNotFound", "Run run_none does not exist"]
      assert.deepStrictEqual(yield* refusalOf(none), unknown)
      const [tag] = yield* refusalOf(run.id, {}, AccountId.make("acc_other"))
      assert.strictEqual(tag, "RunNotFound")
      const open = yield* played([node("g", "gate")])
      assert.strictEqual((yield* refusalOf(open.run.id))[0], "RunOpen")
      yield* Gates.use((gates) => gates.open("g"))
    }).pipe(at),
  )

  it.effect("of a run of a single node, and of the body of a loop", () =>
    Effect.gen(function* () {
      const single = yield* played([a], [], { singleNodeId: "a" })
      assert.deepStrictEqual(yield* refusalOf(single.run.id), [
        "InvalidGraph",
        "A run of a single node has no rerun: start the node again",
      ])
      const loop = node("loop", "each", { items: [1] })
      const body = { ...node("body", "pass"), parentId: "loop" }
      const { run } = yield* played([loop, body], [edge("loop.item", "body.input")])
      const [child] = yield* childrenOf(run.id, "loop")
      assert.deepStrictEqual(yield* refusalOf(child!.id), [
        "InvalidGraph",
        `A run of the body of a loop has no rerun: rerun the run of its loop, ${run.id}`,
      ])
      const [, message] = yield* refusalOf(run.id, { from: ["body"] })
      assert.strictEqual(
        message,
        'from: node "body" is in the body of a loop, which is executed anew as a whole',
      )
      assert.deepStrictEqual((yield* planned(run.id, { from: ["loop"] })).anew, ["loop: Asked"])
    }).pipe(at),
  )

  it.effect("of nothing, and of nodes that are not there", () =>
    Effect.gen(function* () {
      const { run } = yield* played([a, mended, b], edges)
      const [tag, message] = yield* refusalOf(run.id)
      assert.strictEqual(tag, "InvalidGraph")
      assert.match(message!, /^Nothing has to run anew: every node has completed/)
      const unknown = yield* refusalOf(run.id, { from: ["a", "x"] })
      assert.match(unknown[1]!, /^from: there is no node "x"; /)
      const override = yield* refusalOf(run.id, { from: ["a"], nodeOverrides: [node("y", "pass")] })
      assert.strictEqual(override[0], "InvalidGraph")
      assert.include(override[1]!, '"y"')
    }).pipe(at),
  )
})
