/**
 * A process that opens a data folder and commits runs to it until it is killed.
 *
 * Prints the identifier of each run after its commit was acknowledged.
 */
import * as Samples from "@millrace/conformance/Samples"
import { RunStore } from "@millrace/core/ports/RunStore"
import { Pglite, Stores } from "@millrace/postgres"
import { Effect, Layer } from "effect"

const folder = process.argv[2] ?? ""

const write = Effect.gen(function* () {
  const samples = yield* Samples.make
  const store = yield* RunStore
  process.stdout.write(`${samples.account}\n`)
  const commit = Effect.gen(function* () {
    const run = samples.run({ sequence: 1 })
    const nodeRuns = [Samples.nodeRun("a")]
    yield* store.commit(Samples.newRun(run, { nodeRuns, events: [Samples.event(run, 1)] }))
    process.stdout.write(`${run.id}\n`)
  })
  yield* Effect.all([Effect.forever(commit), Effect.forever(commit)], { concurrency: 2 })
})

const stores = Stores.layer.pipe(Layer.provide(Pglite.layer(folder)))
await Effect.runPromise(Effect.provide(write, stores))
