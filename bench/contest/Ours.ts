// Millrace as an application has it: `createEngine` over the Postgres store, all by default.
//
// With the argument `memory` it may have 10,000 runs in flight, to see what one of them takes.
import { createEngine, defineNode, postgres } from "millrace"
import type { NodeType } from "millrace"
import { z } from "zod"
import type { Drawing } from "../Workloads.ts"
import { chain, fan } from "../Workloads.ts"
import type { Contestant, Graph, Measured } from "./Contestant.ts"
import { measuring, offer, payload, slowStep } from "./Contestant.ts"

const inputs = { input: z.unknown().optional() }
const outputs = { output: z.unknown() }

const step = async (wait: () => Promise<unknown>) => {
  await wait()
  return { output: payload }
}

/** The node types; a step `held` goes on until the promise resolves. */
const nodesWith = (held: Promise<void>): ReadonlyArray<NodeType> => [
  defineNode({ type: "step", inputs, outputs, run: () => ({ output: payload }) }),
  defineNode({ type: "pure", inputs, outputs, effects: "none", run: () => ({ output: payload }) }),
  defineNode({ type: "slow", inputs, outputs, run: () => step(slowStep) }),
  defineNode({ type: "held", inputs, outputs, run: () => step(() => held) }),
  defineNode({
    type: "gather",
    inputs: { input: z.array(z.unknown()) },
    multiple: ["input"],
    outputs,
    run: ({ inputs }) => ({ output: inputs.input.length }),
  }),
]

const drawings = {
  chain: chain(10),
  fan: fan(50),
  single: chain(1),
  pure: chain(10, "pure"),
  slow: chain(10, "slow"),
}

const heldRuns = 10_000
const limits = { runsAtOnce: 2 * heldRuns, runsPerAccountPercent: 100 }

const heap = (): number => {
  globalThis.gc!()
  globalThis.gc!()
  return process.memoryUsage().heapUsed
}

const open = async (url: string): Promise<Contestant> => {
  const held = Promise.withResolvers<void>()
  const engine = await createEngine({
    store: postgres(url),
    nodes: nodesWith(held.promise),
    ...(process.argv[2] === "memory" ? { limits } : {}),
  })
  const save = async (name: string, drawing: Drawing) =>
    (await engine.workflows.create({ name, ...drawing })).id
  const ids = Object.fromEntries(
    await Promise.all(
      Object.entries(drawings).map(async ([name, drawing]) => [name, await save(name, drawing)]),
    ),
  ) as { readonly [G in Graph]: string }

  /** Bytes of heap for each of so many runs, each in one handler that goes on. */
  const memory = async (): Promise<Measured> => {
    const workflowId = await save("held", chain(1, "held"))
    const begin = async () => void (await engine.runs.start({ workflowId }))
    // What is there after the first runs is there for good.
    for (let index = 0; index < 100; index++) await begin()
    const before = heap()
    for (let index = 0; index < heldRuns; index += 100) {
      await Promise.all(Array.from({ length: 100 }, begin))
    }
    const value = (heap() - before) / heldRuns
    held.resolve()
    return { steps: heldRuns, value }
  }

  const measure = measuring(async (graph) => {
    const handle = await engine.runs.start({ workflowId: ids[graph] })
    const ended = handle.wait().then(({ status }) => {
      if (status !== "COMPLETED") throw new Error(`A run is ${status}`)
    })
    return { ended }
  })
  return {
    measure: (workload, millis) => (workload === "memory" ? memory() : measure(workload, millis)),
    close: () => engine.close(),
  }
}

offer(open)
