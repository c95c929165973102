/**
 * The statement of a claim. The database decides whose turn it is.
 *
 * Read the statement from its end. Postgres evaluates recursive queries, unions and limits lazily,
 * so a run is looked for and locked only if the earlier parts gave too few runs.
 *
 * Guarantees: a claim reads the runs that it takes, the runs that other claims are taking, and one
 * row for each owner. Under caps it also reads the owned runs of the accounts that it considers. It
 * never reads a whole table, even with a plan from when the table was empty. Claims at the same
 * time share the runs and do not wait for each other. Leaves out: what happens to the runs.
 *
 * Parameters: $1 the runner, $2 its lease in milliseconds, $3 the limit, $4 the ids of runs that
 * the runner cannot execute, $5 the account that had the last turn, $6 an object with the room of
 * some accounts, $7 the room of every other account, $8 how many due parked runs to look for (0 if
 * they are in the queue), $9 and $10 the caps per account and per workflow, if there are any.
 */
import { lossesPerRun, suspectsAtOnce } from "@millrace/core/domain/Limits"
import { millisOf } from "./DatabaseClock.ts"
import { isSuspect, withLoss } from "./Quarantine.ts"
import { ownName } from "./LocalProcess.ts"
import * as KeyChanges from "./KeyChanges.ts"
import { placeOf } from "./RunOrderTables.ts"
import * as Rows from "./Rows.ts"

/** How many due parked runs one statement puts into the queue at most. */
export const dueAtOnce = 1_000

/** The database's clock, in milliseconds since the epoch. */
export const nowMillis = millisOf("statement_timestamp()")

/** The same clock behind a lock. */
export const clockMillis = millisOf("clock_timestamp()")

/** The name of this process has no character that a literal of SQL would have to escape. */
const ownProcess = ownName === undefined ? "NULL" : `'${ownName}'`

/**
 * Begins or renews the lease of a runner, for each row of `source` if that is given. Notes in the
 * row if the lease had expired. The lease counts from when the row is written, so a statement that
 * took long does not shorten what a later one has renewed.
 */
export const renewal = (runner: string, leaseMillis: string, source = ""): string => `
  INSERT INTO runners AS r (id, lease_until, process)
  SELECT ${runner}::text, ${clockMillis} + ${leaseMillis}::int8, ${ownProcess} ${source}
  ON CONFLICT (id) DO UPDATE SET lease_until = ${clockMillis} + ${leaseMillis}::int8,
    returned_at = CASE
      WHEN r.lease_until <= ${clockMillis} THEN ${clockMillis} ELSE r.returned_at END`

/** Locks the run of each row of `open_runs`. Leaves out runs that are locked already. */
export const lockRun = `CROSS JOIN LATERAL (
    SELECT r.due_at, r.account_id, r.workflow_id FROM runs r
    WHERE r.number = o.run FOR UPDATE SKIP LOCKED
  ) locked`

/** A run that waits for its key is in no index of the queue. */
const isInQueue = "o.state = 'queued' AND NOT o.needs_key"

const isQueued = `${isInQueue} AND o.losses = 0`

/** The place of a queued run. The index of the queue has the same expression. */
const place = placeOf("o")

const isDue = `o.state = 'parked' AND o.due_at <= ${nowMillis} AND o.losses = 0`

/** How many runs wait for a claim, counted to $1: through the indexes of claims. */
export const queueLength = `
  SELECT count(*)::int4 AS value FROM (
    SELECT 1 FROM open_runs o WHERE ${isQueued} UNION ALL SELECT 1 FROM open_runs o WHERE ${isDue}
    LIMIT $1::int8
  ) waiting`

/** Leaves out the runs that the runner cannot execute. */
const isWanted = "o.run NOT IN (SELECT number FROM excepted)"

/**
 * The start of every walk through identifiers, before the first one. Comparing a text, such as the
 * name of a step, makes the planner expect few rows. Otherwise it reads whole tables, or spends
 * more time on compiling the statement than the statement takes.
 */
const front = `''::text COLLATE "C"`

const oneMore = (losses: string): string => `least(${losses} + 1, ${lossesPerRun})`

const lossAdded = withLoss("r", "r.owner", "'lostAt', t.lost_at", "'cause', 'died'")

/** The condition that a suspect may be taken, given the suspects that the runner has. */
const mayPass = `c.losses = 0 OR c.is_own
  OR (c.losses = 1 AND c.several = 0 AND o.several = 0 AND o.single + c.place <= ${suspectsAtOnce})
  OR (c.losses > 1 AND c.place = 1 AND o.single + o.several = 0)`

