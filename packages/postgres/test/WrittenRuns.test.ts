/**
 * What a process remembers of the runs that it has written makes no difference to what is stored.
 */
import { assert, layer } from "@effect/vitest"
import { Samples } from "@millrace/conformance"
import type { Run } from "@millrace/core/domain/Run"
import { RunStore } from "@millrace/core/ports/RunStore"
import { Postgres, Stores } from "@millrace/postgres"
import { Context, Effect, Layer, Option } from "effect"
import { SqlClient } from "effect/sql/SqlClient"
import * as TestPostgres from "./TestPostgres.ts"

/** The same database for another process. */
class Other extends Context.Service<Other, RunStore["Service"]>()("Other") {}

const layerBoth = Layer.unwrap(
  Effect.map(TestPostgres.url, (url) => {
    const stores = Layer.fresh(Stores.layer).pipe(Layer.provideMerge(Postgres.layer({ url })))
    const other = Layer.effect(Other, RunStore).pipe(Layer.provide(Layer.fresh(stores)))
    return Layer.provideMerge(other, stores)
  }),
)

/** What only some commits change of a run, in two forms. */
const rare: ReadonlyArray<Partial<Run>> = [
  { startedAt: 5, heldCredits: 5, actualCredits: 5, waiting: [] },
  {
    startedAt: 7,
    heldCredits: 7,
    actualCredits: 7,
    waiting: [{ ordinal: 0, attempt: 1, startedAt: 1, due: 5 }],
  },
]

layer(layerBoth)("Commits of a run", (test) => {
  test.effect("store all that changes, also what another process wrote meanwhile", () =>
    Effect.gen(function* () {
      const samples = yield* Samples.make
      const [runs, other, runner] = [yield* RunStore, yield* Other, samples.runner()]
      let run = samples.run({ status: "RUNNING", owner: runner })
      yield* runs.commit(Samples.newRun(run))
      for (const [n, store] of [runs, other, runs, runs, other, other, runs].entries()) {
        const taken = yield* store.takeOver(samples.account, run.id, runner)
        run = Option.getOrThrow(taken).run
        for (const sequence of [1, 2, 3]) {
          const commit = Samples.step(run, { ...rare[n % 2], sequence: n * 3 + sequence })
          yield* store.commit(commit)
          run = commit.run
          const found = Option.getOrThrow(yield* store.find(samples.account, run.id))
          assert.deepStrictEqual(found.run, run)
        }
      }
    }),
  )

  test.effect("are stale once another process has taken the run over", () =>
    Effect.gen(function* () {
      const samples = yield* Samples.make
      const [runs, other, runner] = [yield* RunStore, yield* Other, samples.runner()]
      const run = samples.run({ status: "RUNNING", owner: runner })
      yield* runs.commit(Samples.newRun(run))
      const next = Samples.step(run, { sequence: 1 })
      yield* runs.commit(next)
      const taken = yield* other.takeOver(samples.account, run.id, samples.runner())
      const late = Samples.step(next.run, { sequence: 2 }, { nodeRuns: [Samples.nodeRun("a")] })
      assert.strictEqual((yield* Effect.flip(runs.commit(late)))._tag, "StaleRun")
      const found = yield* runs.find(samples.account, run.id)
      assert.deepStrictEqual(found, taken)
    }),
  )

  test.effect("go on where a transaction of the caller was undone", () =>
    Effect.gen(function* () {
      const samples = yield* Samples.make
      const [sql, runs] = [yield* SqlClient, yield* RunStore]
      const run = samples.run({ status: "RUNNING", owner: samples.runner() })
      const first = Samples.newRun(run)
      const next = Samples.step(run, { heldCredits: 5 })
      const both = Effect.andThen(runs.commit(first), runs.commit(next))
      yield* Effect.flip(sql.withTransaction(Effect.andThen(both, Effect.fail("no"))))
      yield* runs.commit(Samples.newRun(samples.run()))
      yield* runs.commit(first)
      yield* runs.commit(next)
      const last = Samples.step(next.run, { status: "FAILED" })
      yield* runs.commit(last)
      const found = Option.getOrThrow(yield* runs.find(samples.account, run.id))
      assert.deepStrictEqual(found.run, last.run)
    }),
  )
})
