/**
 * The losses of runs, as parts of statements. A claim adds a loss; a runner that is alive removes
 * the losses that were put down to its death; an operator lists the runs with losses and clears
 * them.
 *
 * `open_runs` repeats how many losses a run has; the same statement changes both. Leaves out: which
 * suspects a claim takes; see ClaimStatement.
 */
import { lossesPerRun } from "@millrace/core/domain/Limits"
import type { RunId, RunnerId } from "@millrace/core/domain/Id"
import { Effect } from "effect"
import type { SqlClient } from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"
import { millisOf } from "./DatabaseClock.ts"
import * as Rows from "./Rows.ts"

const nowMillis = millisOf("statement_timestamp()")

/**
 * The condition that an open run has losses. It lists every possible number, because the planner
 * then expects few rows and uses the index.
 */
export const isSuspect = (losses: string): string =>
  `${losses} IN (${Array.from({ length: lossesPerRun }, (_, n) => n + 1).join(", ")})`

/** How long a runner that is back looks for losses that name it. */
const returnedMillis = 3_600_000

/** The ordinals of the nodes in progress. */
const nodesOf = (run: string): string => `(
  SELECT coalesce(jsonb_agg((a->>'ordinal')::int4), '[]') FROM ${Rows.elements(`${run}.active`)} a
)`

/** The losses of a run and one more with these properties; unchanged if the list is full. */
export const withLoss = (run: string, owner: string, ...properties: ReadonlyArray<string>) => `
  CASE WHEN jsonb_array_length(${run}.losses) >= ${lossesPerRun} THEN ${run}.losses
  ELSE ${run}.losses || jsonb_build_object('runner', ${owner}, 'nodes', ${nodesOf(run)},
    ${properties.join(", ")}) END`

/**
 * Removes the losses that were put down to the death of a runner that is alive. In the run that
 * blocked the runner, the cause becomes `blocked` instead. Only a runner whose lease has expired
 * has such losses. It looks for a while, because a claim that began earlier may be stored late. The
 * constant columns make the planner expect few rows.
 *
 * Parameters: $1 runner, $3 the run that blocked it, $4 for how many milliseconds.
 */
export const takingBack = `
back_again AS MATERIALIZED (
  SELECT 'again' AS step WHERE NOT EXISTS (
    SELECT FROM runners u WHERE u.id = $1 AND u.lease_until > ${nowMillis}
      AND (u.returned_at > ${nowMillis} - ${returnedMillis}) IS NOT TRUE
  )
), blamed AS MATERIALIZED (
  SELECT o.run, o.losses, 'blamed' AS few FROM back_again CROSS JOIN LATERAL (
    SELECT o.run, kept.losses FROM open_runs o CROSS JOIN LATERAL (
      SELECT r.id, r.losses FROM runs r WHERE r.number = o.run
        AND r.losses @> jsonb_build_array(jsonb_build_object('runner', $1::text, 'cause', 'died'))
      FOR UPDATE SKIP LOCKED
    ) r CROSS JOIN LATERAL (
      SELECT coalesce(jsonb_agg(
        CASE WHEN l.loss->>'runner' = $1 AND l.loss->>'cause' = 'died'
          THEN l.loss || jsonb_build_object('cause', 'blocked', 'millis', $4::int8)
          ELSE l.loss END ORDER BY l.place
      ) FILTER (
        WHERE l.loss->>'runner' <> $1 OR l.loss->>'cause' <> 'died' OR r.id = $3::text
      ), '[]') AS losses
      FROM jsonb_array_elements(r.losses) WITH ORDINALITY AS l (loss, place)
    ) kept
    WHERE ${isSuspect("o.losses")} FOR UPDATE OF o SKIP LOCKED
  ) o
), counted AS (
  UPDATE open_runs o SET losses = jsonb_array_length(b.losses)
  FROM blamed b WHERE o.run = b.run AND b.few = 'blamed'
), written_back AS (
  UPDATE runs r SET losses = b.losses
  FROM blamed b WHERE r.number = b.run AND b.few = 'blamed'
)`

const blockAdded = withLoss(
  "r",
  "$1::text",
  `'lostAt', ${nowMillis}`,
  "'cause', 'blocked'",
  "'millis', $3::int8",
)

/**
 * Adds a loss to a run that has blocked its owner. Parameters: $1 the owner, which gives up its
 * runs now, $2 the run, $3 for how many milliseconds it has blocked.
 */
export const block = `
WITH mine AS MATERIALIZED (
  SELECT r.number AS run, 'mine' AS few, ${blockAdded} AS losses FROM runs r CROSS JOIN LATERAL (
    SELECT FROM open_runs o WHERE o.run = r.number AND o.owner = $1 FOR UPDATE SKIP LOCKED
  ) o
  WHERE r.id = $2 AND json_array_length(r.active) > 0 FOR UPDATE OF r SKIP LOCKED
), counted AS (
  UPDATE open_runs o SET losses = jsonb_array_length(m.losses)
  FROM mine m WHERE o.run = m.run AND m.few = 'mine'
)
UPDATE runs r SET losses = m.losses FROM mine m WHERE r.number = m.run AND m.few = 'mine'`

/** A run with losses, and the runner that executes it. */
interface Found {
  readonly id: RunId
  readonly holder: RunnerId | null
}

/** Open runs with losses, oldest first. The holder is `null` unless it has a lease. */
export const suspects = (
  sql: SqlClient,
  limit: number,
): Effect.Effect<ReadonlyArray<Found>, SqlError> =>
  sql<Found>`
    SELECT r.id, u.id AS holder FROM (
      SELECT run, owner, created_at FROM open_runs WHERE ${sql.literal(isSuspect("losses"))}
      ORDER BY created_at, run LIMIT ${limit}
    ) o CROSS JOIN LATERAL (
      SELECT id FROM runs r WHERE r.number = o.run OFFSET 0
    ) r LEFT JOIN LATERAL (
      SELECT id FROM runners u
      WHERE u.id = o.owner AND u.lease_until > ${sql.literal(nowMillis)} OFFSET 0
    ) u ON true ORDER BY o.created_at, o.run`

/** Removes the losses of an open run. False if it has none. */
export const clearLosses = (sql: SqlClient, id: RunId): Effect.Effect<boolean, SqlError> =>
  Effect.map(
    sql`WITH suspect AS MATERIALIZED (
      SELECT o.run, 'suspect' AS few FROM (
        SELECT number FROM runs WHERE id = ${Rows.text(id)} FOR UPDATE
      ) r CROSS JOIN LATERAL (
        SELECT run FROM open_runs o WHERE o.run = r.number AND o.losses > 0 FOR UPDATE
      ) o
    ), counted AS (
      UPDATE open_runs o SET losses = 0 FROM suspect s WHERE o.run = s.run AND s.few = 'suspect'
    )
    UPDATE runs r SET losses = '[]' FROM suspect s
    WHERE r.number = s.run AND s.few = 'suspect' RETURNING r.id`,
    (rows) => rows.length > 0,
  )