/**
 * The runs of owners whose lease has expired, and the claimable suspects without an owner. A run of
 * such an owner is read to see if it had attempts in progress; only then it gets a loss. This is
 * checked again when the run is locked.
 */
const expired = `held AS MATERIALIZED (
  SELECT count(*) FILTER (WHERE losses = 1) AS single, count(*) FILTER (WHERE losses > 1) AS several
  FROM open_runs WHERE owner = $1 AND ${isSuspect("losses")}
), expired AS (
  SELECT c.run, c.owner IS NULL AS had_none,
    CASE WHEN taken.is_at_work THEN c.lost_at END AS lost_at
  FROM (
    SELECT c.* FROM (
      SELECT l.*, count(*) FILTER (WHERE l.losses > 0 AND NOT l.is_own) OVER line AS place,
        count(*) FILTER (WHERE l.losses > 1 AND NOT l.is_own) OVER line AS several
      FROM (
        SELECT o.run, o.owner, o.created_at, o.losses AS known, o.is_own,
          CASE WHEN o.is_own THEN NULL ELSE o.lost_at END AS lost_at,
          CASE WHEN w.is_at_work THEN ${oneMore("o.losses")} ELSE o.losses END AS losses
        FROM (
          SELECT o.run, o.owner, o.created_at, o.losses, gone.lost_at, o.owner = $1 AS is_own
          FROM gone CROSS JOIN LATERAL (
            SELECT * FROM open_runs o
            WHERE o.owner = gone.id AND NOT o.needs_key AND ${isWanted} OFFSET 0
          ) o
          UNION ALL
          SELECT o.run, o.owner, o.created_at, o.losses, NULL, false FROM open_runs o
          WHERE o.owner IS NULL AND ${isSuspect("o.losses")} AND ${isWanted}
            AND (o.due_at IS NULL OR o.due_at <= ${nowMillis})
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

/** Each owner of open runs: one look into the index for each. */
const owners = `
owner (id, step) AS (
  SELECT ${front}, 'start'
  UNION ALL
  SELECT o.owner, 'next' FROM owner w CROSS JOIN LATERAL (
    SELECT owner FROM open_runs WHERE owner > w.id ORDER BY owner LIMIT 1
  ) o
)`

/**
 * The owners whose lease has expired. The statement jumps from owner to owner in the index, because
 * there are few owners even if there are many runs.
 */
const ownersGone = `${owners}, gone AS MATERIALIZED (
  SELECT w.id, u.lease_until AS lost_at FROM owner w LEFT JOIN LATERAL (
    SELECT lease_until FROM runners u WHERE u.id = w.id OFFSET 0
  ) u ON true WHERE w.step = 'next' AND (u.lease_until > ${nowMillis}) IS NOT TRUE
)`

/** Runs that wait for their key, and that somebody took over who has died. */
const keylessRuns = `
  SELECT o.run FROM gone CROSS JOIN LATERAL (
    SELECT o.run FROM open_runs o WHERE o.owner = gone.id AND o.needs_key OFFSET 0
  ) o`

/** Lets such runs wait for their key again. Only one process at a time may do that. */
export const requeueWithoutKeys = `
WITH RECURSIVE ${ownersGone}, mine AS MATERIALIZED (
  SELECT o.*, 'mine' AS few FROM (${keylessRuns}) k CROSS JOIN LATERAL (
    SELECT o.run, o.account_id, o.workflow_id, o.concurrency_key, o.needs_key
    FROM open_runs o CROSS JOIN LATERAL (
      SELECT FROM runs r WHERE r.number = o.run FOR UPDATE
    ) locked WHERE o.run = k.run FOR UPDATE OF o
  ) o
), ${KeyChanges.addedBy("mine")}, placed AS (
  UPDATE open_runs o SET owner = NULL, ready_at = NULL
  FROM mine m WHERE o.run = m.run AND m.few = 'mine'
)
UPDATE runs r SET fencing_token = r.fencing_token + 1, owner = NULL
FROM mine m WHERE r.number = m.run AND m.few = 'mine'`

/** The runs to claim that are not in the queue. */
const comingBack = `${ownersGone}, excepted AS MATERIALIZED (
  SELECT r.number FROM unnest($4::text[]) AS e (id) CROSS JOIN LATERAL (
    SELECT number FROM runs r WHERE r.id = e.id OFFSET 0
  ) r
), ${expired}`

/** How many runs of an account this claim may take, by the room of its runner. */
const roomHere = (account: string): string =>
  `coalesce(($6::jsonb ->> ${account})::float8, $7::float8)`

/** The accounts in the queue after one, up to a bound. */
const accountsInQueue = (name: string, from: string, bound: string): string => `
${name} (step, account_id) AS (
  SELECT 'start', ${from}
  UNION ALL
  SELECT 'next', o.account_id FROM ${name} t CROSS JOIN LATERAL (
    SELECT o.account_id FROM open_runs o
    WHERE ${isQueued} AND o.account_id > t.account_id AND ${bound} ORDER BY o.account_id LIMIT 1
  ) o
)`

/** The accounts in the queue in the order of their turns, with their room. */
const accounts = (room: string, beside = ""): string => `
${accountsInQueue("behind", `$5::text COLLATE "C"`, "true")},
${accountsInQueue("before", front, "o.account_id <= $5")},
roomy AS (
  SELECT a.account_id, a.room FROM (
    SELECT a.account_id, ${room} AS room
    FROM (SELECT * FROM behind UNION ALL SELECT * FROM before) a ${beside}
    WHERE a.step = 'next' OFFSET 0
  ) a WHERE a.room > 0
)`

/**
 * The due parked runs, if there is nothing else to take and this claim may take all of them. In
 * every other case they must be put into the queue first, so that the same rule of turns applies to
 * all runs. Then this claim takes nothing and says so.
 */
const takenWhereDue = `
seen AS MATERIALIZED (
  SELECT o.run, o.needs_key FROM open_runs o WHERE ${isDue} AND ${isWanted}
  ORDER BY o.due_at, o.run LIMIT $8::int8
), due AS (
  SELECT s.run FROM seen s CROSS JOIN LATERAL (
    SELECT FROM open_runs o ${lockRun}
    WHERE o.run = s.run AND ${isDue} AND NOT o.needs_key FOR UPDATE OF o SKIP LOCKED
  ) taken
)`

/** The condition that due runs must be put into the queue first. */
const isHeldByDue = `EXISTS (SELECT FROM seen) AND (
    (
      SELECT o.run FROM open_runs o WHERE ${isQueued}
      ORDER BY o.account_id, ${place}, o.run LIMIT 1
    ) IS NOT NULL OR EXISTS (SELECT FROM expired) OR (SELECT count(*) FROM seen) = $8::int8
    OR EXISTS (SELECT FROM seen WHERE needs_key)
  )`

/** The first queued run of an account that no other claim is taking, after a bound. */
const nextOf = (account: string, bound: string): string => `
  SELECT ${place} AS position, o.run FROM open_runs o ${lockRun}
  WHERE ${isQueued} AND ${isWanted} AND o.account_id = ${account} AND ${bound}
  ORDER BY ${place}, o.run LIMIT 1 FOR UPDATE OF o SKIP LOCKED`

/** All turns. The working table of the recursion has one run of each account. */
const turns = `
${takenWhereDue},
${accounts(roomHere("a.account_id"))},
queued (account_id, room, turn, position, run) AS (
  SELECT a.account_id, a.room, 1, o.* FROM roomy a CROSS JOIN LATERAL (
    ${nextOf("a.account_id", "true")}
  ) o
  UNION ALL
  SELECT t.account_id, t.room, t.turn + 1, o.* FROM queued t CROSS JOIN LATERAL (
    ${nextOf("t.account_id", `(${place}, o.run) > (t.position, t.run) AND t.turn < t.room`)}
  ) o
)`

const hasCapByWorkflow = "$10::float8 < 'Infinity'"

/**
 * How many runs of an account that meet a condition have an owner, or are claimed by this claim
 * outside of the queue. Owned runs are counted by owner, up to a cap. The sorted range of a single
 * account makes the planner walk the index.
 */
const busy = (account: string, condition: string, cap: string): string => `((
    SELECT count(*) FROM (
      SELECT b.run FROM owner w CROSS JOIN LATERAL (
        SELECT b.run FROM open_runs b WHERE b.owner = w.id AND ${condition}
          AND b.account_id >= ${account} AND b.account_id <= ${account}
        ORDER BY b.account_id OFFSET 0
      ) b WHERE w.step = 'next' LIMIT least(${cap}, 2147483647)
    ) b
  ) + (SELECT count(*) FROM adopted b WHERE b.account_id = ${account} AND ${condition}))`

/** The cap of an account: its own, or the general one. */
const cap = `CROSS JOIN LATERAL (
      SELECT coalesce(
        (SELECT own.runs_at_once FROM accounts own WHERE own.id = a.account_id), $9::float8
      ) AS runs OFFSET 0
    ) cap`

/** How many more runs of an account this claim may take, by room and cap. */
const roomAnywhere = `least(${roomHere("a.account_id")},
    CASE WHEN cap.runs = 'Infinity' THEN cap.runs
      ELSE cap.runs - ${busy("a.account_id", "true", "cap.runs")} END)`

const roomOfWorkflow = (account: string): string =>
  `$10::float8 - ${busy(account, "b.workflow_id = l.workflow_id", "$10::float8")}`

/**
 * The queued runs of an account for which its workflows have room. If workflows are capped, they
 * are read one by one, so the runs of a full workflow are not read.
 */
const runsOf = (account: string): string => `
  WITH RECURSIVE line (workflow_id) AS (
    SELECT ${front} WHERE ${hasCapByWorkflow}
    UNION ALL
    SELECT o.workflow_id FROM line l CROSS JOIN LATERAL (
      SELECT o.workflow_id FROM open_runs o
      WHERE ${isQueued} AND o.account_id = ${account} AND o.workflow_id > l.workflow_id
      ORDER BY o.workflow_id LIMIT 1
    ) o
  )
  SELECT o.position, o.run FROM line l CROSS JOIN LATERAL (
    SELECT ${place} AS position, o.run FROM open_runs o
    WHERE ${isQueued} AND o.account_id = ${account} AND o.workflow_id = l.workflow_id
      AND ${isWanted}
    ORDER BY ${place}, o.run
    LIMIT greatest(0, least($3::float8, ${roomOfWorkflow(account)}))
  ) o
  UNION ALL
  SELECT o.position, o.run FROM (
    SELECT ${place} AS position, o.run FROM open_runs o
    WHERE NOT ${hasCapByWorkflow} AND ${isQueued} AND o.account_id = ${account} AND ${isWanted}
    ORDER BY ${place}, o.run LIMIT $3::int8
  ) o`

/**
 * The turns under caps. Only one claim at a time may count. It considers accounts, and counts their
 * owned runs, until enough accounts have room. Under caps, all due runs go through the queue.
 */
const cappedTurns = `
back AS MATERIALIZED (
  SELECT run, had_none, lost_at FROM expired LIMIT $3::int8
), adopted AS MATERIALIZED (
  SELECT o.account_id, o.workflow_id FROM back b CROSS JOIN LATERAL (
    SELECT o.account_id, o.workflow_id FROM open_runs o WHERE o.run = b.run OFFSET 0
  ) o WHERE b.had_none
), seen AS MATERIALIZED (
  SELECT o.run, o.needs_key FROM open_runs o WHERE ${isDue} AND ${isWanted}
  ORDER BY o.due_at, o.run LIMIT least($8::int8, 1)
),
${accounts(roomAnywhere, cap)},
account AS MATERIALIZED (
  SELECT a.*, row_number() OVER () AS place FROM (
    SELECT a.* FROM roomy a WHERE EXISTS (${runsOf("a.account_id")} OFFSET 0) LIMIT $3::int8
  ) a
), queued AS (
  SELECT c.run FROM (
    SELECT o.run FROM account a CROSS JOIN LATERAL (
      SELECT o.run, row_number() OVER (ORDER BY o.position, o.run) AS turn
      FROM (${runsOf("a.account_id")}) o ORDER BY turn LIMIT least($3::float8, a.room)
    ) o ORDER BY o.turn, a.place
  ) c CROSS JOIN LATERAL (
    SELECT FROM open_runs o ${lockRun}
    WHERE o.run = c.run AND ${isQueued} FOR UPDATE OF o SKIP LOCKED
  ) taken
)`

/** A column of `open_runs` that servers of the previous version do not write. */
const ofRun = (column: string): string =>
  `${column} = coalesce(o.${column}, (SELECT r.${column} FROM runs r WHERE r.number = o.run))`

/**
 * Takes the runs of the parts. A claim that is held up by due runs does not renew the lease: it is
 * repeated, and must then find the runner's losses.
 */
const statement = (queue: string, parts: string): string => `
WITH RECURSIVE ${comingBack}, ${queue}, verdict AS MATERIALIZED (
  SELECT ${KeyChanges.hasChanges} OR EXISTS (${keylessRuns}) OR ${isHeldByDue} AS is_held
), taken AS MATERIALIZED (
  SELECT t.*, row_number() OVER () AS place, 'taken' AS few FROM (
    ${parts}
    LIMIT (SELECT CASE WHEN v.is_held THEN 0 ELSE $3::int8 END FROM verdict v)
  ) t
), lease AS (${renewal("$1", "$2", "FROM verdict v WHERE NOT v.is_held")}
), placed AS (
  UPDATE open_runs o SET owner = $1, ${ofRun("account_id")}, ${ofRun("workflow_id")},
    losses = CASE WHEN t.lost_at IS NULL THEN o.losses ELSE ${oneMore("o.losses")} END
  FROM taken t WHERE o.run = t.run AND t.few = 'taken'
), claimed AS (
  UPDATE runs r SET fencing_token = r.fencing_token + 1, owner = $1,
    losses = CASE WHEN t.lost_at IS NULL THEN r.losses ELSE ${lossAdded} END
  FROM taken t WHERE r.number = t.run AND t.few = 'taken'
  RETURNING r.*, t.place, t.part
), answer AS (
  SELECT 0 AS place, NULL AS part, NULL AS run FROM verdict v WHERE v.is_held
  UNION ALL
  SELECT r.place, r.part, ${Rows.object(Rows.runs, "r")} FROM claimed r
)
SELECT run, part FROM answer ORDER BY place`

/** Takes runs without caps. */
export const uncapped: string = statement(
  turns,
  `SELECT run, lost_at, 'expired' AS part FROM expired
    UNION ALL SELECT run, NULL, 'due' FROM due UNION ALL SELECT run, NULL, 'queued' FROM queued`,
)

/** Takes runs under caps. Correct only if no other claim under caps runs at the same time. */
export const capped: string = statement(
  cappedTurns,
  `SELECT run, lost_at, 'expired' AS part FROM back
    UNION ALL SELECT run, NULL, 'queued' FROM queued`,
)

/**
 * Says whether there is anything to claim, and renews the lease if there is not. It is much cheaper
 * than a claim that finds nothing. Parameters: $1 the runner, $2 its lease in milliseconds.
 */
export const look: string = `
WITH RECURSIVE ${ownersGone}, found AS MATERIALIZED (
  SELECT EXISTS (SELECT FROM gone) OR (
    SELECT o.run FROM open_runs o WHERE ${isInQueue}
    ORDER BY o.account_id, ${place}, o.run LIMIT 1
  ) IS NOT NULL OR ${KeyChanges.hasChanges} OR (
    SELECT o.run FROM open_runs o WHERE o.state = 'parked' AND o.due_at <= ${nowMillis}
    ORDER BY o.due_at, o.run LIMIT 1
  ) IS NOT NULL AS anything
), lease AS (${renewal("$1", "$2", "FROM found f WHERE NOT f.anything")})
SELECT anything FROM found`

/** Puts due parked runs into the queue, the longest due first, at most `dueAtOnce`. */
export const queueDue: string = `
WITH due AS MATERIALIZED (
  SELECT o.run, 'due' AS few FROM open_runs o WHERE ${isDue}
  ORDER BY o.due_at, o.run LIMIT ${dueAtOnce} FOR UPDATE SKIP LOCKED
), moved AS (
  UPDATE open_runs o SET due_at = NULL, ready_at = o.due_at FROM due d
  WHERE o.run = d.run AND d.few = 'due'
  RETURNING o.account_id, o.workflow_id, o.concurrency_key, o.needs_key
), ${KeyChanges.addedBy("moved")}
SELECT count(*)::int AS count FROM moved`

/** The rows of a condition on the open runs of the account $1, counted to $2. */
const counted = (condition: string): string => `(SELECT count(*)::int4 FROM (
    SELECT 1 FROM open_runs o WHERE o.account_id = $1 AND ${condition} LIMIT $2::int8
  ) c)`

/**
 * The load of an account. Parameters: $1 the account, $2 how far to count what waits, $3 and $4 the
 * workflow and the concurrency key, or NULL.
 */
export const load: string = `
WITH RECURSIVE ${owners}
SELECT ${counted(isQueued)} AS queued,
  ${counted("o.concurrency_key IS NOT NULL AND o.needs_key AND o.state = 'queued'")} AS keyless, (
    SELECT count(*)::int4 FROM owner w CROSS JOIN LATERAL (
      SELECT FROM open_runs b WHERE b.owner = w.id AND b.account_id >= $1 AND b.account_id <= $1
      ORDER BY b.account_id OFFSET 0
    ) b WHERE w.step = 'next'
  ) AS owned, ${counted(
    "o.workflow_id = $3 AND o.concurrency_key = $4 AND (NOT o.needs_key OR o.state = 'queued')",
  )} AS "ofKey",
  (SELECT a.runs_at_once FROM accounts a WHERE a.id = $1) AS "runsAtOnce"`
