/**
 * How runs are written: the commits of many runs as one statement, each with its own outcome.
 *
 * Guarantees: a commit is applied as a whole or not at all; the guard is part of the statement, so
 * whoever was fenced off writes nothing. Leaves out: gathering commits.
 */
import { startKeyMillis } from "@millrace/core/domain/Idempotency"
import type { RunCommit } from "@millrace/core/ports/RunStore"
import { Effect } from "effect"
import type { SqlClient } from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"
import * as DeliveryRecords from "./DeliveryRecords.ts"
import * as DeliveryRows from "./DeliveryRows.ts"
import * as Rows from "./Rows.ts"
import * as StartKeys from "./StartKeys.ts"

const ownedNodeRuns = Rows.owned(Rows.nodeRuns)
const ownedEvents = Rows.owned(Rows.events)

const firstBirth = 1
const firstStep = firstBirth + Rows.births.length
const firstDefinition = firstStep + Rows.steps.length
const firstNodeRun = firstDefinition + Rows.definitions.length
const firstRewritten = firstNodeRun + ownedNodeRuns.length
const firstEvent = firstRewritten + ownedNodeRuns.length
const firstDelivery = firstEvent + ownedEvents.length

const copied = <Row>(table: Rows.Table<Row>, alias: string): string =>
  table.map(({ name }) => `${name} = ${alias}.${name}`).join(", ")

// Comparing `expected` or `few` with a text tells the planner to expect few rows, so that it looks
// rows up by their key, also in a plan that was made when the table was empty.
const statementWith = (named: string, isFree: string, sent: string): string => `
WITH ${named} created AS (
  INSERT INTO runs (${Rows.names(Rows.runs)})
  SELECT ${Rows.names(Rows.runs)} FROM ${Rows.source(Rows.births, "b", firstBirth)}
  ${isFree}
  ON CONFLICT (id) DO NOTHING
  RETURNING number, id, definition_id, account_id, workflow_id, owner, due_at, created_at, status
), advanced AS (
  UPDATE runs r
  SET ${copied(Rows.progress, "s")}, owner = CASE WHEN s.due_at IS NULL THEN r.owner END
  FROM ${Rows.source(Rows.steps, "s", firstStep)}
  WHERE s.expected = 'Existing' AND r.id = s.id AND ${Rows.isOf("r.account_id", "s.account_id")}
    AND r.fence = s.expected_fence AND r.revision = s.expected_revision
    AND r.status IN ('QUEUED', 'RUNNING')
  RETURNING r.number, r.id, r.status, r.owner, r.due_at, r.account_id, r.workflow_id
), applied AS (
  SELECT number, id, 'applied' AS few FROM created
  UNION ALL
  SELECT number, id, 'applied' FROM advanced
), opened AS (
  INSERT INTO open_runs (run, owner, due_at, created_at, account_id, workflow_id)
  SELECT number, owner, due_at, created_at,
    CASE WHEN owner IS NULL THEN account_id END, CASE WHEN owner IS NULL THEN workflow_id END
  FROM created WHERE status IN ('QUEUED', 'RUNNING')
), let_go AS (
  UPDATE open_runs o SET owner = NULL, due_at = a.due_at, account_id = a.account_id,
    workflow_id = a.workflow_id
  FROM advanced a
  WHERE o.run = a.number AND a.owner IS NULL AND a.status IN ('QUEUED', 'RUNNING')
), closed AS (
  DELETE FROM open_runs o USING advanced a
  WHERE o.run = a.number AND a.status IN ('COMPLETED', 'FAILED', 'CANCELED')
), defined AS (
  INSERT INTO definitions (${Rows.names(Rows.definitions)})
  SELECT ${Rows.names(Rows.definitions, "d")}
  FROM ${Rows.source(Rows.definitions, "d", firstDefinition)}
  WHERE d.id IN (SELECT definition_id FROM created)
  ON CONFLICT (id) DO NOTHING
), noted AS (
  INSERT INTO node_runs (run, ${Rows.names(Rows.nodeRuns)})
  SELECT a.number, ${Rows.names(Rows.nodeRuns, "n")}
  FROM ${Rows.source(ownedNodeRuns, "n", firstNodeRun)}
  JOIN applied a ON a.id = n.run_id
), rewritten AS (
  UPDATE node_runs n SET ${copied(Rows.nodeRuns, "w")}
  FROM ${Rows.source(ownedNodeRuns, "w", firstRewritten)}
  JOIN applied a ON a.id = w.run_id
  WHERE n.run = a.number AND n.node_id = w.node_id AND a.few = 'applied'
), told AS (
  INSERT INTO run_events (run, ${Rows.names(Rows.events)})
  SELECT a.number, ${Rows.names(Rows.events, "e")}
  FROM ${Rows.source(ownedEvents, "e", firstEvent)}
  JOIN applied a ON a.id = e.run_id
)${sent}
SELECT id FROM applied`

