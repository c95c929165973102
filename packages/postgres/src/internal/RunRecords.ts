/**
 * Reads runs: records, pages of runs, and events.
 *
 * Guarantees: one statement reads a record, so its parts are of the same moment. Leaves out:
 * writing.
 */
import type { AccountId, RunId } from "@millrace/core/domain/Id"
import { runsSearched } from "@millrace/core/domain/Limits"
import type {
  Definition,
  NodeRun,
  Run,
  RunRecord,
  RunSource,
  RunStatus,
} from "@millrace/core/domain/Run"
import { isTerminal } from "@millrace/core/domain/Run"
import type { RunEvent } from "@millrace/core/domain/RunEvent"
import type { NodeEnd } from "@millrace/core/domain/RunEvent"
import { merged } from "@millrace/core/domain/RunEvent"
import type { NodeRunByPorts } from "@millrace/core/domain/ImpliedInput"
import { withInputs } from "@millrace/core/domain/ImpliedInput"
import type {
  ChildQuery,
  EventsFound,
  EventsRequest,
  LatestOutput,
  RunQuery,
  RunStore,
} from "@millrace/core/ports/RunStore"
import { Effect, Option } from "effect"
import type { SqlClient } from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"
import type { DatabasePort } from "./DatabaseError.ts"
import * as PageClauses from "./PageClauses.ts"
import * as Rows from "./Rows.ts"
import * as RunActivity from "./RunActivity.ts"
import * as RunSearch from "./RunSearch.ts"
import * as StoredInputs from "./StoredInputs.ts"

/** A part of a record: a run, a definition or a node run. */
export interface Part {
  readonly id: string
  readonly run: Run | null
  readonly definition: Definition | null
  readonly node: NodeRun | null
}

const ofRuns = `
SELECT r.id, ${Rows.object(Rows.runs, "r")} AS run, NULL::json AS definition, NULL::json AS node
FROM chosen r
UNION ALL`

// Where $2 has no account for an id, the run may be of any account.
// OFFSET 0 makes Postgres look up rows by key. A join might read whole tables.
const statement = (head: string, isWanted = "true") => `
WITH chosen AS MATERIALIZED (
  SELECT r.* FROM (
    SELECT unnest(${Rows.unseen("$1::text[]")}) AS id, unnest($2::text[]) AS account
  ) wanted CROSS JOIN LATERAL (
    SELECT * FROM runs r WHERE r.id = wanted.id
      AND (wanted.account IS NULL OR ${Rows.isOf("r.account_id", "wanted.account")}) OFFSET 0
  ) r
)${head}
SELECT d.id, NULL::json AS run, ${Rows.object(Rows.definitions, "d")} AS definition,
  NULL::json AS node
FROM (SELECT DISTINCT definition_id FROM chosen WHERE ${isWanted}) c CROSS JOIN LATERAL (
  SELECT * FROM definitions d WHERE d.id = c.definition_id OFFSET 0
) d
UNION ALL
SELECT r.id, NULL, NULL, ${Rows.object(Rows.nodeRuns, "n")}
FROM chosen r CROSS JOIN LATERAL (
  SELECT * FROM node_runs n WHERE n.run = r.number OFFSET 0
) n`

const parts = statement(ofRuns)

const partsOfKnown = statement("", "NOT definition_id = ANY($3::text[])")

/** Makes records of their parts. */
export const assemble = (
  rows: ReadonlyArray<Part>,
  definitions = new Map<string, Definition>(),
): ReadonlyArray<RunRecord> => {
  const nodeRuns = new Map<string, Array<NodeRunByPorts>>()
  const runs: Array<Run> = []
  for (const { definition, id, node, run } of rows) {
    if (run !== null) runs.push(run)
    if (definition !== null) definitions.set(id, definition)
    if (node === null) continue
    const known = nodeRuns.get(id)
    if (known === undefined) nodeRuns.set(id, [StoredInputs.read(node)])
    else known.push(StoredInputs.read(node))
  }
  return runs.map((run) =>
    withInputs({
      run,
      definition: definitions.get(run.definitionId)!,
      nodeRuns: (nodeRuns.get(run.id) ?? []).toSorted((a, b) => a.ordinal - b.ordinal),
    }),
  )
}

/** The records of an account's runs, each once. Of any account if `account` is `null`. */
export const read = (
  sql: SqlClient,
  account: AccountId | null,
  ids: ReadonlyArray<RunId>,
): Effect.Effect<ReadonlyArray<RunRecord>, SqlError> => {
  const unique = [...new Set(ids.map(Rows.text))]
  const accounts = account === null ? [] : unique.map(() => account)
  return Effect.map(sql.unsafe<Part>(parts, [unique, accounts]), assemble)
}

/** A run, and the account that asks for it. */
export interface Wanted {
  readonly account: AccountId
  readonly id: RunId
}

