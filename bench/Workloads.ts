// The workloads of the benchmark, over any store: the same graphs, counts and concurrency for all.
//
// Node bodies are trivial and return about 200 bytes of JSON, so that what is measured is the
// engine and its store. Every workload checks that what it ran has completed.
import type { RunId, WorkflowId } from "@millrace/core/domain/Id"
import { AccountId } from "@millrace/core/domain/Id"
import type { Edge, Node } from "@millrace/core/domain/Workflow"
import { define } from "@millrace/core/engine/NodeDefinition"
import { Runs } from "@millrace/core/engine/Runs"
import { Workflows } from "@millrace/core/engine/Workflows"
import { Json } from "@millrace/core/domain/Json"
import { Effect, Schema } from "effect"
import { payload } from "./contest/Contestant.ts"

export const account = AccountId.make("acc_bench")

export const step = define({
  key: "step",
  inputs: { input: Schema.optionalKey(Json) },
  outputs: { output: Json },
  run: () => Effect.succeed({ output: payload }),
})

/** The same at a price. */
export const paid = define({
  key: "paid",
  inputs: { input: Schema.optionalKey(Json) },
  outputs: { output: Json },
  credits: 1,
  run: () => Effect.succeed({ output: payload }),
})

/** Takes many edges into one port. */
export const gather = define({
  key: "gather",
  inputs: { input: Schema.optionalKey(Schema.Array(Json)) },
  multiple: ["input"],
  outputs: { output: Json },
  run: ({ input = [] }) => Effect.succeed({ output: input.length }),
})

const node = (id: string, type = "step"): Node => ({ id, type, position: { x: 0, y: 0 } })
const edge = (source: string, target: string): Edge => ({
  id: `${source}-${target}`,
  source,
  target,
})

export interface Drawing {
  readonly nodes: ReadonlyArray<Node>
  readonly edges: ReadonlyArray<Edge>
}

export const chain = (length: number, type = "step"): Drawing => ({
  nodes: Array.from({ length }, (_, index) => node(`n${index}`, type)),
  edges: Array.from({ length: length - 1 }, (_, index) => edge(`n${index}`, `n${index + 1}`)),
})

/** One node, `width` in parallel, one node. */
export const fan = (width: number): Drawing => {
  const middle = Array.from({ length: width }, (_, index) => `m${index}`)
  return {
    nodes: [node("first"), ...middle.map((id) => node(id)), node("last", "gather")],
    edges: middle.flatMap((id) => [edge("first", id), edge(id, "last")]),
  }
}

export const save = (drawing: Drawing) =>
  Effect.gen(function* () {
    const workflows = yield* Workflows
    const content = { name: "Bench", description: null, thumbnailUrl: null, ...drawing }
    return (yield* workflows.create(account, content)).id
  })

/** Waits for the end of a run. */
export const finished = (id: RunId) =>
  Effect.gen(function* () {
    const runs = yield* Runs
    const { run } = yield* runs.wait(account, id)
    if (run.status !== "COMPLETED") return yield* Effect.die(new Error(String(run.error)))
  })

/** Runs a workflow `count` times to its end, `atOnce` at a time. */
export const complete = (workflowId: WorkflowId, count: number, atOnce: number) =>
  Effect.gen(function* () {
    const runs = yield* Runs
    const one = Effect.flatMap(runs.start(account, { workflowId }), ({ id }) => finished(id))
    yield* Effect.forEach(Array.from({ length: count }), () => one, {
      concurrency: atOnce,
      discard: true,
    })
  })

/** Starts a workflow `count` times, `atOnce` at a time, and gives the runs without waiting. */
export const accept = (workflowId: WorkflowId, count: number, atOnce: number) =>
  Effect.gen(function* () {
    const runs = yield* Runs
    const one = Effect.map(runs.start(account, { workflowId }), ({ id }) => id)
    return yield* Effect.forEach(Array.from({ length: count }), () => one, { concurrency: atOnce })
  })

/** Milliseconds from start to result of a workflow that runs alone, `count` times. */
export const latencies = (workflowId: WorkflowId, count: number) =>
  Effect.gen(function* () {
    const runs = yield* Runs
    const times: Array<number> = []
    for (let index = 0; index < count; index++) {
      const begin = performance.now()
      const { id } = yield* runs.start(account, { workflowId })
      yield* finished(id)
      times.push(performance.now() - begin)
    }
    return times
  })
