/**
 * The ends of runs that wait for triggers: parts of the statements that write, claim and finish
 * them.
 *
 * Guarantees: a workflow that no trigger watches costs one look into an index, within a statement
 * that ends runs of it. Leaves out: what becomes of an end.
 */
import type { Run } from "@millrace/core/domain/Run"
import { isFollowed } from "@millrace/core/domain/RunEndTrigger"
import type { RunCommit } from "@millrace/core/ports/RunStore"
import type { FinishedEnd } from "@millrace/core/ports/TriggerStore"
import { millisOf } from "./DatabaseClock.ts"
import type { Table } from "./Rows.ts"
import * as Rows from "./Rows.ts"

const now = millisOf("statement_timestamp()")

/** Runs that have ended and that triggers may follow. */
export const ended: Table<Run> = Rows.texts<Run>("accountId", "workflowId", "status")

/** The run of a commit, if it is one of {@link ended}. */
export const endedBy = ({ run }: RunCommit): ReadonlyArray<Run> => (isFollowed(run) ? [run] : [])

/** The workflows of runs that have ended. */
export const watched: Table<Run> = Rows.texts<Run>("accountId", "workflowId")

/** One run for each of {@link watched}. */
export const watchedBy = (ends: ReadonlyArray<Run>): ReadonlyArray<Run> =>
  Rows.distinct(ends, ({ accountId, workflowId }) => `${accountId} ${workflowId}`)

// A subquery with an OFFSET is looked up by key, even in a plan from when the table was empty.
/**
 * The part of a commit's statement that stores the ends of these runs, for each trigger that
 * follows one. `workflows` has the rows of {@link watched} as `w`; `runs` has the places, accounts,
 * workflows and statuses of runs as `e`. Triggers are looked up once for each workflow.
 */
export const added = (workflows: string, runs: string): string => `waiting_ends AS (
  INSERT INTO run_ends (trigger_id, run_id, due_at, fence)
  SELECT t.id, a.id, ${now}, 0
  FROM (
    SELECT w.account_id, w.workflow_id, t.id, t.watched_ends
    FROM ${workflows} CROSS JOIN LATERAL (
      SELECT t.id, t.watched_ends FROM triggers t
      WHERE t.watched_id = w.workflow_id AND ${Rows.isOf("t.account_id", "w.account_id")}
        AND t.enabled OFFSET 0
    ) t OFFSET 0
  ) t JOIN ${runs} ON e.workflow_id = t.workflow_id AND e.account_id = t.account_id
    AND position(e.status IN t.watched_ends) > 0
  JOIN applied a ON a.place = e.place AND a.few = 'applied'
  ON CONFLICT DO NOTHING
)`

/** Parts of a claim: `$1` is the limit, `$2` the milliseconds of the lease. */
export const claimed = `chosen_ends AS MATERIALIZED (
  SELECT trigger_id, run_id, due_at FROM run_ends
  WHERE due_at <= ${now} ORDER BY due_at, trigger_id, run_id LIMIT $1::int8 FOR UPDATE SKIP LOCKED
), taken_ends AS (
  UPDATE run_ends e SET due_at = ${now} + $2::int8, fence = e.fence + 1
  FROM chosen_ends c WHERE e.trigger_id = c.trigger_id AND e.run_id = c.run_id
  RETURNING e.trigger_id, e.run_id, e.fence, c.due_at AS was_due_at
)`

/** The ends of the part `taken_ends`, each with its trigger as `triggerObject` builds it of `t`. */
export const taken = (triggerObject: string): string => `(
  SELECT coalesce(json_agg(json_build_object('triggerId', e.trigger_id, 'runId', e.run_id,
    'fence', e.fence, 'trigger', CASE WHEN t.id IS NOT NULL THEN ${triggerObject} END
  ) ORDER BY e.was_due_at, e.trigger_id, e.run_id), '[]')
  FROM taken_ends e LEFT JOIN triggers t ON t.id = e.trigger_id
)`

/** When the next end is due. */
export const nextDueAt = `(SELECT due_at FROM run_ends WHERE due_at > ${now}
  ORDER BY due_at LIMIT 1)`

/** The rows of {@link finish}. */
export const finished: Table<FinishedEnd> = [
  ...Rows.texts<FinishedEnd>("triggerId", "runId", "lastRunId"),
  ...Rows.int4s<FinishedEnd>("fence", "missed"),
  ...Rows.int8s<FinishedEnd>("lastAt", "lastMissedAt"),
  ...Rows.columns("json")<FinishedEnd>("lastError"),
]

/** The last value of a column among the ends of a trigger that have one; else what it was. */
const last = (name: string, by: string): string => `${name} = coalesce((
  SELECT d.${name} FROM done d WHERE d.trigger_id = t.id AND d.${name} IS NOT NULL
  ORDER BY d.${by} DESC, d.run_id DESC LIMIT 1
), t.${name})`

// The triggers are locked in one order, so that two processes which finish ends of the same ones
// do not wait in a ring.
export const finish = `
WITH done AS MATERIALIZED (
  DELETE FROM run_ends e USING ${Rows.source(finished, "n", 1)}
  WHERE e.trigger_id = n.trigger_id AND e.run_id = n.run_id AND e.fence = n.fence
  RETURNING n.*
), locked AS MATERIALIZED (
  SELECT t.id FROM triggers t WHERE t.id IN (SELECT trigger_id FROM done)
  ORDER BY t.id FOR NO KEY UPDATE
)
UPDATE triggers t SET
  missed = t.missed + (SELECT sum(d.missed) FROM done d WHERE d.trigger_id = t.id),
  ${last("last_at", "last_at")}, ${last("last_run_id", "last_at")},
  ${last("last_missed_at", "last_missed_at")}, ${last("last_error", "last_missed_at")}
FROM locked l WHERE t.id = l.id`

/** Forgets what waits for the triggers of the part `gone`. */
export const removedEnds = `removed_ends AS (
  DELETE FROM run_ends e USING gone g WHERE e.trigger_id = g.id
)`