// A subquery that gives one value is looked up by key, where NOT EXISTS might read the whole table.
/** Takes names that are free or no longer hold, in one order for every server. */
const named = `named AS (
  INSERT INTO start_keys AS k (account_id, key, run_id, body_hash, expires_at)
  SELECT account_id, start_key, id, body_hash, ${StartKeys.nowMillis} + ${startKeyMillis}
  FROM ${Rows.source(Rows.births, "b", firstBirth)}
  WHERE start_key IS NOT NULL AND (SELECT r.number FROM runs r WHERE r.id = b.id) IS NULL
  ORDER BY account_id, start_key
  ON CONFLICT (account_id, key) DO UPDATE
  SET run_id = excluded.run_id, body_hash = excluded.body_hash, expires_at = excluded.expires_at
  WHERE k.expires_at <= ${StartKeys.nowMillis}
  RETURNING k.run_id
),`

const isFree = "WHERE start_key IS NULL OR b.id IN (SELECT run_id FROM named)"

/** Puts deliveries on their way with the change that they tell of. */
const sent = `, sent AS (
  INSERT INTO deliveries (${Rows.names(DeliveryRows.deliveries)})
  SELECT ${Rows.names(DeliveryRows.deliveries, "d")}
  FROM ${Rows.source(DeliveryRows.deliveries, "d", firstDelivery)}
  JOIN applied a ON a.id = d.run_id
  RETURNING ${DeliveryRecords.sentColumns}
), ${DeliveryRecords.queued}`

// Apart from each other, so that commits of runs without a name or a webhook pay nothing for them.
const statements = {
  unnamed: { plain: statementWith("", "", ""), notifying: statementWith("", "", sent) },
  named: { plain: statementWith(named, isFree, ""), notifying: statementWith(named, isFree, sent) },
}

const owned =
  <Row>(rowsOf: (commit: RunCommit) => ReadonlyArray<Row>) =>
  (commit: RunCommit): ReadonlyArray<Rows.Owned<Row>> =>
    rowsOf(commit).map((row) => ({ runId: commit.run.id, row }))

/** In one order for every server, so that two of them never wait for each other in a circle. */
const ordered = <A>(rows: Iterable<A>, idOf: (row: A) => string): ReadonlyArray<A> =>
  [...rows].toSorted((a, b) => (idOf(a) < idOf(b) ? -1 : 1))

const definitionsOf = (commits: ReadonlyArray<RunCommit>) => {
  const byId = new Map(
    commits.flatMap(({ expected }) =>
      expected._tag === "New" ? [[expected.definition.id, expected.definition] as const] : [],
    ),
  )
  return ordered(byId.values(), ({ id }) => id)
}

const parametersOf = (commits: ReadonlyArray<RunCommit>) => {
  const inOrder = ordered(commits, ({ run }) => run.id)
  const births = inOrder.filter(({ expected }) => expected._tag === "New")
  return [
    ...Rows.parameters(Rows.births, births),
    ...Rows.parameters(
      Rows.steps,
      inOrder.filter(({ expected }) => expected._tag === "Existing"),
    ),
    ...Rows.parameters(Rows.definitions, definitionsOf(births)),
    ...Rows.parameters(ownedNodeRuns, commits.flatMap(owned(({ nodeRuns }) => nodeRuns))),
    ...Rows.parameters(ownedNodeRuns, commits.flatMap(owned(({ rewritten }) => rewritten))),
    ...Rows.parameters(ownedEvents, commits.flatMap(owned(({ events }) => events))),
  ]
}

const nameOf = ({ expected, run }: RunCommit): string | undefined =>
  expected._tag === "New" && expected.startKey !== undefined
    ? JSON.stringify([run.accountId, expected.startKey.key])
    : undefined

/** Without the births whose name an earlier one of the same group takes: one row, one writer. */
const withoutTwins = (commits: ReadonlyArray<RunCommit>): ReadonlyArray<RunCommit> => {
  const taken = new Set<string>()
  return commits.filter((commit) => {
    const name = nameOf(commit)
    if (name === undefined) return true
    const isFirst = !taken.has(name)
    taken.add(name)
    return isFirst
  })
}

interface Applied {
  readonly id: string
}

const send = (sql: SqlClient, all: ReadonlyArray<RunCommit>) => {
  const hasNames = all.some((commit) => nameOf(commit) !== undefined)
  const commits = hasNames ? withoutTwins(all) : all
  const parameters = parametersOf(commits)
  const { notifying, plain } = hasNames ? statements.named : statements.unnamed
  const deliveries = commits.flatMap((commit) => commit.deliveries)
  if (deliveries.length === 0) return sql.unsafe<Applied>(plain, parameters)
  const more = Rows.parameters(DeliveryRows.deliveries, deliveries)
  return sql.unsafe<Applied>(notifying, [...parameters, ...more])
}

/** Applies commits of different runs; true for those that were applied. */
export const write = (
  sql: SqlClient,
  commits: ReadonlyArray<RunCommit>,
): Effect.Effect<ReadonlyArray<boolean>, SqlError> =>
  Effect.suspend(() => send(sql, commits)).pipe(
    Effect.map((rows) => {
      const applied = new Set(rows.map(({ id }) => id))
      return commits.map(({ run }) => applied.has(Rows.text(run.id)))
    }),
  )
