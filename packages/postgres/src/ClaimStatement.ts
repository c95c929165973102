/**
 * The statement of a claim: whose turn it is, decided where the rows are.
 *
 * It is written to be read from its end: a run is only looked for, and only locked, when those
 * before it were too few. That is how Postgres evaluates recursive queries, unions and limits.
 *
 * Guarantees: a claim reads what it takes, what somebody else is taking, and one row for each
 * owner; never a whole table, also not with a plan that was made when it was empty. Claims that
 * happen at once share what there is, and nobody waits for anybody. Leaves out: who asks, and what
 * becomes of the runs.
 *
 * Parameters: $1 runner, $2 milliseconds of its lease, $3 limit, $4 identifiers of runs that the
 * runner cannot execute, $5 the account whose turn was last; $6 and $7 the caps per account and
 * per workflow, where there are any.
 */
import { lossesPerRun, suspectsAtOnce } from "@millrace/core/domain/Limits"
import { millisOf } from "./DatabaseClock.ts"
import { withLoss } from "./Quarantine.ts"
import * as Rows from "./Rows.ts"

/** The database's clock, in milliseconds since the epoch. */
export const nowMillis = millisOf("statement_timestamp()")

/** Renews the lease of a runner, or begins it. */
export const renewal = (runner: string, leaseMillis: string): string => `
  INSERT INTO runners AS r (id, lease_until)
  VALUES (${runner}, ${nowMillis} + ${leaseMillis}::int8)
  ON CONFLICT (id) DO UPDATE SET lease_until = excluded.lease_until,
    returned_at = CASE WHEN r.lease_until <= ${nowMillis} THEN ${nowMillis} ELSE r.returned_at END`

/** Locks the run of each open one, and leaves out those that somebody is about to write. */
export const lockRun = `CROSS JOIN LATERAL (
    SELECT r.due_at, r.account_id, r.workflow_id FROM runs r
    WHERE r.number = o.run FOR UPDATE SKIP LOCKED
  ) locked`

const isQueued = "o.owner IS NULL AND o.due_at IS NULL AND o.losses = 0"

/** Leaves out the runs that the runner cannot execute. */
const isWanted = "o.run NOT IN (SELECT number FROM excepted)"

/**
 * Where every walk through identifiers begins: in front of the first one. Comparing a text, such as
 * the name of a step, tells the planner to expect few rows: else it reads whole tables, or takes
 * its time to compile a statement that is over before.
 */
const front = `''::text COLLATE "C"`

const oneMore = (losses: string): string => `least(${losses} + 1, ${lossesPerRun})`

const lossAdded = withLoss("r", "r.owner", "'lostAt', t.lost_at", "'cause', 'died'")

/** Beside which suspects one may be taken, and behind which in line. */
const mayPass = `c.losses = 0 OR c.is_own
  OR (c.losses = 1 AND c.heavy = 0 AND o.heavy = 0 AND o.light + c.place <= ${suspectsAtOnce})
  OR (c.losses > 1 AND c.place = 1 AND o.light + o.heavy = 0)`

/**
 * Runs of owners that are gone, and suspects that nobody owns, as far as the line of suspects goes.
 * Those of an owner whose lease ran out are read, to see whether it had attempts in progress: only
 * then has the run lost it. Whether it still has is seen once more when the run is locked.
 */
const expired = `held AS MATERIALIZED (
  SELECT count(*) FILTER (WHERE losses = 1) AS light, count(*) FILTER (WHERE losses > 1) AS heavy
  FROM open_runs WHERE owner = $1 AND losses > 0
), expired AS (
  SELECT c.run, c.owner IS NULL AS had_none,
    CASE WHEN taken.is_at_work THEN c.lost_at END AS lost_at
  FROM (
    SELECT c.* FROM (
      SELECT l.*, count(*) FILTER (WHERE l.losses > 0 AND NOT l.is_own) OVER line AS place,
        count(*) FILTER (WHERE l.losses > 1 AND NOT l.is_own) OVER line AS heavy
      FROM (
        SELECT o.run, o.owner, o.created_at, o.losses AS known, o.is_own,
          CASE WHEN o.is_own THEN NULL ELSE o.lost_at END AS lost_at,
          CASE WHEN w.is_at_work THEN ${oneMore("o.losses")} ELSE o.losses END AS losses
        FROM (
          SELECT o.run, o.owner, o.created_at, o.losses, gone.lost_at, o.owner = $1 AS is_own
          FROM gone CROSS JOIN LATERAL (
            SELECT * FROM open_runs o WHERE o.owner = gone.id AND ${isWanted} OFFSET 0
          ) o
          UNION ALL
          SELECT o.run, o.owner, o.created_at, o.losses, NULL, false FROM open_runs o
          WHERE o.owner IS NULL AND o.losses > 0 AND o.due_at IS NULL AND ${isWanted}
        ) o LEFT JOIN LATERAL (
          SELECT json_array_length(r.active) > 0 AS is_at_work FROM runs r
          WHERE r.number = o.run AND o.lost_at IS NOT NULL AND NOT o.is_own OFFSET 0
        ) w ON true
      ) l WINDOW line AS (ORDER BY l.created_at, l.run)
    ) c CROSS JOIN held o WHERE ${mayPass} ORDER BY c.created_at, c.run
  ) c CROSS JOIN LATERAL (
    SELECT locked.is_at_work FROM open_runs o CROSS JOIN LATERAL (
      SELECT json_array_length(r.active) > 0 AS is_at_work FROM runs r
      WHERE r.number = o.run FOR UPDATE SKIP LOCKED
    ) locked
    WHERE o.run = c.run AND o.owner IS NOT DISTINCT FROM c.owner AND o.losses = c.known
    FOR UPDATE OF o SKIP LOCKED
  ) taken
)`

