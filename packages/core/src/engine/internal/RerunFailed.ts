/**
 * Reruns of many runs that have failed, each once.
 *
 * Guarantees: a run that has a rerun is left out, also if another process starts one meanwhile: the
 * id of a first rerun follows from the run, and a store has an id once. A repetition under the same
 * idempotency key goes on where the first call stopped, takes up no run that has failed since, and
 * answers as the first call did. Leaves out: which runs those are; the caller has listed them.
 */
import { Effect, Result } from "effect"
import type { AccountId, RunId } from "../../domain/Id.ts"
import type { IdempotencyKey } from "../../domain/Idempotency.ts"
import { rerunIdOf, type Run } from "../../domain/Run.ts"
import { InsufficientCredits } from "../../ports/LedgerStore.ts"
import { type RunStore, StaleRun } from "../../ports/RunStore.ts"
import { StorageError } from "../../ports/StorageError.ts"
import { knownStart } from "./StartOnce.ts"

/** Why a run was not started again. */
type LeftOut =
  /** It has a rerun. */
  | { readonly runId: RunId; readonly reason: "rerun"; readonly rerunId: RunId }
  /** The rerun was refused. */
  | { readonly runId: RunId; readonly reason: "refused"; readonly message: string }

/** What became of runs that have failed, in their order. */
export interface RerunBatch {
  readonly started: ReadonlyArray<{ readonly runId: RunId; readonly rerunOf: RunId }>
  readonly leftOut: ReadonlyArray<LeftOut>
}

/** What a rerun is started with. */
interface Named {
  readonly runId: RunId
  readonly idempotencyKey: IdempotencyKey | undefined
}

/** A refusal, which has a sentence. */
interface Refusal {
  readonly _tag: string
  readonly message: string
}

/** The runs with these ids that there are. */
const found = (runs: RunStore["Service"], account: AccountId, ids: ReadonlyArray<RunId>) =>
  Effect.map(
    runs.findMany(account, ids, 0),
    (records) => new Map(records.map(({ run }) => [run.id, run])),
  )

/** The sentence of a refusal, for whoever may start runs but not see what the account has. */
const sentenceOf = (refusal: Refusal): string =>
  refusal instanceof InsufficientCredits ? refusal.withoutBalance : refusal.message

/** How reruns of runs that have failed are started. `start` starts one of them. */
export const rerunFailed = <E extends Refusal>(
  runs: RunStore["Service"],
  start: (run: Run, named: Named) => Effect.Effect<unknown, E | StaleRun | StorageError>,
) => {
  /** `undefined`: another call has taken the key meanwhile, so it has to be looked at again. */
  const attempt = Effect.fnUntraced(function* (
    account: AccountId,
    failed: ReadonlyArray<Run>,
    key: IdempotencyKey | undefined,
    first: Run | undefined,
  ) {
    const wanted = failed.filter(
      ({ finishedAt }) => (finishedAt ?? 0) <= (first?.createdAt ?? Infinity),
    )
    const known = yield* found(
      runs,
      account,
      wanted.map(({ id }) => rerunIdOf(id)),
    )
    const started: Array<RerunBatch["started"][number]> = []
    const leftOut: Array<LeftOut> = []
    // What was started behind the first run of a key is of its batch, by whichever call.
    const isOfKey = ({ createdAt }: Run) =>
      key !== undefined && (first === undefined ? started.length > 0 : createdAt >= first.createdAt)
    for (const run of wanted) {
      const { id } = run
      const rerunId = rerunIdOf(id)
      let rerun = known.get(rerunId)
      if (rerun === undefined) {
        const isFirst = first === undefined && started.length === 0
        const named = { runId: rerunId, idempotencyKey: isFirst ? key : undefined }
        const done = yield* Effect.result(start(run, named))
        if (Result.isSuccess(done)) {
          started.push({ runId: rerunId, rerunOf: id })
          continue
        }
        const failure = done.failure as StaleRun | StorageError | Refusal
        if (failure instanceof StorageError) return yield* failure
        if (!(failure instanceof StaleRun)) {
          leftOut.push({ runId: id, reason: "refused", message: sentenceOf(failure) })
          continue
        }
        rerun = (yield* found(runs, account, [rerunId])).get(rerunId)
        if (rerun === undefined) return undefined
      }
      if (isOfKey(rerun)) started.push({ runId: rerunId, rerunOf: id })
      else leftOut.push({ runId: id, reason: "rerun", rerunId })
    }
    const isNew = key !== undefined && first === undefined && started.length === 0
    if (isNew && (yield* knownStart(runs, account, key)) !== undefined) return undefined
    return { started, leftOut } satisfies RerunBatch
  })

  return Effect.fnUntraced(function* (
    account: AccountId,
    failed: ReadonlyArray<Run>,
    key: IdempotencyKey | undefined,
  ) {
    while (true) {
      const earlier = key === undefined ? undefined : yield* knownStart(runs, account, key)
      const first =
        earlier === undefined
          ? undefined
          : (yield* found(runs, account, [earlier.runId])).get(earlier.runId)
      const done = yield* attempt(account, failed, key, first)
      if (done !== undefined) return done
    }
  })
}
