// The engine on Postgres with fsync on, beside what a bare loop over the same driver reaches, and
// the engine in memory. All of it in one process, in interleaved rounds.
import { CurrentLimits, defaultLimits } from "@millrace/core/domain/Limits"
import * as Engine from "@millrace/core/engine/Engine"
import { NodeTypes } from "@millrace/core/engine/NodeTypes"
import * as Memory from "@millrace/memory/Stores"
import { Postgres, Stores } from "@millrace/postgres"
import { Effect, Layer, References } from "effect"
import * as TestPostgres from "../packages/postgres/test/TestPostgres.ts"
import * as Ceiling from "./Ceiling.ts"
import type { Figure } from "./Meter.ts"
import * as Meter from "./Meter.ts"
import * as Workloads from "./Workloads.ts"

/** Figures by name, one per round. */
export type Samples = Map<string, Array<Figure>>

/** Keeps a figure. */
export const note = (samples: Samples, name: string, figure: Figure) => {
  samples.set(name, [...(samples.get(name) ?? []), figure])
}

const middle = (values: ReadonlyArray<number>, share: number): number =>
  values.toSorted((left, right) => left - right)[Math.floor(values.length * share)] ?? 0

const types = NodeTypes.layer(Workloads.step, Workloads.paid, Workloads.gather)
const limits = Layer.succeed(CurrentLimits, { ...defaultLimits, runsAtOnce: 10_000 })

const drawings = Effect.all({
  chain: Workloads.save(Workloads.chain(10)),
  fan: Workloads.save(Workloads.fan(50)),
  single: Workloads.save(Workloads.chain(1)),
})

const chainOfTen: Ceiling.Layers = Array.from({ length: 10 }, () => 1)

const sizes = { chain: 1_000, fan: 100, starts: 5_000, singles: 200 }
/** Those that run alone take turns with the ceiling's, because what the disk does changes soon. */
const singlesPerTurn = 20
const chainNodes = sizes.chain * 10
const fanNodes = sizes.fan * 52

/** One round on Postgres: each workload beside its ceiling. */
const durableRound = (samples: Samples) =>
  Effect.gen(function* () {
    const { chain, fan, single } = yield* drawings
    const measure = <E, R>(
      name: string,
      units: number,
      nodes: number,
      work: Effect.Effect<unknown, E, R>,
    ) => Effect.map(Meter.onPostgres(units, nodes, work), (figure) => note(samples, name, figure))
    const { complete } = Workloads
    yield* measure("W1", chainNodes, chainNodes, complete(chain, sizes.chain, 100))
    yield* measure("W1 ceiling", chainNodes, chainNodes, Ceiling.complete(chainOfTen, 1_000, 100))
    const sent = Ceiling.complete(chainOfTen, 1_000, 100, "sent")
    yield* measure("W1 ceiling, sent", chainNodes, chainNodes, sent)
    yield* measure("W2", fanNodes, fanNodes, complete(fan, sizes.fan, 100))
    yield* measure("W2 ceiling", fanNodes, fanNodes, Ceiling.complete([1, 50, 1], 100, 100))
    const { starts } = sizes
    const fanSent = Ceiling.complete([1, 50, 1], 100, 100, "sent")
    yield* measure("W2 ceiling, sent", fanNodes, fanNodes, fanSent)
    yield* measure("W4", starts, starts, Workloads.accept(single, starts, 100))
    yield* measure("W4 ceiling", starts, starts, Ceiling.complete([1], starts, 100))
    const [ours, bare]: [Array<number>, Array<number>] = [[], []]
    for (let turn = 0; turn < sizes.singles / singlesPerTurn; turn++) {
      ours.push(...(yield* Workloads.latencies(single, singlesPerTurn)))
      bare.push(...(yield* Ceiling.latencies(singlesPerTurn)))
    }
    for (const [name, times] of [
      ["W3", ours],
      ["W3 ceiling", bare],
    ] as const) {
      note(samples, `${name} p50`, { perSecond: middle(times, 0.5), cpu: 0 })
      note(samples, `${name} p99`, { perSecond: middle(times, 0.99), cpu: 0 })
    }
  })

const memoryRound = (samples: Samples) =>
  Effect.gen(function* () {
    const { chain, fan } = yield* drawings
    const { complete } = Workloads
    const w1 = yield* Meter.inMemory(chainNodes, chainNodes, complete(chain, sizes.chain, 100))
    note(samples, "W5 chain", w1)
    const w2 = yield* Meter.inMemory(fanNodes, fanNodes, complete(fan, sizes.fan, 100))
    note(samples, "W5 fan", w2)
  })

/** The engine over these stores. */
export const engineOn = <S, E, R>(
  stores: Layer.Layer<Engine.Stores | S, E, R>,
  bounds: Layer.Layer<never> = limits,
) =>
  Engine.layerWithoutWebhooks.pipe(
    Layer.provide(types),
    Layer.provideMerge(stores),
    Layer.provideMerge(bounds),
    Layer.provideMerge(Layer.succeed(References.MinimumLogLevel, "Warn")),
  )

const database = Layer.unwrap(
  Effect.map(TestPostgres.ownServer("durable", Meter.counting), (url) => Postgres.layer({ url })),
)

/** A database of its own that syncs and counts. */
export const postgres = Stores.layer.pipe(
  Layer.provideMerge(Meter.layerCounting),
  Layer.provideMerge(database),
)

/** Measures everything so many times; the first round warms up and is thrown away. */
export const measure = (rounds: number): Promise<Samples> =>
  Effect.gen(function* () {
    const durable = yield* Layer.build(engineOn(postgres))
    const memory = yield* Layer.build(engineOn(Memory.layer))
    let samples: Samples = new Map()
    for (let round = -1; round < rounds; round++) {
      if (round === 0) samples = new Map()
      yield* Effect.provideContext(durableRound(samples), durable)
      yield* Effect.provideContext(memoryRound(samples), memory)
      process.stderr.write(round < 0 ? "warmed up\n" : `round ${round + 1} of ${rounds}\n`)
    }
    return samples
  }).pipe(Effect.scoped, Effect.runPromise)

/** The median of a figure over all rounds. */
export const median = (samples: Samples, name: string): Figure => {
  const figures = samples.get(name) ?? []
  const of = (key: keyof Figure) =>
    middle(
      figures.map((figure) => figure[key] ?? 0),
      0.5,
    )
  return {
    perSecond: of("perSecond"),
    walBytesPerNode: of("walBytesPerNode"),
    statementsPerNode: of("statementsPerNode"),
    cpu: of("cpu"),
    postgresCpu: of("postgresCpu"),
  }
}