/**
 * Runs that have been out of the queue before. Owners are read by jumping from one to the next in
 * their index: there are few, also where runs are many.
 */
const comingBack = `
owner (id, step) AS (
  SELECT ${front}, 'start'
  UNION ALL
  SELECT o.owner, 'next' FROM owner w CROSS JOIN LATERAL (
    SELECT owner FROM open_runs WHERE owner > w.id ORDER BY owner LIMIT 1
  ) o
), gone AS MATERIALIZED (
  SELECT w.id, u.lease_until AS lost_at FROM owner w LEFT JOIN LATERAL (
    SELECT lease_until FROM runners u WHERE u.id = w.id OFFSET 0
  ) u ON true WHERE w.step = 'next' AND (u.lease_until > ${nowMillis}) IS NOT TRUE
), excepted AS MATERIALIZED (
  SELECT r.number FROM unnest($4::text[]) AS e (id) CROSS JOIN LATERAL (
    SELECT number FROM runs r WHERE r.id = e.id OFFSET 0
  ) r
), ${expired}, due AS (
  SELECT c.run FROM (
    SELECT o.run FROM open_runs o
    WHERE o.owner IS NULL AND o.due_at <= ${nowMillis} AND ${isWanted} ORDER BY o.due_at, o.run
  ) c CROSS JOIN LATERAL (
    SELECT FROM open_runs o ${lockRun}
    WHERE o.run = c.run AND o.owner IS NULL AND o.due_at <= ${nowMillis}
    FOR UPDATE OF o SKIP LOCKED
  ) taken LIMIT $3::int8
), back AS MATERIALIZED (
  SELECT run, had_none, lost_at FROM expired UNION ALL SELECT run, true, NULL FROM due
  LIMIT $3::int8
)`

/** The first queued run, by account and age, that meets a condition and that nobody is taking. */
const firstQueued = (condition: string): string => `
  SELECT o.account_id, o.created_at, o.run FROM open_runs o ${lockRun}
  WHERE ${isQueued} AND ${isWanted} AND ${condition}
  ORDER BY o.account_id, o.created_at, o.run LIMIT 1 FOR UPDATE OF o SKIP LOCKED`

/** The oldest queued run of each account behind one, as far as a bound. */
const firstTurn = (name: string, from: string, bound: string): string => `
${name} (step, account_id, created_at, run) AS (
  SELECT 'start', ${from}, 0::int8, 0::int8
  UNION ALL
  SELECT 'next', o.* FROM ${name} t CROSS JOIN LATERAL (
    ${firstQueued(`o.account_id > t.account_id AND ${bound}`)}
  ) o
)`

/** All turns: the working table of the recursion holds one run of each account. */
const turns = `
${firstTurn("behind", `$5::text COLLATE "C"`, "true")},
${firstTurn("before", front, "o.account_id <= $5")},
queued (account_id, created_at, run) AS (
  SELECT account_id, created_at, run FROM behind WHERE step = 'next'
  UNION ALL
  SELECT account_id, created_at, run FROM before WHERE step = 'next'
  UNION ALL
  SELECT o.* FROM queued t CROSS JOIN LATERAL (
    ${firstQueued("o.account_id = t.account_id AND (o.created_at, o.run) > (t.created_at, t.run)")}
  ) o
)`

/** The accounts in the queue behind one, as far as a bound. */
const accountsInQueue = (name: string, from: string, bound: string): string => `
${name} (step, account_id) AS (
  SELECT 'start', ${from}
  UNION ALL
  SELECT 'next', o.account_id FROM ${name} t CROSS JOIN LATERAL (
    SELECT o.account_id FROM open_runs o
    WHERE ${isQueued} AND o.account_id > t.account_id AND ${bound} ORDER BY o.account_id LIMIT 1
  ) o
)`

