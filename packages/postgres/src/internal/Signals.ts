/**
 * Signals to workflows, and the waits of runs that they find.
 *
 * Guarantees: whoever sends a signal, and whoever commits waits, first locks what both are about:
 * name and correlation. So a signal finds the wait, or the wait finds the signal. These locks come
 * before the rows of runs, in one order. Times come from the database's clock. Leaves out: the
 * inboxes, to which signals go.
 */
import type { AccountId, RunId, WorkflowId } from "@millrace/core/domain/Id"
import type { Json, JsonObject } from "@millrace/core/domain/Json"
import { messageMillis, signalsPerWorkflow } from "@millrace/core/domain/Limits"
import type { NewWorkflowSignal, SignalKey, SignalWait } from "@millrace/core/domain/WorkflowSignal"
import {
  keyOfText,
  messageOf,
  passesFilter,
  signalOf,
  textOfKey,
} from "@millrace/core/domain/WorkflowSignal"
import type { RunCommit, RunStore, SignalResult } from "@millrace/core/ports/RunStore"
import { Effect } from "effect"
import type { SqlClient } from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"
import { millisOf } from "./DatabaseClock.ts"
import type { DatabasePort } from "./DatabaseError.ts"
import * as Inboxes from "./Inboxes.ts"
import * as Rows from "./Rows.ts"

const nowMillis = millisOf("statement_timestamp()")

/** How many waits or signals are read at once, to find one that fits. */
const pageSize = 50

/** A workflow of an account. */
interface Place {
  readonly account: AccountId
  readonly workflowId: WorkflowId
}

const lockText = ({ workflowId }: Place, key: SignalKey): string =>
  `${workflowId} ${textOfKey(key)}`

const lockOne = `
SELECT pg_advisory_xact_lock(hashtextextended($3, 0)) FROM workflows
WHERE id = $1 AND ${Rows.isOf("account_id", "$2")} FOR KEY SHARE`

const lockAll = `
SELECT pg_advisory_xact_lock(number) FROM (
  SELECT DISTINCT hashtextextended(t, 0) AS number FROM unnest($1::text[]) AS t
  ORDER BY 1 OFFSET 0
) AS l`

/** Locks what a commit's waits are about. Needs a transaction, which keeps the locks. */
export const lock = (
  sql: SqlClient,
  { run: { accountId: account, workflowId }, signals }: RunCommit,
): Effect.Effect<void, SqlError> => {
  if (signals === undefined) return Effect.void
  const place = { account, workflowId }
  const texts = [...signals.before, ...signals.waits].map((key) => lockText(place, key))
  return texts.length === 0 ? Effect.void : Effect.asVoid(sql.unsafe(lockAll, [texts]))
}

interface WaitRow {
  readonly number: number
  readonly runId: RunId
  readonly filter: JsonObject | null
}

const findWaits = `
SELECT number::float8 AS number, run_id AS "runId", filter FROM signal_waits
WHERE workflow_id = $1 AND key = $2 AND number > $3 AND until >= ${nowMillis}
ORDER BY number LIMIT ${pageSize}`

const close = (sql: SqlClient, number: number) =>
  sql`DELETE FROM signal_waits WHERE number = ${number}`

/** Appends a signal to a run's inbox; false if there is no such open run. */
const deliver = (
  sql: SqlClient,
  account: AccountId,
  run: RunId,
  signal: NewWorkflowSignal,
): Effect.Effect<boolean, SqlError> =>
  Effect.map(
    Inboxes.sendWithin(sql, account, run, messageOf(signal)),
    ({ _tag }) => _tag === "Sent",
  )

/** Gives a signal to the oldest wait that it fits; the run that has it now. */
const offer = Effect.fnUntraced(function* (
  sql: SqlClient,
  { account, workflowId }: Place,
  signal: NewWorkflowSignal,
): Effect.fn.Return<RunId | null, SqlError> {
  const key = textOfKey(signal)
  let after = 0
  for (;;) {
    const page = yield* sql.unsafe<WaitRow>(findWaits, [workflowId, key, after])
    for (const wait of page) {
      if (!passesFilter(wait, signal)) continue
      yield* close(sql, wait.number)
      if (yield* deliver(sql, account, wait.runId, signal)) return wait.runId
    }
    if (page.length < pageSize) return null
    after = page.at(-1)!.number
  }
})

