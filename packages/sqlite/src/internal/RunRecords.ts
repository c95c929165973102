/**
 * Reads runs: records, pages of runs, events, and what nodes last put out.
 *
 * Guarantees: a read is one step. A page reads its own rows; a search reads
 * `runsReadBySearch` runs at most, or refuses. Leaves out: writing.
 */
import type { AccountId, RunId, WorkflowId } from "@millrace/core/domain/Id"
import { withInputs } from "@millrace/core/domain/ImpliedInput"
import { runsReadBySearch, runsSearched } from "@millrace/core/domain/Limits"
import type { Page } from "@millrace/core/domain/Page"
import { fromOverfetch } from "@millrace/core/domain/Page"
import type { Definition, Run, RunRecord, RunSource } from "@millrace/core/domain/Run"
import type { RunEvent } from "@millrace/core/domain/RunEvent"
import { merged } from "@millrace/core/domain/RunEvent"
import { payloadsKept, withoutPayloads } from "@millrace/core/domain/RunPayload"
import type {
  ChildQuery,
  EventsFound,
  EventsRequest,
  LatestOutput,
  RunQuery,
} from "@millrace/core/ports/RunStore"
import { SearchTooBroad } from "@millrace/core/ports/RunStore"
import type { Connection, Value } from "./SqliteConnection.ts"
import { behind, window } from "./Listing.ts"
import type { NodeRow, RunRow } from "./RunRows.ts"
import { columns, folded, nodeOf, runOf, tables } from "./RunRows.ts"

/** The row of an account's run. */
export const rowOf = (db: Connection, account: AccountId, id: RunId): RunRow | undefined =>
  db
    .query<RunRow>(
      `SELECT ${columns} FROM ${tables} WHERE r.id = ? AND r.account_id = ?`,
      id,
      account,
    )
    .first()

/** The row of a run by its number. */
export const rowOfNumber = (db: Connection, number: number): RunRow =>
  db.query<RunRow>(`SELECT ${columns} FROM ${tables} WHERE r.number = ?`, number).first()!

/** The graph of this id. */
export const definitionOf = (db: Connection, id: string): Definition => {
  const row = db
    .query<{ readonly content: string }>(`SELECT content FROM definitions WHERE id = ?`, id)
    .first()
  return { id, ...(JSON.parse(row!.content) as Omit<Definition, "id">) }
}

const nodesStatement = `SELECT facts, payload FROM node_runs WHERE run = ?`
const factsStatement = `SELECT facts, NULL AS payload FROM node_runs WHERE run = ?`

const nodesOf = (db: Connection, { number }: RunRow, isWhole: boolean) =>
  db
    .query<NodeRow>(isWhole ? nodesStatement : factsStatement, number)
    .all()
    .map(nodeOf)
    .toSorted((a, b) => a.ordinal - b.ordinal)

/** The records of runs. Runs of one definition share it. */
const recordsOfRows = (
  db: Connection,
  rows: ReadonlyArray<RunRow>,
  isWhole: (index: number) => boolean = () => true,
): ReadonlyArray<RunRecord> => {
  const definitions = new Map<string, Definition>()
  return rows.map((row, index) => {
    const run = runOf(row)
    const definition = definitions.get(run.definitionId) ?? definitionOf(db, run.definitionId)
    definitions.set(run.definitionId, definition)
    const whole = isWhole(index)
    const record = { run, definition, nodeRuns: nodesOf(db, row, whole) }
    return whole ? withInputs(record) : withoutPayloads(record)
  })
}

/** The record of a run. */
export const recordOf = (db: Connection, row: RunRow): RunRecord => recordsOfRows(db, [row])[0]!

/** The records of runs by their numbers. */
export const recordsOf = (
  db: Connection,
  numbers: ReadonlyArray<number>,
): ReadonlyArray<RunRecord> =>
  recordsOfRows(
    db,
    numbers.map((number) => rowOfNumber(db, number)),
  )

