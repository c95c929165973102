/**
 * Removes large values that nothing names and nothing ever will: a process died between a value and
 * the commit that would have named it, an attempt was given up, or the run is gone.
 *
 * Guarantees: a value of an open run stays. A run that has ended never changes, so what it does not
 * name then is garbage. A run is stored before its values and read after they were listed, so a run
 * that is not found is gone. This holds for values in any place. Young values stay whatever is
 * found, because a copy of a database may answer late. Several processes may sweep at once.
 */
import { Clock, Effect } from "effect"
import {
  runsPerBatch,
  sweptValueMillis,
  valuesPerSweep,
  valueSweepMillis,
} from "../../domain/Limits.ts"
import { namedBy } from "../../domain/LargeValue.ts"
import { isTerminal } from "../../domain/Run.ts"
import type { RunRecord } from "../../domain/Run.ts"
import type { RunStore } from "../../ports/RunStore.ts"
import type { StorageError } from "../../ports/StorageError.ts"
import type { ValueKey, ValueStore, WrittenValue } from "../../ports/ValueStore.ts"

/** Where values are, and what names them. */
interface Parts {
  readonly runs: RunStore["Service"]
  readonly values: ValueStore["Service"]
}

/** The runs of these values, without payloads, by id. */
const runsOf = Effect.fnUntraced(function* ({ runs }: Parts, keys: ReadonlyArray<ValueKey>) {
  const found = new Map<string, RunRecord>()
  for (const [account, own] of Map.groupBy(keys, (key) => key.account)) {
    const ids = [...new Set(own.map(({ runId }) => runId))]
    for (let at = 0; at < ids.length; at += runsPerBatch) {
      const records = yield* runs.findMany(account, ids.slice(at, at + runsPerBatch), 0)
      for (const record of records) found.set(record.run.id, record)
    }
  }
  return found
})

/** True if nothing names the value, now or later. */
const isGarbage = ({ id }: ValueKey, record: RunRecord | undefined): boolean =>
  record === undefined ||
  (isTerminal(record.run.status) && !namedBy(record).some((each) => each.id === id))

/** Values that were written long enough ago. */
const oldOf = (values: ReadonlyArray<WrittenValue>): Effect.Effect<ReadonlyArray<WrittenValue>> =>
  Effect.map(Clock.currentTimeMillis, (now) =>
    values.filter(({ writtenAt }) => writtenAt <= now - sweptValueMillis),
  )

/** Looks at all values once. Answers how many were removed. */
export const sweep = Effect.fnUntraced(function* (
  parts: Parts,
): Effect.fn.Return<number, StorageError> {
  let removed = 0
  let after: ValueKey | undefined
  while (true) {
    const page = yield* parts.values.list(after, valuesPerSweep)
    after = page.at(-1)
    if (after === undefined) return removed
    const old = yield* oldOf(page)
    const records = yield* runsOf(parts, old)
    const garbage = old.filter((key) => isGarbage(key, records.get(key.runId)))
    if (garbage.length > 0) yield* parts.values.remove(garbage)
    removed += garbage.length
  }
})

/** Sweeps from time to time. */
export const sweeping = (parts: Parts): Effect.Effect<never> =>
  sweep(parts).pipe(
    Effect.flatMap((count) =>
      count === 0 ? Effect.void : Effect.logInfo(`removed ${count} large values of no use`),
    ),
    Effect.catch((error) => Effect.logWarning("could not sweep large values", error)),
    Effect.delay(valueSweepMillis),
    Effect.forever,
  )