const storeStatement = `
INSERT INTO workflow_signals AS s
  (workflow_id, id, key, is_named, run_id, expires_at, payload)
VALUES ($1, $2, $3, $4, $5, ${nowMillis} + ${messageMillis}, $6::json)
ON CONFLICT (workflow_id, id) DO UPDATE SET key = excluded.key, run_id = excluded.run_id,
  expires_at = excluded.expires_at, payload = excluded.payload`

/** Remembers a signal that is kept, or, without its payload, one that its sender may repeat. */
const store = (
  sql: SqlClient,
  { workflowId }: Place,
  signal: NewWorkflowSignal,
  run: RunId | null,
): Effect.Effect<void, SqlError> => {
  if (run !== null && !signal.isNamed) return Effect.void
  const payload = JSON.stringify(run === null ? signal.payload : null)
  const id = JSON.stringify(signal.id)
  return Effect.asVoid(
    sql.unsafe(storeStatement, [workflowId, id, textOfKey(signal), signal.isNamed, run, payload]),
  )
}

const knownStatement = `
SELECT run_id AS "runId" FROM workflow_signals
WHERE workflow_id = $1 AND id = $2 AND expires_at > ${nowMillis}`

const countStatement = `
SELECT count(*)::int4 AS kept FROM workflow_signals
WHERE workflow_id = $1 AND run_id IS NULL AND expires_at > ${nowMillis}`

const resultOf = (runId: RunId | null, isReplay: boolean): SignalResult =>
  runId === null ? { _tag: "Kept", isReplay } : { _tag: "Taken", runId, isReplay }

/** Makes all wait that lock the same text. */
const lockAlone = (sql: SqlClient, text: string) =>
  sql`SELECT pg_advisory_xact_lock(hashtextextended(${text}, 0))`

const sendWithin = Effect.fnUntraced(function* (
  sql: SqlClient,
  place: Place,
  signal: NewWorkflowSignal,
): Effect.fn.Return<SignalResult, SqlError> {
  const { account, workflowId } = place
  const id = JSON.stringify(signal.id)
  if (signal.isNamed) yield* lockAlone(sql, `${workflowId} named ${id}`)
  const found = yield* sql.unsafe(lockOne, [workflowId, account, lockText(place, signal)])
  if (found.length === 0) return { _tag: "NotFound" }
  if (signal.isNamed) {
    const [known] = yield* sql.unsafe<Pick<WaitRow, "runId">>(knownStatement, [workflowId, id])
    if (known !== undefined) return resultOf(known.runId, true)
  }
  const run = yield* offer(sql, place, signal)
  if (run === null) {
    yield* lockAlone(sql, `${workflowId} kept`)
    const [count] = yield* sql.unsafe<{ readonly kept: number }>(countStatement, [workflowId])
    if (count!.kept >= signalsPerWorkflow) return { _tag: "Full" }
  }
  yield* store(sql, place, signal, run)
  return resultOf(run, false)
})

const openedWaits: Rows.Table<SignalWait> = [
  Rows.derived("key", "text", textOfKey),
  ...Rows.int8s<SignalWait>("until"),
  ...Rows.jsons<SignalWait>("filter"),
]

const openStatement = `
INSERT INTO signal_waits (run_id, workflow_id, key, until, filter)
SELECT $3, w.id, e.key, e.until, e.filter
FROM (SELECT id FROM workflows WHERE id = $1 AND ${Rows.isOf("account_id", "$2")} FOR KEY SHARE) w
CROSS JOIN unnest($4::text[], $5::int8[], $6::json[]) WITH ORDINALITY
  AS e (key, until, filter, place)
ORDER BY e.place
RETURNING number::float8 AS number, key, filter`

interface OpenedRow extends Pick<WaitRow, "number" | "filter"> {
  readonly key: string
}