const bytesStatement = `SELECT r.payload_bytes + coalesce((
    SELECT sum(n.payload_bytes) FROM node_runs n WHERE n.run = r.number
  ), 0) AS bytes FROM runs r WHERE r.number = ?`

/** The records of an account's runs. With a bound, payloads that exceed it are not read. */
export const findMany = (
  db: Connection,
  account: AccountId,
  ids: ReadonlyArray<RunId>,
  mostBytes: number | undefined,
): ReadonlyArray<RunRecord> => {
  const rows = [...new Set(ids)].flatMap((id) => rowOf(db, account, id) ?? [])
  if (mostBytes === undefined || mostBytes === Infinity) return recordsOfRows(db, rows)
  const bytes = rows.map(
    ({ number }) => db.query<{ readonly bytes: number }>(bytesStatement, number).first()!.bytes,
  )
  const kept = payloadsKept(bytes, mostBytes)
  return recordsOfRows(db, rows, (index) => kept[index]!)
}

/** The definition of a loop's body names the loop behind a slash. */
export const isNoItem = "instr(definition_id, '/') = 0"

const latestStatement = `SELECT r.id, n.number FROM (
    SELECT number, id, created_at FROM runs
    WHERE account_id = ? AND workflow_id = ? AND ${isNoItem}
    ORDER BY created_at DESC, id DESC LIMIT ${runsSearched}
  ) r CROSS JOIN node_runs n ON n.run = r.number AND n.node_id = ?
  WHERE n.has_output = 1 ORDER BY r.created_at DESC, r.id DESC LIMIT 1`

/** What nodes of a workflow last put out. */
export const latestOutputs = (
  db: Connection,
  account: AccountId,
  workflowId: WorkflowId,
  nodeIds: ReadonlyArray<string>,
): ReadonlyMap<string, LatestOutput> => {
  const outputs = new Map<string, LatestOutput>()
  for (const nodeId of new Set(nodeIds)) {
    const found = db
      .query<{ readonly id: RunId; readonly number: number }>(
        latestStatement,
        account,
        workflowId,
        nodeId,
      )
      .first()
    if (found === undefined) continue
    const row = db
      .query<NodeRow>(`SELECT facts, payload FROM node_runs WHERE number = ?`, found.number)
      .first()
    const { largeValues, output } = nodeOf(row!)
    if (output !== null) outputs.set(nodeId, { runId: found.id, output, largeValues })
  }
  return outputs
}

interface EventsRow {
  readonly number: number
  readonly workflow_id: WorkflowId
}

const revisionStatement = `SELECT revision FROM runs WHERE id = ? AND account_id = ?`

/** What is new of an account's run: as `RunStore.eventsOfMany`. */
export const eventsFound = (
  db: Connection,
  { account, after, revision: known, runId }: EventsRequest,
): ReadonlyArray<EventsFound> => {
  const row = db.query<{ readonly revision: number }>(revisionStatement, runId, account).first()
  if (row === undefined) return []
  const found = events(db, account, runId, after)
  const hasMoved = known !== undefined && known !== row.revision
  return hasMoved || found.length > 0 ? [{ runId, revision: row.revision, events: found }] : []
}

/** The events of an account's run behind a sequence, in order. */
export const events = (
  db: Connection,
  account: AccountId,
  id: RunId,
  after: number,
): ReadonlyArray<RunEvent> => {
  const run = db
    .query<EventsRow>(
      `SELECT number, workflow_id FROM runs WHERE id = ? AND account_id = ? AND sequence > ?`,
      id,
      account,
      after,
    )
    .first()
  if (run === undefined) return []
  const own = db
    .query<{ readonly event: string }>(
      `SELECT event FROM run_events WHERE run = ? AND sequence > ?`,
      run.number,
      after,
    )
    .all()
    .map(({ event }) => JSON.parse(event) as RunEvent)
  const nodes = db
    .query<NodeRow>(`${factsStatement} AND sequence > ?`, run.number, after)
    .all()
    .map(nodeOf)
  return merged({ id, workflowId: run.workflow_id }, own, nodes, after)
}

