/**
 * The pauses of triggers: a switch for all of an account.
 *
 * Guarantees: a claim that begins after a pause was acknowledged sees it. Leaves out: what becomes
 * of times and ends meanwhile.
 */
import type { AccountId } from "@millrace/core/domain/Id"
import type { Timestamp } from "@millrace/core/domain/Timestamp"
import { Effect } from "effect"
import type { SqlClient } from "effect/sql/SqlClient"
import * as Rows from "./Rows.ts"
import { values } from "./Statements.ts"

/** Part of a claim: the pauses of the accounts of what the parts `taken` and `taken_ends` took. */
export const ofClaimed = `(
  SELECT coalesce(json_agg(json_build_object('accountId', p.account_id, 'since', p.paused_at,
    'until', p.resumed_at)), '[]')
  FROM trigger_pauses p WHERE p.account_id IN (
    SELECT account_id FROM taken
    UNION SELECT t.account_id FROM taken_ends e JOIN triggers t ON t.id = e.trigger_id)
)`

/** Whether the triggers of the account in this column are not paused. */
export const isNotPaused = (column: string): string => `NOT EXISTS (
  SELECT FROM trigger_pauses p WHERE p.account_id = ${column} AND p.resumed_at IS NULL)`

const pauseStatement = `
INSERT INTO trigger_pauses AS p (account_id, paused_at) VALUES ($1, $2::int8)
ON CONFLICT (account_id) DO UPDATE SET resumed_at = NULL,
  paused_at = CASE WHEN p.resumed_at IS NULL THEN p.paused_at ELSE excluded.paused_at END
RETURNING paused_at::float8 AS value`

const resumeStatement = `UPDATE trigger_pauses SET resumed_at = $2::int8
  WHERE ${Rows.isOf("account_id", "$1")} AND resumed_at IS NULL`

const readStatement = `SELECT paused_at::float8 AS value FROM trigger_pauses
  WHERE ${Rows.isOf("account_id", "$1")} AND resumed_at IS NULL`

/** The methods of the store. */
export const make = (sql: SqlClient) => {
  const read = (statement: string, parameters: ReadonlyArray<unknown>) =>
    Effect.map(values<Timestamp>(sql, statement, parameters), ([at]) => at ?? null)
  return {
    pause: (account: AccountId, at: Timestamp) =>
      Effect.map(read(pauseStatement, [account, at]), (since) => since ?? at),
    resume: (account: AccountId, at: Timestamp) =>
      Effect.asVoid(sql.unsafe(resumeStatement, [account, at])),
    pausedAt: (account: AccountId) => read(readStatement, [account]),
  }
}