const findKept = `
SELECT number::float8 AS number, id, key, is_named AS "isNamed", payload FROM workflow_signals
WHERE workflow_id = $1 AND key = ANY ($2::text[]) AND number > $3 AND run_id IS NULL
  AND expires_at > ${nowMillis}
ORDER BY number LIMIT ${pageSize}`

interface KeptRow {
  readonly number: number
  readonly id: string
  readonly key: string
  readonly isNamed: boolean
  readonly payload: Json
}

const signalIn = ({ id, isNamed, key, payload }: KeptRow): NewWorkflowSignal => ({
  ...keyOfText(key),
  id: JSON.parse(id) as string,
  isNamed,
  payload,
})

/** A run has a signal that was kept. */
const hand = Effect.fnUntraced(function* (
  sql: SqlClient,
  place: Place,
  run: RunId,
  kept: KeptRow,
  wait: OpenedRow,
) {
  if (!(yield* deliver(sql, place.account, run, signalIn(kept)))) return
  yield* close(sql, wait.number)
  if (kept.isNamed) yield* store(sql, place, signalIn(kept), run)
  else yield* sql`DELETE FROM workflow_signals WHERE number = ${kept.number}`
})

/** Gives each wait that a run has opened the oldest signal that is kept and fits it. */
const serve = Effect.fnUntraced(function* (
  sql: SqlClient,
  place: Place,
  run: RunId,
  opened: ReadonlyArray<OpenedRow>,
) {
  const open = new Set(opened)
  const keys = [...new Set(opened.map(({ key }) => key))]
  let after = 0
  while (open.size > 0) {
    const page = yield* sql.unsafe<KeptRow>(findKept, [place.workflowId, keys, after])
    for (const kept of page) {
      const wait = [...open].find((each) => each.key === kept.key && passesFilter(each, kept))
      if (wait === undefined) continue
      open.delete(wait)
      yield* hand(sql, place, run, kept, wait)
    }
    if (page.length < pageSize) return
    after = page.at(-1)!.number
  }
})

const takeOut = `
UPDATE run_messages m SET taken_by = '' FROM runs r
WHERE r.id = $1 AND m.run = r.number AND m.taken_by IS NULL
  AND m.name::text LIKE '"correlated:%'
RETURNING m.number, m.id, m.name, m.payload`

interface LeftRow {
  readonly number: number
  readonly id: string
  readonly name: string
  readonly payload: Json
}

/**
 * Replaces the waits of a run whose commit is written. Signals that it has not taken go to others,
 * or are kept. Needs the transaction and the locks of the commit.
 */
export const change = Effect.fnUntraced(function* (
  sql: SqlClient,
  { run: { accountId: account, id, workflowId }, signals }: RunCommit,
): Effect.fn.Return<void, SqlError> {
  if (signals === undefined) return
  const { before, waits } = signals
  const place = { account, workflowId }
  const rows = before.length === 0 ? [] : yield* sql.unsafe<LeftRow>(takeOut, [id])
  if (before.length > 0) yield* sql`DELETE FROM signal_waits WHERE run_id = ${id}`
  const columns = Rows.parameters(openedWaits, waits)
  const opened =
    waits.length === 0
      ? []
      : yield* sql.unsafe<OpenedRow>(openStatement, [workflowId, account, id, ...columns])
  for (const signal of rows.toSorted((a, b) => a.number - b.number).map(signalOf)) {
    const found = yield* sql.unsafe(lockOne, [workflowId, account, lockText(place, signal)])
    // No signal reaches the runs of a workflow that is gone but by their ids.
    if (found.length > 0) yield* store(sql, place, signal, yield* offer(sql, place, signal))
  }
  if (opened.length > 0) yield* serve(sql, place, id, opened)
})

/** The method of the port that sends a signal. */
export const make = (sql: SqlClient) =>
  ({
    signal: (account, workflowId, signal) =>
      sql.withTransaction(sendWithin(sql, { account, workflowId }, signal)),
  }) satisfies Partial<DatabasePort<RunStore["Service"]>>
