// Runs of bodies that are computed before they are stored, one by one.
import { CurrentSecrets } from "@millrace/core/engine/CurrentSecrets"
import { define } from "@millrace/core/engine/NodeDefinition"
import { NodeTypes } from "@millrace/core/engine/NodeTypes"
import { RunId } from "@millrace/core/domain/Id"
import { Json } from "@millrace/core/domain/Json"
import type { Limits } from "@millrace/core/domain/Limits"
import { defaultLimits } from "@millrace/core/domain/Limits"
import type { ParentRun } from "@millrace/core/domain/Run"
import type { Webhook } from "@millrace/core/domain/Webhook"
import { CurrentEvaluator } from "@millrace/core/ports/Evaluator"
import { assert, describe, it } from "@effect/vitest"
import { Clock, Effect, Result, Schema } from "effect"
import { CurrentChildren } from "../../src/engine/internal/ChildSource.ts"
import { computeRun } from "../../src/engine/internal/ComputedRun.ts"
import { Handlers } from "../../src/engine/internal/Handlers.ts"
import { ValueMemory } from "../../src/engine/internal/ValueMemory.ts"
import type { Different } from "./PlayedRun.ts"
import { node, play } from "./PlayedRun.ts"

/** What the node of the tests does when it is called; a text of any length, or nothing soon. */
type Answer = number | "never"

const pure = (answer: () => Answer) =>
  define({
    key: "pure",
    effects: "none",
    inputs: { input: Schema.optionalKey(Json) },
    outputs: { output: Json },
    run: () => {
      const length = answer()
      return length === "never" ? Effect.never : Effect.succeed({ output: "x".repeat(length) })
    },
  })

const parent: ParentRun = {
  runId: RunId.make("run_0"),
  nodeId: "each",
  index: 3,
  rootRunId: RunId.make("run_0"),
  depth: 1,
}

const webhook: Webhook = {
  url: "https://a.example/",
  origin: "https://a.example:443",
  events: null,
  scope: "tree",
  metadata: null,
  headers: null,
}

/** A run of a body of two nodes, one behind the other. */
const childOf = (different: Different = {}) => {
  const nodes = [node("a", "pure"), node("b", "pure")]
  const { graph, stored } = play(nodes, ["a -> b"], { ...different, run: { parent, webhook } })
  const body = { definition: stored.definition, graph: Result.succeed(graph), compiled: graph }
  return { ...stored, body: { ...body, isPlain: true, vain: 0 } }
}

/** Computes runs with this handler; notes whose handlers were called, and what was stored. */
const bench = (answer: () => Answer, limits: Partial<Limits> = {}) => {
  const noted = { calls: 0, ended: 0, runs: new Set<string>(), stored: 0 }
  const watchdog = {
    began: ({ runId }: { readonly runId: string }) => {
      noted.runs.add(runId)
      return (noted.calls += 1)
    },
    entered: () => {},
    left: () => {},
    ended: () => void (noted.ended += 1),
  }
  const values = {
    memory: new ValueMemory(1_000_000),
    write: () => Effect.sync(() => assert.fail(`stored ${(noted.stored += 1)} values`)),
    load: () => Effect.undefined,
  }
  const made = Effect.gen(function* () {
    const [clock, types, children] = [yield* Clock.Clock, yield* NodeTypes, yield* CurrentChildren]
    const [evaluator, secrets] = [yield* CurrentEvaluator, yield* CurrentSecrets]
    const more = {
      values,
      handlers: new Handlers(watchdog),
      children,
      links: undefined,
      computeRun,
    }
    const shared = { types, clock, evaluator, secrets, ...more }
    const environment = { limits: { ...defaultLimits, ...limits }, now: 5, random: () => 0.5 }
    return (child: ReturnType<typeof childOf>) => computeRun(shared, child, environment)
  }).pipe(Effect.provide(NodeTypes.layer(pure(answer))))
  return Effect.map(made, (compute) => ({ compute, noted }))
}

describe("computeRun", () => {
  it.effect("gives the run as it has ended, with its rows, events and deliveries", () =>
    Effect.gen(function* () {
      const { compute, noted } = yield* bench(() => 1)
      const { deliveries, events, nodeRuns, run } = compute(childOf())!
      assert.deepInclude(run, { status: "COMPLETED", revision: 1, owner: null, sequence: 4 })
      assert.deepStrictEqual(
        nodeRuns?.map(({ nodeId, sequence, status }) => [nodeId, sequence, status]),
        [
          ["a", 2, "COMPLETED"],
          ["b", 3, "COMPLETED"],
        ],
      )
      assert.deepStrictEqual(
        events?.map(({ sequence, type }) => [sequence, type]),
        [
          [1, "run.started"],
          [4, "run.completed"],
        ],
      )
      assert.strictEqual(deliveries?.length, 4)
      assert.strictEqual(noted.calls, noted.ended)
    }),
  )

  it.effect("calls its handlers for the run of the loop, which has an owner", () =>
    Effect.gen(function* () {
      const { compute, noted } = yield* bench(() => 1)
      compute(childOf())
      assert.deepStrictEqual([...noted.runs], ["run_0"])
    }),
  )

  it.effect("gives nothing for a handler that goes on, and interrupts it", () =>
    Effect.gen(function* () {
      const { compute, noted } = yield* bench(() => "never")
      assert.isUndefined(compute(childOf()))
      yield* Effect.yieldNow
      assert.deepStrictEqual([noted.calls, noted.ended], [1, 1])
    }),
  )

  it.effect("gives nothing for a large value, which is not stored", () =>
    Effect.gen(function* () {
      const { compute, noted } = yield* bench(() => 100_000)
      assert.isUndefined(compute(childOf()))
      assert.strictEqual(noted.stored, 0)
    }),
  )

  it.effect("gives nothing for a body with more nodes than one step computes", () =>
    Effect.gen(function* () {
      const { compute } = yield* bench(() => 1, { nodesPerStep: 1 })
      assert.isUndefined(compute(childOf()))
    }),
  )

  it.effect("does not try a body again after three runs in a row that did not end at once", () =>
    Effect.gen(function* () {
      let answer: Answer = "never"
      const { compute, noted } = yield* bench(() => answer)
      const child = childOf()
      for (const each of ["never", "never", 1, "never", "never", "never", 1] as const) {
        answer = each
        compute(child)
      }
      // The one that ended has two nodes.
      assert.strictEqual(noted.calls, 7)
    }),
  )

  it.effect("computes no body that reaches something outside", () =>
    Effect.gen(function* () {
      const { compute, noted } = yield* bench(() => 1)
      const { body, ...child } = childOf()
      assert.isUndefined(compute({ ...child, body: { ...body, isPlain: false } }))
      assert.strictEqual(noted.calls, 0)
    }),
  )
})
