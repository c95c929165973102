/**
 * The parts of the commit's statement that move credits. A statement has them only if one of its
 * commits moves credits.
 *
 * The statement locks the accounts first, before any run and in the same order on every server.
 * Then it decides which commits are covered: all commits of an account if they fit together,
 * otherwise one after the other in their order. At the end it changes each account once, by the sum
 * of the applied commits.
 *
 * Guarantees: a refused commit writes nothing. Credits are moved if and only if the commit is
 * applied. If an account is missing or one of its grants has expired, its commits are `unready`:
 * the caller must settle the account first. Leaves out: settling.
 */
import { InsufficientCredits } from "@millrace/core/ports/LedgerStore"
import type { RunCommit } from "@millrace/core/ports/RunStore"
import { amountToReserve } from "@millrace/core/domain/Ledger"
import type { PgTypes } from "@effect/sql-pg"
import { millisOf } from "./DatabaseClock.ts"
import * as LedgerRows from "./LedgerRows.ts"
import * as Preconditions from "./Preconditions.ts"
import * as Rows from "./Rows.ts"

/** True for a commit that moves credits. */
export const movesCredits = ({ credits }: RunCommit): boolean =>
  credits !== undefined && credits.length > 0

const nowMillis = millisOf("now()")

// OFFSET makes Postgres look up runs by key. Otherwise it may read all runs.
const fits = (hasPreconditions: boolean): string => `CASE WHEN m.expected_fence IS NULL
    THEN NOT EXISTS (SELECT FROM runs r WHERE r.id = m.run_id OFFSET 0)
      AND ${hasPreconditions ? Preconditions.isMet("m.run_id") : "true"}
    ELSE EXISTS (
      SELECT FROM runs r WHERE r.id = m.run_id AND ${Rows.isOf("r.account_id", "m.account_id")}
        AND r.fencing_token = m.expected_fence AND r.revision = m.expected_revision
        AND r.status IN ('QUEUED', 'RUNNING') OFFSET 0
    ) END`

/**
 * The parts before any run is written. `first` is the number of their first parameter. An
 * `outdated` commit needs no credits, so no other commit is refused because of it.
 */
export const before = (
  first: number,
  hasPreconditions: boolean,
): string => `balance AS MATERIALIZED (
  SELECT c.* FROM unnest($${first}::text[]) AS a (id) CROSS JOIN LATERAL (
    SELECT number, account_id, metered, posted - reserved AS available,
      NOT $${first + 1}::bool AND coalesce(due_at <= ${nowMillis}, false) AS is_due
    FROM credit_accounts c WHERE c.account_id = a.id FOR UPDATE
  ) c
), charge AS MATERIALIZED (
  SELECT m.*, p.metered, p.available, coalesce(p.is_due, true) AS is_unready
  FROM ${Rows.source(LedgerRows.creditCommits, "m", first + 2)}
  LEFT JOIN balance p ON p.account_id = m.account_id
), request AS MATERIALIZED (
  SELECT m.run_id, m.account_id, m.amount, m.available,
    row_number() OVER (PARTITION BY m.account_id ORDER BY m.place) AS place,
    sum(m.amount) OVER (PARTITION BY m.account_id) AS total
  FROM charge m WHERE m.amount > 0 AND m.metered AND NOT m.is_unready AND ${fits(hasPreconditions)}
), in_order AS (
  SELECT DISTINCT account_id, 0::int8 AS place, NULL::text AS run_id, available AS rest,
    true AS fits
  FROM request WHERE total > available
  UNION ALL
  SELECT a.account_id, a.place, a.run_id,
    CASE WHEN a.amount <= t.rest THEN t.rest - a.amount ELSE t.rest END, a.amount <= t.rest
  FROM in_order t JOIN request a ON a.account_id = t.account_id AND a.place = t.place + 1
), refused AS MATERIALIZED (
  SELECT run_id, rest FROM in_order WHERE NOT fits
  UNION ALL
  SELECT run_id, NULL FROM charge WHERE is_unready
)`

/** The condition that a commit is covered. */
export const isFree = (alias: string): string => `${alias}.id NOT IN (SELECT run_id FROM refused)`

/** The parts after the runs are written. */
export const after = (first: number): string => `move AS MATERIALIZED (
  SELECT e.*, a.number AS run
  FROM ${Rows.source(LedgerRows.moves, "e", first + 2 + LedgerRows.creditCommits.length)}
  JOIN applied a ON a.id = e.run_id
), total AS MATERIALIZED (
  SELECT account_id, sum(posted)::int8 AS posted, sum(reserved)::int8 AS reserved, 'total' AS few
  FROM move GROUP BY account_id
), moved AS (
  UPDATE credit_accounts c
  SET posted = c.posted + t.posted, reserved = c.reserved + t.reserved
  FROM total t WHERE c.account_id = t.account_id AND t.few = 'total'
), booked AS (
  INSERT INTO credit_entries (account, run, kind, part, posted, reserved, at)
  SELECT p.number, m.run, m.kind, m.part, m.posted, m.reserved, m.at
  FROM move m JOIN balance p ON p.account_id = m.account_id ORDER BY m.place
)`

/** The result: a row for each commit that was applied or refused. */
export const answer = `
SELECT id, 'applied' AS outcome, NULL::float8 AS rest, number::float8 AS number,
  owner IS NOT NULL AS owned FROM applied
UNION ALL
SELECT run_id, CASE WHEN rest IS NULL THEN 'unready' ELSE 'refused' END, rest::float8, NULL, NULL
FROM refused`

/** A row of the result. */
export type Answered = { readonly id: string } & (
  | { readonly outcome: "applied"; readonly number: number; readonly owned: boolean }
  | { readonly outcome: "refused"; readonly rest: number }
  | { readonly outcome: "unready" }
)

/** The accounts whose credits these commits move, in the order of locking. */
export const accountsOf = (commits: ReadonlyArray<RunCommit>): ReadonlyArray<string> => {
  const moving = commits.filter(movesCredits)
  return [...new Set(moving.map(({ run }) => Rows.text(run.accountId)))].toSorted()
}

/** Reservations come before other entries, because they were decided first. */
const movesOf = (commits: ReadonlyArray<RunCommit>): ReadonlyArray<LedgerRows.Move> => {
  const all = commits.flatMap((commit) =>
    (commit.credits ?? []).map((entry) => ({
      commit,
      entry,
      isLate: amountToReserve([entry]) === 0,
    })),
  )
  return [...all.filter(({ isLate }) => !isLate), ...all.filter(({ isLate }) => isLate)].map(
    ({ commit, entry }, place) => ({ commit, entry, place }),
  )
}

/** The parameters of both parts. With `areSettled`, expired grants are not checked again. */
export const parametersOf = (
  commits: ReadonlyArray<RunCommit>,
  areSettled: boolean,
): ReadonlyArray<PgTypes.Parameter | ReadonlyArray<string> | boolean> => [
  accountsOf(commits),
  areSettled,
  ...Rows.parameters(
    LedgerRows.creditCommits,
    commits.filter(movesCredits).map((commit, place) => ({ commit, place })),
  ),
  ...Rows.parameters(LedgerRows.moves, movesOf(commits)),
]

/** The refusal of a commit for which so many credits were available. */
export const refusalOf = (commit: RunCommit, available: number): InsufficientCredits =>
  new InsufficientCredits({ required: amountToReserve(commit.credits ?? []), available })