/** For each, the record of the run if it is of that account. One statement reads all. */
export const readEach = (
  sql: SqlClient,
  wanted: ReadonlyArray<Wanted>,
): Effect.Effect<ReadonlyArray<Option.Option<RunRecord>>, SqlError> => {
  const distinct = Rows.distinct(wanted, ({ account, id }) => `${account} ${id}`)
  const columns = [distinct.map(({ id }) => Rows.text(id)), distinct.map(({ account }) => account)]
  return Effect.map(sql.unsafe<Part>(parts, columns), (rows) => {
    const records = new Map(assemble(rows).map((record) => [record.run.id, record]))
    return wanted.map(({ account, id }) => {
      const record = records.get(id)
      return record?.run.accountId === account ? Option.some(record) : Option.none()
    })
  })
}

/** Definitions that were read, by their ids. They never change. */
export interface KnownDefinitions {
  readonly get: (id: string) => Definition | undefined
  readonly set: (id: string, definition: Definition) => unknown
}

/**
 * The records of runs whose rows are known, in their order. Each run stays as it is here, even if
 * its row has changed. Definitions that are known are not read again: a run that waits often, such
 * as one with a loop, is claimed as often.
 */
export const complete = (
  sql: SqlClient,
  runs: ReadonlyArray<Run>,
  definitions: KnownDefinitions,
): Effect.Effect<ReadonlyArray<RunRecord>, SqlError> => {
  if (runs.length === 0) return Effect.succeed([])
  const found = new Map<string, Definition>()
  for (const { definitionId } of runs) {
    const definition = definitions.get(definitionId)
    if (definition !== undefined) found.set(definitionId, definition)
  }
  const ids = runs.map(({ id }) => Rows.text(id))
  const known = runs.map((run): Part => ({ id: run.id, run, definition: null, node: null }))
  return Effect.map(sql.unsafe<Part>(partsOfKnown, [ids, [], [...found.keys()]]), (rows) => {
    const records = assemble([...known, ...rows], found)
    for (const { definition } of records) definitions.set(definition.id, definition)
    return records
  })
}

const latestStatement = `
SELECT wanted.id, latest.output, latest.large_values AS "largeValues", latest.run_id AS "runId"
FROM unnest((SELECT $1::text[])) AS wanted (id) CROSS JOIN LATERAL (
  SELECT n.output, n.large_values, r.id AS run_id FROM (
    SELECT number, created_at, id FROM runs
    WHERE account_id = $2 AND workflow_id = $3 AND mode <> 'item'
    ORDER BY created_at DESC, id DESC LIMIT ${runsSearched}
  ) r CROSS JOIN LATERAL (
    SELECT n.output, n.large_values FROM node_runs n
    WHERE n.run = r.number AND n.node_id = wanted.id AND n.status = 'COMPLETED'
      AND n.attempt > 0 AND n.output IS NOT NULL OFFSET 0
  ) n
  ORDER BY r.created_at DESC, r.id DESC LIMIT 1
) latest`

/** Conditions for a status. Runs that are not COMPLETED are few and have their own indexes. */
const statusIs = (sql: SqlClient, status: RunStatus) => {
  const same = sql`status = ${status}`
  if (status === "COMPLETED") return [same]
  if (isTerminal(status)) return [sql`trouble = ${status}`]
  return [same, sql`EXISTS (SELECT FROM open_runs o WHERE o.run = r.number)`]
}

/**
 * The condition for a source, as it stands in the statement: with a parameter, Postgres would not
 * know that the index of runs that the interface has not started holds what is asked for.
 */
const sourceIs = (sql: SqlClient, source: RunSource) => sql.literal(`source = '${source}'`)

const listed: PageClauses.Source = {
  object: Rows.object(Rows.runs, "r"),
  rows: "runs r",
  row: "SELECT * FROM runs r WHERE r.id = p.id",
}

/** A page of an account's runs. */
const list = (sql: SqlClient, query: RunQuery) => {
  const { from, isRoot, parentRunId, search, source, status, to, triggerId, workflowId } = query
  const conditions = PageClauses.conditions(sql, query)
  if (from !== undefined) conditions.push(sql`created_at >= ${PageClauses.time(sql, from)}`)
  if (to !== undefined) conditions.push(sql`created_at < ${PageClauses.time(sql, to)}`)
  if (workflowId !== undefined) conditions.push(sql`workflow_id = ${Rows.text(workflowId)}`)
  if (status !== undefined) conditions.push(...statusIs(sql, status))
  if (source !== undefined) conditions.push(sql`${sourceIs(sql, source)}`)
  if (triggerId !== undefined) conditions.push(sql`trigger_id = ${Rows.text(triggerId)}`)
  if (parentRunId !== undefined) conditions.push(sql`parent_id = ${Rows.text(parentRunId)}`)
  if (isRoot === true) conditions.push(sql`parent_id IS NULL`)
  return search === undefined
    ? PageClauses.page<Run>(sql, listed, conditions, query)
    : RunSearch.page(sql, query, search, conditions)
}