/**
 * The condition for a source. SQLite uses an index of some rows only where the statement has the
 * very condition of that index.
 */
export const sourceIs = (source: RunSource): string =>
  source === "api" ? "source = 'api'" : `source <> 'api' AND source = '${source}'`

/** The conditions of a query without its text, and their parameters. */
const conditionsOf = (query: RunQuery) => {
  const { account, after, from, isRoot, parentRunId, source, status, to, triggerId } = query
  const { workflowId } = query
  const { condition, values } = behind(after)
  const parts: ReadonlyArray<readonly [string, ReadonlyArray<Value>]> = [
    ["account_id = ?", [account]],
    ...(workflowId === undefined ? [] : [["workflow_id = ?", [workflowId]] as const]),
    ...(status === undefined ? [] : [["status = ?", [status]] as const]),
    ...(source === undefined ? [] : [[sourceIs(source), []] as const]),
    ...(triggerId === undefined ? [] : [["trigger_id = ?", [triggerId]] as const]),
    ...(parentRunId === undefined ? [] : [["parent_id = ?", [parentRunId]] as const]),
    ...(isRoot === true ? [["parent_id IS NULL", []] as const] : []),
    ...(from === undefined ? [] : [["created_at >= ?", [from]] as const]),
    ...(to === undefined ? [] : [["created_at < ?", [to]] as const]),
    [condition, values],
  ]
  return {
    all: parts.map(([part]) => part).join(" AND "),
    parameters: parts.flatMap(([, given]) => given),
  }
}

const order = "ORDER BY created_at DESC, id DESC"

/** The numbers of a page and of one run more. */
const pageOf = (db: Connection, query: RunQuery): ReadonlyArray<number> | SearchTooBroad => {
  const { limit, search } = query
  const { all, parameters } = conditionsOf(query)
  const from = `FROM runs WHERE ${all} ${order}`
  const numbersOf = (sql: string, ...more: ReadonlyArray<Value>) =>
    db
      .query<{ readonly number: number }>(sql, ...parameters, ...more, ...window(query))
      .all()
      .map(({ number }) => number)
  if (search === undefined) return numbersOf(`SELECT number ${from} LIMIT ? OFFSET ?`)
  const part = folded(search)
  const found = numbersOf(
    `SELECT number FROM (
      SELECT number, id, created_at, name_folded, error_folded ${from} LIMIT ${runsReadBySearch}
    ) WHERE instr(name_folded, ?) > 0 OR instr(error_folded, ?) > 0 OR substr(id, 1, ?) = ?
    ${order} LIMIT ? OFFSET ?`,
    part,
    part,
    search.length,
    search,
  )
  if (found.length > limit) return found
  const rest = db
    .query(`SELECT 1 ${from} LIMIT 1 OFFSET ${runsReadBySearch}`, ...parameters)
    .first()
  return rest === undefined ? found : new SearchTooBroad()
}

/** The children that a node of a run has started, by their index. */
export const children = (
  db: Connection,
  { account, after, limit, nodeId, parentRunId, status }: ChildQuery,
): ReadonlyArray<Run> => {
  const sql = `SELECT number FROM runs
    WHERE parent_id = ? AND parent_node = ? AND parent_index > ? AND account_id = ?
      ${status === undefined ? "" : "AND status = ?"} ORDER BY parent_index LIMIT ?`
  const given = [parentRunId, nodeId, after, account, ...(status === undefined ? [] : [status])]
  return db
    .query<{ readonly number: number }>(sql, ...given, limit)
    .all()
    .map(({ number }) => runOf(rowOfNumber(db, number)))
}

/** A page of an account's runs, newest first. */
export const list = (db: Connection, query: RunQuery): Page<Run> | SearchTooBroad => {
  const numbers = pageOf(db, query)
  if (numbers instanceof SearchTooBroad) return numbers
  return fromOverfetch(
    numbers.map((number) => runOf(rowOfNumber(db, number))),
    query.limit,
  )
}
