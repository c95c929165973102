// Reruns of many runs under crashes and races: each run once, and one answer for one key.
import { assert, describe, it } from "@effect/vitest"
import { RunId } from "@millrace/core/domain/Id"
import type { IdempotencyKey } from "@millrace/core/domain/Idempotency"
import type { Run } from "@millrace/core/domain/Run"
import { RunStore } from "@millrace/core/ports/RunStore"
import { StorageError } from "@millrace/core/ports/StorageError"
import * as Memory from "@millrace/memory/Stores"
import { Effect } from "effect"
import { InvalidGraph } from "../../src/engine/Refusals.ts"
import { rerunFailed } from "../../src/engine/internal/RerunFailed.ts"
import { newRun } from "./PlayedRun.ts"
import { account } from "./TestEngine.ts"

const definition = { id: "wf@1", nodes: [], edges: [], settings: {} }

/** A run that failed at this time. */
const failedAt = (name: string, finishedAt: number): Run => ({
  ...newRun,
  accountId: account,
  id: RunId.make(name),
  status: "FAILED",
  createdAt: 0,
  finishedAt,
})

const insertInto = (store: RunStore["Service"], run: Run, idempotencyKey?: IdempotencyKey) =>
  store.commit({
    expected: { _tag: "New", definition, idempotencyKey },
    run: { ...run, revision: 1 },
    nodeRuns: [],
    rewritten: [],
    events: [],
    deliveries: [],
  })

/** Starts reruns at the time 10; `before` is done before each of them. */
const make = (before: (of: Run) => Effect.Effect<void, StorageError> = () => Effect.void) =>
  Effect.map(RunStore, (store) => {
    const counts = new Map<string, number>()
    const each = rerunFailed(store, (run, { idempotencyKey, runId }) =>
      Effect.gen(function* () {
        yield* before(run)
        yield* Effect.yieldNow
        const rerun = { ...newRun, accountId: account, id: runId, rerunOf: run.id, createdAt: 10 }
        const stored = insertInto(store, rerun, idempotencyKey)
        yield* Effect.catchTag(stored, "InsufficientCredits", Effect.die)
        counts.set(run.id, (counts.get(run.id) ?? 0) + 1)
      }),
    )
    const takeUp = (runs: ReadonlyArray<Run>, key?: string) =>
      each(account, runs, key === undefined ? undefined : { key, bodyHash: "body" })
    return { counts, takeUp }
  })

const started = (...names: ReadonlyArray<string>) =>
  names.map((name) => ({ runId: `${name}-r1`, rerunOf: name }))

describe("rerunFailed", () => {
  it.effect("goes on under its key where a failure of the store has stopped it", () =>
    Effect.gen(function* () {
      let isBroken = true
      const { counts, takeUp } = yield* make(({ id }) =>
        isBroken && id === "run_b"
          ? Effect.fail(new StorageError({ operation: "test", cause: "broken" }))
          : Effect.void,
      )
      const runs = [failedAt("run_a", 5), failedAt("run_b", 5)]
      assert.strictEqual((yield* Effect.flip(takeUp(runs, "k")))._tag, "StorageError")
      isBroken = false
      const later = failedAt("run_late", 11)
      const answer = yield* takeUp([later, ...runs], "k")
      assert.deepStrictEqual<unknown>(answer, { started: started("run_a", "run_b"), leftOut: [] })
      assert.deepStrictEqual(yield* takeUp([later, ...runs], "k"), answer)
      assert.deepStrictEqual([...counts.values()], [1, 1])
    }).pipe(Effect.provide(Memory.layer)),
  )

  it.effect("answers calls under one key alike that are made at the same time", () =>
    Effect.gen(function* () {
      const { counts, takeUp } = yield* make()
      const runs = [failedAt("run_a", 5), failedAt("run_b", 5), failedAt("run_c", 5)]
      const calls = [1, 2, 3].map(() => takeUp(runs, "k"))
      const answers = yield* Effect.all(calls, { concurrency: "unbounded" })
      const all = { started: started("run_a", "run_b", "run_c"), leftOut: [] }
      assert.deepStrictEqual<unknown>(answers, [all, all, all])
      assert.deepStrictEqual([...counts.values()], [1, 1, 1])
    }).pipe(Effect.provide(Memory.layer)),
  )

  it.effect("leaves out a run that somebody else takes up meanwhile", () =>
    Effect.gen(function* () {
      const store = yield* RunStore
      const { counts, takeUp } = yield* make(({ id }) =>
        Effect.gen(function* () {
          const rerun = { ...newRun, accountId: account, id: RunId.make(`${id}-r1`) }
          yield* Effect.orDie(insertInto(store, rerun))
        }),
      )
      assert.deepStrictEqual<unknown>(yield* takeUp([failedAt("run_a", 5)], "k"), {
        started: [],
        leftOut: [{ runId: "run_a", reason: "rerun", rerunId: "run_a-r1" }],
      })
      assert.strictEqual(counts.size, 0)
    }).pipe(Effect.provide(Memory.layer)),
  )

  it.effect("says why a run was refused, and goes on with the next one", () =>
    Effect.gen(function* () {
      const store = yield* RunStore
      const starts = rerunFailed(store, (run, { idempotencyKey, runId }) => {
        if (run.id === "run_a") return Effect.fail(new InvalidGraph({ problems: ["no way in"] }))
        const rerun = { ...newRun, accountId: account, id: runId, createdAt: 10 }
        return Effect.orDie(insertInto(store, rerun, idempotencyKey))
      })
      const runs = [failedAt("run_a", 5), failedAt("run_b", 5)]
      const answer = yield* starts(account, runs, { key: "k", bodyHash: "body" })
      assert.deepStrictEqual<unknown>(answer, {
        started: started("run_b"),
        leftOut: [{ runId: "run_a", reason: "refused", message: "no way in" }],
      })
    }).pipe(Effect.provide(Memory.layer)),
  )

  it.effect("leaves out what was rerun before it, with a key and without one", () =>
    Effect.gen(function* () {
      const { counts, takeUp } = yield* make()
      const [first, second] = [failedAt("run_a", 5), failedAt("run_b", 5)]
      yield* takeUp([first])
      const leftOut = [{ runId: "run_a", reason: "rerun", rerunId: "run_a-r1" }]
      const without: unknown = yield* takeUp([first])
      assert.deepStrictEqual(without, { started: [], leftOut })
      const withKey: unknown = yield* takeUp([first, second], "k")
      assert.deepStrictEqual(withKey, { started: started("run_b"), leftOut })
      assert.deepStrictEqual([...counts.values()], [1, 1])
    }).pipe(Effect.provide(Memory.layer)),
  )

  it.effect("counts runs to a batch that failed until its first rerun was created", () =>
    Effect.gen(function* () {
      const { takeUp } = yield* make()
      yield* takeUp([failedAt("run_a", 5)], "k")
      const runs = [failedAt("run_a", 5), failedAt("run_same", 10), failedAt("run_later", 11)]
      const answer: unknown = yield* takeUp(runs, "k")
      assert.deepStrictEqual(answer, { started: started("run_a", "run_same"), leftOut: [] })
    }).pipe(Effect.provide(Memory.layer)),
  )
})
