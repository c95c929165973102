/**
 * What every store must do that takes part in transactions of callers: what a transaction stores
 * is there once it is committed. A rollback leaves nothing behind, neither in the store nor in
 * what the process remembers of it.
 */
import { assert, describe, type Vitest } from "@effect/vitest"
import { RunStore } from "@millrace/core/ports/RunStore"
import { Effect, Option } from "effect"
import * as Samples from "../Samples.ts"

/** Executes calls of the store in a transaction, which is rolled back if they fail. */
export type Transact<R> = <A, E>(
  calls: Effect.Effect<A, E, RunStore>,
) => Effect.Effect<A, unknown, RunStore | R>

const makeStart = Effect.gen(function* () {
  const samples = yield* Samples.make
  const run = samples.run()
  const definition = Samples.definitionFor(run)
  const idempotencyKey = { key: run.id, bodyHash: "hash" }
  const commit = Samples.newRun(run, {
    expected: { _tag: "New", definition, idempotencyKey },
  })
  const stored = RunStore.use((store) =>
    Effect.all({
      record: store.find(run.accountId, run.id),
      start: store.findStart(run.accountId, run.id),
    }),
  )
  return {
    run: commit.run,
    definition,
    commit: RunStore.use((store) => store.commit(commit)),
    stored,
  }
})

/** The tests of transactions. */
export const transactionSuite = <R>(
  it: Vitest.MethodsNonLive<RunStore | R>,
  transact: Transact<R>,
): void => {
  describe("A transaction of a caller", () => {
    it.effect("stores a run with its definition and its key when it is committed", () =>
      Effect.gen(function* () {
        const { commit, definition, run, stored } = yield* makeStart
        yield* transact(commit)
        const { record, start } = yield* stored
        assert.deepStrictEqual(Option.getOrThrow(record).run, run)
        assert.deepStrictEqual(Option.getOrThrow(record).definition, definition)
        assert.strictEqual(Option.getOrThrow(start).runId, run.id)
      }),
    )

    it.effect("leaves nothing when it is rolled back, and the same start works after it", () =>
      Effect.gen(function* () {
        const { commit, definition, stored } = yield* makeStart
        const failed = transact(Effect.andThen(commit, Effect.fail("rolled back")))
        assert.strictEqual(yield* Effect.flip(failed), "rolled back")
        const { record, start } = yield* stored
        assert.deepStrictEqual([record, start], [Option.none(), Option.none()])
        yield* commit
        assert.deepStrictEqual(Option.getOrThrow((yield* stored).record).definition, definition)
      }),
    )
  })
}
