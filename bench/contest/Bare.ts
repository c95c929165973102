// The ceiling: a bare loop that writes the same rows and sends their values, with as many
// statements on their way at the same time as the argument says.
import { Postgres, Stores } from "@millrace/postgres"
import { Effect, Layer, ManagedRuntime, Redacted } from "effect"
import type { Layers } from "../Ceiling.ts"
import { completeWhile, latencies } from "../Ceiling.ts"
import type { Contestant, Measured, Workload } from "./Contestant.ts"
import { atOnce, offer, percentile, timer } from "./Contestant.ts"

const layersOf: { readonly [workload: string]: Layers } = {
  W1: Array.from({ length: 10 }, () => 1),
  W2: [1, 50, 1],
  W4: [1],
}

const flushes = Number(process.argv[2] ?? 1)

const alone = Effect.fnUntraced(function* (millis: number) {
  const isOver = timer(millis)
  const times: Array<number> = []
  while (!isOver()) times.push(...(yield* latencies(1)))
  const value = percentile(times, 0.5)
  return { steps: times.length, value, p99: percentile(times, 0.99) } satisfies Measured
})

const flushed = Effect.fnUntraced(function* (layers: Layers, millis: number) {
  const begun = performance.now()
  const isOver = timer(millis)
  const how = { atOnce, flushes, values: "sent" } as const
  const runs = yield* completeWhile(layers, () => !isOver(), how)
  const steps = runs * layers.reduce((sum, width) => sum + width, 0)
  return { steps, value: (steps * 1_000) / (performance.now() - begun) } satisfies Measured
})

const open = async (url: string): Promise<Contestant> => {
  const database = Postgres.layer({ url: Redacted.make(url) })
  const runtime = ManagedRuntime.make(Layer.provideMerge(Stores.layer, database))
  await runtime.runPromise(Effect.void)
  const measure = (workload: Workload, millis: number) => {
    const layers = layersOf[workload]
    return runtime.runPromise(layers === undefined ? alone(millis) : flushed(layers, millis))
  }
  return { measure, close: () => runtime.dispose() }
}

offer(open)
