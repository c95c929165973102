// What one step does with nodes without effects, given what calling them comes to.
import { CurrentNode } from "@millrace/core/engine/CurrentNode"
import { define } from "@millrace/core/engine/NodeDefinition"
import { NodeTypes } from "@millrace/core/engine/NodeTypes"
import { CurrentSecrets } from "@millrace/core/engine/CurrentSecrets"
import { CurrentEvaluator } from "@millrace/core/ports/Evaluator"
import { Json } from "@millrace/core/domain/Json"
import { assert, describe, it } from "@effect/vitest"
import { Clock, Effect, Schema } from "effect"
import type { AttemptOutcome } from "../../src/engine/internal/Attempt.ts"
import { CurrentChildren } from "../../src/engine/internal/ChildSource.ts"
import type { Compute } from "../../src/engine/internal/ComputedNodes.ts"
import { isComputable } from "../../src/engine/internal/ComputedNodes.ts"
import { Handlers } from "../../src/engine/internal/Handlers.ts"
import type { Ready } from "../../src/engine/internal/RunState.ts"
import { RunExecution } from "../../src/engine/internal/RunExecution.ts"
import type { Different } from "./PlayedRun.ts"
import { message, node, passed, play, received } from "./PlayedRun.ts"

/** A gate whose end the test tells, and so many nodes without effects that wait for it. */
const behindGate = (count: number, different: Different = {}) => {
  const ids = Array.from({ length: count }, (_, n) => `p${n}`)
  const nodes = [node("gate", "step"), ...ids.map((id) => node(id, "pure"))]
  const run = play(
    nodes,
    ids.map((id) => `gate -> ${id}`),
    different,
  )
  run.step(1)
  return run
}

/** Handlers that end as soon as they are called. */
const ends =
  (more: object): Compute =>
  ({ attempt, index }, now) =>
    ({ index, attempt, logs: null, charged: null, at: now, ...more }) as AttemptOutcome

const completes = ends({ _tag: "Completed", output: passed })

describe("a step that computes", () => {
  it("calls no handler beyond the slots while handlers go on", () => {
    const called: Array<number> = []
    const compute: Compute = ({ index }) => void called.push(index)
    const run = behindGate(4, { limits: { nodesAtOnce: 2 } })
    const { commit, started } = run.step(2, [run.completes("gate", 2)], { compute })
    assert.deepStrictEqual(run.names(commit.run.active), ["p0", "p1"])
    assert.deepStrictEqual([called.length, started.length], [2, 0])
    assert.deepStrictEqual([commit.run.attempts, commit.run.nodeRunCount], [3, 3])
    const next = run.step(3, [run.completes("p0", 3)], { compute: completes })
    assert.deepStrictEqual(
      next.commit.nodeRuns.map(({ nodeId }) => nodeId),
      ["p0", "p2", "p3"],
    )
  })

  it("gives a message that is there to what comes to wait for it", () => {
    const run = behindGate(1)
    run.step(2, [received(message(1, "go"))])
    const compute = ends({ _tag: "Suspended", wait: { for: "go" }, state: 7, starts: [] })
    const { commit, started } = run.step(3, [run.completes("gate", 3)], { compute })
    assert.deepStrictEqual(run.names(started), ["p0"])
    assert.deepInclude(started[0], { message: 1, state: 7, attempt: 1 })
    assert.deepStrictEqual(commit.run.waiting, [])
    assert.deepStrictEqual(
      commit.taken?.map(({ number }) => number),
      [1],
    )
    assert.deepStrictEqual([commit.run.attempts, commit.run.nodeRunCount], [2, 2])
  })

  it("calls nothing in a process that is about to stop", () => {
    const run = behindGate(2)
    const compute: Compute = () => assert.fail("it was called")
    const { commit, started } = run.step(2, [run.completes("gate", 2)], {
      compute,
      isDraining: () => true,
    })
    assert.deepStrictEqual([started, commit.run.active, commit.run.attempts], [[], [], 1])
  })
})

describe("a step that computes, for credits", () => {
  it("calls nothing that the reserved credits do not cover, but reserves more for it", () => {
    const [a, p] = [node("a", "priced", { price: 2 }), node("p", "pure", { price: 3 })]
    const run = play([a, p], ["a -> p"], {
      run: { estimatedCredits: 5_000_000 },
      limits: { nodesAtOnce: 1 },
    })
    run.step(1)
    const signals = [run.completes("a", 2, passed, { charged: 4_000_000 })]
    const compute: Compute = () => assert.fail("it was called")
    const { commit, otherwise, started } = run.step(2, signals, { compute })
    assert.deepStrictEqual(run.names(started), ["p"])
    assert.deepStrictEqual(
      commit.credits?.map(({ kind, reserved }) => [kind, reserved]),
      [
        ["extend", 2_000_000],
        ["post", -4_000_000],
      ],
    )
    assert.isDefined(otherwise)
  })
})

