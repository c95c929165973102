/**
 * What telemetry is told of a store. What a collector gets of an engine is in the tests of the
 * front door.
 */
import { assert, it } from "@effect/vitest"
import * as Samples from "@millrace/conformance/Samples"
import { RunStore } from "@millrace/core/ports/RunStore"
import * as WatchedStores from "../src/internal/WatchedStores.ts"
import * as Stores from "@millrace/memory/Stores"
import { Context, Effect, Layer, Metric, Tracer } from "effect"
import { TestClock } from "effect/testing"

it.effect("Telemetry is told every ten seconds how many runs wait for a process", () => {
  const registry = Context.make(Metric.MetricRegistry, new Map())
  const told = Effect.map(Effect.provideContext(Metric.snapshot, registry), (all) =>
    all.filter(({ id }) => id === "millrace.runs.queued").map(({ state }) => state),
  )
  return Effect.gen(function* () {
    const store = yield* RunStore
    const samples = yield* Samples.make
    yield* TestClock.adjust("1 second")
    assert.deepStrictEqual(yield* told, [{ value: 0 }])
    for (let n = 0; n < 3; n++) yield* store.commit(Samples.newRun(samples.run()))
    yield* TestClock.adjust("10 seconds")
    assert.deepStrictEqual(yield* told, [{ value: 3 }])
    yield* store.claim({ runner: samples.runner(), leaseMillis: 60_000, limit: 2 })
    yield* TestClock.adjust("10 seconds")
    assert.deepStrictEqual(yield* told, [{ value: 1 }])
  }).pipe(Effect.provide(WatchedStores.layer(registry).pipe(Layer.provideMerge(Stores.layer))))
})

it.effect("Telemetry counts the ends of runs that their parents have computed", () => {
  const registry = Context.make(Metric.MetricRegistry, new Map()).pipe(
    Context.add(Tracer.Tracer, Tracer.Tracer.defaultValue()),
  )
  const sums = Effect.map(Effect.provideContext(Metric.snapshot, registry), (all) =>
    ["millrace.runs.started", "millrace.runs.ended"].map((name) =>
      all
        .filter(({ id }) => id === name)
        .reduce((sum, { state }) => sum + (state as { count: number }).count, 0),
    ),
  )
  return Effect.gen(function* () {
    const store = yield* RunStore
    const samples = yield* Samples.make
    const parent = samples.run()
    yield* store.commit(Samples.newRun(parent))
    const ended = samples.run({ status: "COMPLETED", startedAt: 1, finishedAt: 2 })
    const starts = [ended, samples.run()].map((run) => ({
      run,
      definition: Samples.definitionFor(run),
    }))
    yield* store.commit(Samples.step(parent, {}, { starts }))
    assert.deepStrictEqual(yield* sums, [3, 1])
  }).pipe(Effect.provide(WatchedStores.layer(registry).pipe(Layer.provideMerge(Stores.layer))))
})
