/**
 * What every run store must do with the name of a start: it is taken together with the run or not
 * at all, by one of however many.
 *
 * Leaves out: how long a name holds, which would need a clock that can be moved.
 */
import { assert, describe, type Vitest } from "@effect/vitest"
import type { IdempotencyKey } from "@millrace/core/domain/Idempotency"
import type { Run } from "@millrace/core/domain/Run"
import { RunStore } from "@millrace/core/ports/RunStore"
import { Effect, Option } from "effect"
import * as Samples from "../Samples.ts"

type Tests = Vitest.MethodsNonLive<RunStore>

const idempotencyKey = (key: string, bodyHash = "hash"): IdempotencyKey => ({ key, bodyHash })

/** A run's first commit, under a name. */
const newRun = (run: Run, key: IdempotencyKey) =>
  Samples.newRun(run, {
    expected: { _tag: "New", definition: Samples.definitionFor(run), idempotencyKey: key },
    nodeRuns: [Samples.nodeRun("a")],
  })

const isApplied = (run: Run, key: IdempotencyKey) =>
  RunStore.use((store) =>
    store.commit(newRun(run, key)).pipe(
      Effect.as(true),
      Effect.catchTag("StaleRun", () => Effect.succeed(false)),
    ),
  )

const exists = (run: Run) =>
  RunStore.use((store) => Effect.map(store.find(run.accountId, run.id), Option.isSome))

const found = (run: Run, key: string) =>
  RunStore.use((store) => Effect.map(store.findStart(run.accountId, key), Option.getOrUndefined))

const names = (it: Tests): void => {
  it.effect("remembers which run was started under a name, and nothing of others", () =>
    Effect.gen(function* () {
      const samples = yield* Samples.make
      const run = samples.run()
      assert.isUndefined(yield* found(run, "order 7"))
      assert.isTrue(yield* isApplied(run, idempotencyKey("order 7", "abc")))
      assert.deepStrictEqual(yield* found(run, "order 7"), { runId: run.id, bodyHash: "abc" })
      for (const other of ["order", "Order 7", "order 7 ", "ORDER 7", "%"]) {
        assert.isUndefined(yield* found(run, other))
      }
      assert.isUndefined(yield* found({ ...run, accountId: samples.stranger }, "order 7"))
    }),
  )

  it.effect("refuses a second run under a name, whatever it was for, and writes nothing", () =>
    Effect.gen(function* () {
      const samples = yield* Samples.make
      const [first, same, other] = [samples.run(), samples.run(), samples.run()]
      assert.isTrue(yield* isApplied(first, idempotencyKey("k", "abc")))
      assert.isFalse(yield* isApplied(same, idempotencyKey("k", "abc")))
      assert.isFalse(yield* isApplied(other, idempotencyKey("k", "def")))
      assert.deepStrictEqual(yield* found(first, "k"), { runId: first.id, bodyHash: "abc" })
      assert.isFalse(yield* exists(same))
      assert.isFalse(yield* exists(other))
    }),
  )

  it.effect("takes no name for a run that exists already", () =>
    Effect.gen(function* () {
      const samples = yield* Samples.make
      const store = yield* RunStore
      const run = samples.run()
      yield* store.commit(Samples.newRun(run))
      assert.isFalse(yield* isApplied(run, idempotencyKey("k")))
      assert.isUndefined(yield* found(run, "k"))
      assert.isTrue(yield* isApplied(samples.run(), idempotencyKey("k")))
    }),
  )

  it.effect("keeps the names of two accounts apart", () =>
    Effect.gen(function* () {
      const samples = yield* Samples.make
      const own = samples.run()
      const foreign = samples.run({ accountId: samples.stranger })
      assert.isTrue(yield* isApplied(own, idempotencyKey("k", "abc")))
      assert.isTrue(yield* isApplied(foreign, idempotencyKey("k", "def")))
      assert.deepStrictEqual(yield* found(own, "k"), { runId: own.id, bodyHash: "abc" })
      assert.deepStrictEqual(yield* found(foreign, "k"), { runId: foreign.id, bodyHash: "def" })
    }),
  )
}

const races = (it: Tests): void => {
  it.effect("lets exactly one of many concurrent starts under a name win", () =>
    Effect.gen(function* () {
      const samples = yield* Samples.make
      const runs = Array.from({ length: 300 }, () => samples.run())
      const outcomes = yield* Effect.forEach(runs, (run) => isApplied(run, idempotencyKey("k")), {
        concurrency: "unbounded",
      })
      assert.strictEqual(outcomes.filter(Boolean).length, 1)
      const winner = runs[outcomes.indexOf(true)]!
      assert.strictEqual((yield* found(winner, "k"))?.runId, winner.id)
      const stored = yield* Effect.forEach(runs, exists)
      assert.deepStrictEqual(stored, outcomes)
    }),
  )

  it.effect("answers each of many starts for itself, with names and without", () =>
    Effect.gen(function* () {
      const samples = yield* Samples.make
      const store = yield* RunStore
      const runs = Array.from({ length: 120 }, () => samples.run())
      const outcomes = yield* Effect.forEach(
        runs,
        (run, n) =>
          n % 3 === 0
            ? Effect.as(store.commit(Samples.newRun(run)), true)
            : isApplied(run, idempotencyKey(`k${n % 40}`)),
        { concurrency: "unbounded" },
      )
      assert.isTrue(outcomes.every((outcome, n) => n % 3 !== 0 || outcome))
      for (let k = 0; k < 40; k++) {
        const rivals = runs.filter((_, n) => n % 3 !== 0 && n % 40 === k)
        const won = rivals.filter((run) => outcomes[runs.indexOf(run)])
        assert.strictEqual(won.length, 1)
      }
    }),
  )
}

/** Registers the tests. */
export const idempotencyKeySuite = (it: Tests): void => {
  describe("RunStore.findStart", () => {
    names(it)
    races(it)
  })
}