/** The children that a node of a run has started, by their index. */
const children = (
  sql: SqlClient,
  { account, after, limit, nodeId, parentRunId, status }: ChildQuery,
): Effect.Effect<ReadonlyArray<Run>, SqlError> => {
  const conditions = [
    sql`parent_id = ${Rows.text(parentRunId)}`,
    sql`(parent ->> 'nodeId') COLLATE "C" = ${Rows.text(nodeId)}`,
    sql`(parent ->> 'index')::int8 > ${PageClauses.time(sql, after)}`,
    sql`account_id = ${account}`,
    ...(status === undefined ? [] : [sql`status = ${status}`]),
  ]
  return Effect.map(
    sql<{ readonly run: Run }>`SELECT ${sql.literal(Rows.object(Rows.runs, "r"))} AS run FROM (
        SELECT * FROM runs WHERE ${sql.and(conditions)}
        ORDER BY (parent ->> 'index')::int8 LIMIT ${limit}
      ) r ORDER BY (r.parent ->> 'index')::int8`,
    (rows) => Array.from(rows, ({ run }) => run),
  )
}

/** An event of a run, or a node run from which the event is built. */
interface Told {
  readonly run: Pick<Run, "id" | "workflowId" | "revision"> & { readonly after: number }
  readonly event: Omit<RunEvent, "runId" | "workflowId"> | null
  readonly node: NodeEnd | null
}

// OFFSET 0 as above: three look-ups for each run that has something new, and one for each other.
const eventsStatement = `
WITH chosen AS MATERIALIZED (
  SELECT r.number, w.after, w.revision >= 0 AS is_watched,
    json_build_object('id', r.id, 'workflowId', r.workflow_id, 'revision', r.revision,
      'after', w.after) AS run
  FROM unnest(${Rows.unseen("$1::text[]")}, $2::text[], $3::int4[], $4::int4[])
    AS w (id, account, after, revision)
  CROSS JOIN LATERAL (
    SELECT number, id, workflow_id, revision FROM runs
    WHERE id = w.id AND ${Rows.isOf("account_id", "w.account")}
      AND (sequence > w.after OR w.revision >= 0 AND revision <> w.revision) OFFSET 0
  ) r
)
SELECT c.run, NULL::json AS event, NULL::json AS node FROM chosen c WHERE c.is_watched
UNION ALL
SELECT c.run, ${Rows.object(Rows.events, "e")}, NULL
FROM chosen c CROSS JOIN LATERAL (
  SELECT * FROM run_events e WHERE e.run = c.number AND e.sequence > c.after OFFSET 0
) e
UNION ALL
SELECT c.run, NULL, ${Rows.object(Rows.nodeEnds, "n")}
FROM chosen c CROSS JOIN LATERAL (
  SELECT * FROM node_runs n WHERE n.run = c.number AND n.sequence > c.after OFFSET 0
) n`

/** The events of runs behind a sequence each, in order. */
const readEvents = (
  sql: SqlClient,
  requests: ReadonlyArray<EventsRequest>,
): Effect.Effect<ReadonlyArray<EventsFound>, SqlError> => {
  const ids = requests.map(({ runId }) => Rows.text(runId))
  const accounts = requests.map(({ account }) => account)
  const afters = requests.map(({ after }) => after)
  // The driver sends no array of nulls alone. No run has this revision.
  const revisions = requests.map(({ revision = -1 }) => revision)
  const parameters = [ids, accounts, afters, revisions]
  return Effect.map(sql.unsafe<Told>(eventsStatement, parameters), (rows) => {
    const byRun = new Map<RunId, Array<Told>>()
    for (const row of rows) {
      const { id } = row.run
      const known = byRun.get(id)
      if (known === undefined) byRun.set(id, [row])
      else known.push(row)
    }
    return Array.from(byRun.values(), (ofRun) => {
      const { run } = ofRun[0]!
      const own = ofRun.flatMap(({ event }) =>
        event === null ? [] : [{ ...event, runId: run.id, workflowId: run.workflowId }],
      )
      const nodes = ofRun.flatMap(({ node }) => node ?? [])
      const events = merged(run, own, nodes, run.after)
      return { runId: run.id, revision: run.revision, events }
    })
  })
}

/** The methods of the port that read runs and their events. */
export const make = (sql: SqlClient) =>
  ({
    latestOutputs: (account, workflowId, nodeIds) =>
      Effect.map(
        sql.unsafe<LatestOutput & { readonly id: string }>(latestStatement, [
          nodeIds.map(Rows.text),
          account,
          Rows.text(workflowId),
        ]),
        (rows) => new Map(rows.map(({ id, ...latest }) => [id, latest])),
      ),
    list: (query) => list(sql, query),
    children: (query) => children(sql, query),
    activity: (query) => RunActivity.activity(sql, query),
    events: (account, runId, after) =>
      Effect.map(readEvents(sql, [{ account, runId, after }]), (found) => found[0]?.events ?? []),
    eventsOfMany: (requests) => readEvents(sql, requests),
  }) satisfies Partial<DatabasePort<RunStore["Service"]>>
