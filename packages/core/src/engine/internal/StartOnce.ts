/**
 * Starts with an idempotency key.
 *
 * Guarantees: starts with the same key make one run, however often and wherever they are repeated.
 * A refused start does not use up the key.
 */
import { Effect, Option, Result } from "effect"
import type { AccountId, RunId } from "../../domain/Id.ts"
import type { IdempotencyKey } from "../../domain/Idempotency.ts"
import type { Run } from "../../domain/Run.ts"
import type { RunStore } from "../../ports/RunStore.ts"
import { StaleRun } from "../../ports/RunStore.ts"
import { StorageError } from "../../ports/StorageError.ts"
import { IdempotencyKeyTaken } from "../Refusals.ts"

/** A start with an idempotency key: the run of this call, or that of an earlier one. */
export interface StartedOnce {
  readonly runId: RunId
  readonly isReplay: boolean
}

/**
 * The earlier start with this idempotency key, if any. Fails if its request was a different one.
 */
export const knownStart = Effect.fnUntraced(function* (
  runs: RunStore["Service"],
  account: AccountId,
  { bodyHash, key }: IdempotencyKey,
) {
  const known = yield* runs.findStart(account, key)
  if (Option.isNone(known)) return undefined
  const { runId } = known.value
  if (known.value.bodyHash !== bodyHash) return yield* new IdempotencyKeyTaken({ runId })
  return { runId, isReplay: true } satisfies StartedOnce
})

/** Executes a start, unless an earlier one with this idempotency key has started a run. */
export const once = <E extends { readonly _tag: string }>(
  runs: RunStore["Service"],
  account: AccountId,
  idempotencyKey: IdempotencyKey,
  start: Effect.Effect<Run, E | StaleRun | StorageError>,
): Effect.Effect<StartedOnce, Exclude<E, StaleRun> | IdempotencyKeyTaken | StorageError> =>
  Effect.gen(function* () {
    // `StaleRun`: the key is taken. It may have expired when its run is read: then try once more.
    while (true) {
      const before = yield* knownStart(runs, account, idempotencyKey)
      if (before !== undefined) return before
      const started = yield* Effect.result(start)
      if (Result.isSuccess(started)) return { runId: started.success.id, isReplay: false }
      const failure = started.failure as StaleRun | StorageError | Exclude<E, StaleRun>
      if (failure instanceof StaleRun) continue
      if (failure instanceof StorageError) return yield* failure
      // Another call with this key may have started the run meanwhile. Then that run is the answer,
      // and not this refusal, which may be about the credits that the other call has reserved.
      const other = yield* knownStart(runs, account, idempotencyKey)
      return other ?? (yield* Effect.fail(failure))
    }
  })