describe("a step that computes, in time", () => {
  /** Handlers that take so long. */
  const lasting =
    (millis: number): Compute =>
    (started, now) =>
      completes(started, now + millis)

  it("ends when it has computed for as long as a step may", () => {
    const run = behindGate(5, { limits: { millisPerStep: 50, nodesAtOnce: 1 } })
    const { commit, started } = run.step(100, [run.completes("gate", 100)], {
      compute: lasting(20),
    })
    assert.deepStrictEqual(
      commit.nodeRuns.map(({ finishedAt, nodeId, startedAt }) => [nodeId, startedAt, finishedAt]),
      [
        ["gate", 1, 100],
        ["p0", 100, 120],
        ["p1", 120, 140],
        ["p2", 140, 160],
      ],
    )
    assert.deepStrictEqual(run.names(started), ["p3"])
    assert.strictEqual(started[0]?.startedAt, 160)
  })

  it("ends its run when the last node has ended", () => {
    const run = behindGate(2)
    const { commit } = run.step(100, [run.completes("gate", 100)], { compute: lasting(20) })
    assert.strictEqual(commit.run.finishedAt, 140)
    assert.strictEqual(commit.events.at(-1)?.at, 140)
  })

  it("gives no message to a run that it has stopped", () => {
    const run = play(
      [node("gate", "step"), node("waits", "pure"), node("fails", "pure")],
      ["gate -> waits", "gate -> fails"],
      { settings: { onFailure: "stop" } },
    )
    run.step(1)
    run.step(2, [received(message(1, "go"))])
    const compute: Compute = (started, now) =>
      run.graph.nodes[started.index]!.id === "waits"
        ? ends({ _tag: "Suspended", wait: { for: "go" }, state: 7, starts: [] })(started, now)
        : ends({ _tag: "Failed", error: "no", retryable: false })(started, now)
    const { commit, started } = run.step(3, [run.completes("gate", 3)], { compute })
    assert.strictEqual(commit.run.status, "FAILED")
    assert.deepStrictEqual([started, commit.taken], [[], undefined])
  })
})

const optional = Schema.optionalKey(Json)

const charging = define({
  key: "pure",
  effects: "none",
  inputs: { input: optional },
  outputs: { output: optional },
  run: () => Effect.flatMap(CurrentNode, ({ charge }) => Effect.as(charge(3), { output: null })),
})

describe("a handler that a step has called", () => {
  it.effect("is forgotten once it has ended", () =>
    Effect.gen(function* () {
      const [clock, types] = [yield* Clock.Clock, yield* NodeTypes]
      const run = behindGate(1)
      const [evaluator, secrets] = [yield* CurrentEvaluator, yield* CurrentSecrets]
      const children = yield* CurrentChildren
      const more = { values: undefined, handlers: new Handlers(), children, links: undefined }
      const computeRun = () => undefined
      const shared = { types, clock, evaluator, secrets, computeRun, ...more }
      const wake = () => assert.fail("it told of it")
      const execution = new RunExecution(run.state, shared, { wake })
      const compute: Compute = (started, now) => execution.compute(started, now)
      const { commit } = run.step(2, [run.completes("gate", 2)], { compute })
      assert.strictEqual(commit.run.actualCredits, 3_000_000)
      assert.strictEqual(run.state.charges.spent(run.ordinal("p0"), 1), 0)
    }).pipe(Effect.provide(NodeTypes.layer(charging))),
  )
})

describe("ComputedNodes.isComputable", () => {
  const { state } = behindGate(1)
  const index = state.graph.indexOf.get("p0")!
  const before = { ordinal: index, attempt: 1, startedAt: 0 }
  const of = (ready: Partial<Ready>, again?: Partial<typeof before & { message: number }>) => {
    state.again.clear()
    if (again !== undefined) state.again.set(index, { ...before, ...again })
    return isComputable(state, { index, inputs: {}, ...ready })
  }

  it("is true for a node without effects, also for its next attempt", () => {
    assert.isTrue(of({}))
    assert.isTrue(of({}, { attempt: 2 }))
    assert.isTrue(of({ given: { inputs: () => ({}) } as never }))
    assert.isFalse(of({ index: state.graph.indexOf.get("gate")! }))
  })

  it("is false for one that was suspended, and for one with JavaScript to compute", () => {
    assert.isFalse(of({}, { message: 1 }))
    assert.isFalse(of({}, { state: 7 } as never))
    assert.isFalse(of({ given: { finish: () => ({}) } as never }))
  })
})
