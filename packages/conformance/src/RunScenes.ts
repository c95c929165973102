/**
 * What tests of taking runs over begin with: runs in the states in which they are found, and the
 * steps of a runner.
 *
 * A claim sees every account, so each test first takes away what others left behind: see
 * {@link quiet}. Leaves out: any assertion.
 */
import type { RunnerId } from "@millrace/core/domain/Id"
import type { Run } from "@millrace/core/domain/Run"
import type { ClaimRequest } from "@millrace/core/ports/RunStore"
import { RunStore } from "@millrace/core/ports/RunStore"
import { Effect, Option } from "effect"
import * as Samples from "./Samples.ts"

/** A lease that outlives every test. */
export const hourMillis = 3_600_000

/** A time that has come by any clock. */
export const longAgo = 1_000_000

/** A time that has come by no clock. */
export const never = 9_000_000_000_000

/** What a claim may ask for beside a runner and a limit. */
export type Wishes = Partial<Omit<ClaimRequest, "runner" | "limit">>

/** Claims under a lease of an hour. */
export const claim = Effect.fnUntraced(function* (
  runner: RunnerId,
  limit: number,
  wishes?: Wishes,
) {
  const store = yield* RunStore
  return yield* store.claim({ runner, leaseMillis: hourMillis, limit, ...wishes })
})

/** Gives all that can be claimed to one runner, which holds no suspects by that. */
export const clear = Effect.fnUntraced(function* (keeper: RunnerId) {
  const store = yield* RunStore
  let left = 1
  while (left > 0) {
    const suspects = yield* store.suspects(1_000)
    for (const { record } of suspects) yield* store.clearLosses(record.run.id)
    left = suspects.length + (yield* claim(keeper, 1_000)).length
  }
})

/** Fresh samples, and a store in which nothing is left to claim, and no suspect. */
export const quiet = Effect.gen(function* () {
  const samples = yield* Samples.make
  yield* clear(samples.runner())
  return samples
})

/** Stores a run as it is. */
export const started = Effect.fnUntraced(function* (run: Run) {
  const store = yield* RunStore
  yield* store.commit(Samples.newRun(run))
  return run
})

/** A run at work for a runner whose lease has run out. */
export const orphan = Effect.fnUntraced(function* (
  samples: Samples.Samples,
  change?: Partial<Run>,
) {
  const store = yield* RunStore
  const owner = samples.runner()
  yield* store.heartbeat(owner, 0)
  return yield* started(samples.run({ status: "RUNNING", owner, fence: 1, ...change }))
})

/** A run at work for a runner that is alive. */
export const owned = Effect.fnUntraced(function* (samples: Samples.Samples, change?: Partial<Run>) {
  const store = yield* RunStore
  const owner = change?.owner ?? samples.runner()
  yield* store.heartbeat(owner, hourMillis)
  return yield* started(samples.run({ status: "RUNNING", owner, fence: 1, ...change }))
})

/** A run that was parked by its owner, as it is stored. */
export const parked = Effect.fnUntraced(function* (
  samples: Samples.Samples,
  dueAt: number,
  change?: Partial<Run>,
) {
  const store = yield* RunStore
  const run = yield* owned(samples, change)
  const next = Samples.step(run, { dueAt, owner: null })
  yield* store.commit(next)
  return next.run
})

/** A run after somebody took it over. */
export const takenOver = (run: Run, owner: RunnerId): Run => ({
  ...run,
  fence: run.fence + 1,
  owner,
  dueAt: null,
})

/** A run after somebody claimed it. */
export const claimed = (run: Run, owner: RunnerId): Run => ({
  ...run,
  fence: run.fence + 1,
  owner,
})

/** A run as it is stored. */
export const runOf = Effect.fnUntraced(function* (run: Run) {
  const store = yield* RunStore
  return Option.getOrThrow(yield* store.find(run.accountId, run.id)).run
})