/** How many more runs may have an owner, of those of which something holds. */
const roomOf = (condition: string, cap: string): string =>
  `${cap}::float8 - (SELECT coalesce(sum(b.runs), 0)::float8 FROM busy b WHERE ${condition})`

const roomOfWorkflow = (account: string): string =>
  roomOf(`b.account_id = ${account} AND b.workflow_id = l.workflow_id`, "$7")

/**
 * The queued runs of an account that its workflows have room for, workflow by workflow, so that
 * those of a full one are not read, however many there are.
 */
const runsOf = (account: string): string => `
  WITH RECURSIVE line (workflow_id) AS (
    SELECT ${front}
    UNION ALL
    SELECT o.workflow_id FROM line l CROSS JOIN LATERAL (
      SELECT o.workflow_id FROM open_runs o
      WHERE ${isQueued} AND o.account_id = ${account} AND o.workflow_id > l.workflow_id
      ORDER BY o.workflow_id LIMIT 1
    ) o
  )
  SELECT o.created_at, o.run FROM line l CROSS JOIN LATERAL (
    SELECT o.created_at, o.run FROM open_runs o
    WHERE ${isQueued} AND o.account_id = ${account} AND o.workflow_id = l.workflow_id
      AND ${isWanted}
    ORDER BY o.created_at, o.run
    LIMIT greatest(0, least($3::float8, ${roomOfWorkflow(account)}))
  ) o`

/** The same turns under caps, for whoever counts alone. */
const cappedTurns = `
busy AS MATERIALIZED (
  SELECT coalesce(o.account_id, r.account_id) AS account_id,
    coalesce(o.workflow_id, r.workflow_id) AS workflow_id, count(*) AS runs
  FROM (
    SELECT o.run, o.account_id, o.workflow_id FROM owner w CROSS JOIN LATERAL (
      SELECT * FROM open_runs o WHERE o.owner = w.id OFFSET 0
    ) o WHERE w.step = 'next'
    UNION ALL
    SELECT run, NULL, NULL FROM back WHERE had_none
  ) o LEFT JOIN LATERAL (
    SELECT account_id, workflow_id FROM runs r
    WHERE o.account_id IS NULL AND r.number = o.run OFFSET 0
  ) r ON true GROUP BY 1, 2
),
${accountsInQueue("behind", `$5::text COLLATE "C"`, "true")},
${accountsInQueue("before", front, "o.account_id <= $5")},
account AS MATERIALIZED (
  SELECT a.*, row_number() OVER () AS place FROM (
    SELECT a.account_id, r.room FROM (SELECT * FROM behind UNION ALL SELECT * FROM before) a
    CROSS JOIN LATERAL (
      SELECT ${roomOf("b.account_id = a.account_id", "$6")} AS room OFFSET 0
    ) r
    WHERE a.step = 'next' AND r.room > 0 AND EXISTS (${runsOf("a.account_id")} OFFSET 0)
    LIMIT $3::int8
  ) a
), queued AS (
  SELECT c.run FROM (
    SELECT o.run FROM account a CROSS JOIN LATERAL (
      SELECT o.run, row_number() OVER (ORDER BY o.created_at, o.run) AS turn
      FROM (${runsOf("a.account_id")}) o ORDER BY turn LIMIT least($3::float8, a.room)
    ) o ORDER BY o.turn, a.place
  ) c CROSS JOIN LATERAL (
    SELECT FROM open_runs o ${lockRun}
    WHERE o.run = c.run AND ${isQueued} FOR UPDATE OF o SKIP LOCKED
  ) taken
)`

const statement = (queue: string): string => `
WITH RECURSIVE ${comingBack}, ${queue}, taken AS MATERIALIZED (
  SELECT t.run, t.lost_at, row_number() OVER () AS place, 'taken' AS few FROM (
    SELECT run, lost_at FROM back UNION ALL SELECT run, NULL FROM queued LIMIT $3::int8
  ) t
), lease AS (${renewal("$1", "$2")}
), placed AS (
  UPDATE open_runs o SET owner = $1,
    losses = CASE WHEN t.lost_at IS NULL THEN o.losses ELSE ${oneMore("o.losses")} END
  FROM taken t WHERE o.run = t.run AND t.few = 'taken'
), claimed AS (
  UPDATE runs r SET fence = r.fence + 1, owner = $1,
    losses = CASE WHEN t.lost_at IS NULL THEN r.losses ELSE ${lossAdded} END
  FROM taken t WHERE r.number = t.run AND t.few = 'taken'
  RETURNING r.*, t.place
)
SELECT ${Rows.object(Rows.runs, "r")} AS run FROM claimed r ORDER BY place`

/** Takes as many runs as are asked for. */
export const freely: string = statement(turns)

/** Takes no more than the caps leave; right only while nobody else takes runs under caps. */
export const sparingly: string = statement(cappedTurns)
