/**
 * Searches the runs of an account by text: a part of the workflow's name or of the error, or the
 * beginning of the run's id.
 *
 * It first looks through the newest runs, because most texts are found there. Then it knows where
 * else to look: at the runs of workflows that had such a name, at runs with errors, and at ids that
 * begin like that.
 *
 * Guarantees: a page is exactly what looking through all runs would give. A search that would have
 * to read more runs than its bound is refused. Leaves out: which error index the database has; see
 * `GrowthTables`.
 */
import { runsReadBySearch, workflowsSearched } from "@millrace/core/domain/Limits"
import type { Page, PagePosition } from "@millrace/core/domain/Page"
import { fromOverfetch } from "@millrace/core/domain/Page"
import type { Run } from "@millrace/core/domain/Run"
import { dayMillis } from "@millrace/core/domain/Timestamp"
import type { RunQuery } from "@millrace/core/ports/RunStore"
import { SearchTooBroad } from "@millrace/core/ports/RunStore"
import { Effect } from "effect"
import type { SqlClient } from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"
import type { Fragment } from "effect/sql/Statement"
import { errorIndex } from "./GrowthTables.ts"
import * as Rows from "./Rows.ts"

/** How many runs a search reads: at first, and at most. */
export interface Bounds {
  readonly first: number
  /** Of the runs with errors, where an index finds the others. */
  readonly errors: number
  readonly most: number
}

export const usualBounds: Bounds = { first: 500, errors: 200, most: runsReadBySearch }

/** What is searched for, and where. */
interface Search {
  readonly sql: SqlClient
  readonly query: RunQuery
  readonly text: string
  /** The conditions of the query without its text, on runs `r`. */
  readonly conditions: ReadonlyArray<Fragment>
  readonly bounds: Bounds
}

interface Row {
  readonly item: Run | null
  /** How many runs were read one by one, and whether all were read that there are. */
  readonly read: number
}

const object = Rows.object(Rows.runs, "r")

const order = "ORDER BY created_at DESC, id DESC"

/** The end of a statement: a page of the part `hit`, beside what the part `seen` says. */
const pageOf = ({ query: { limit, skip = 0 }, sql }: Search): Fragment => sql`
  SELECT s.*, i.item FROM seen s LEFT JOIN LATERAL (
    SELECT ${sql.literal(object)} AS item, p.created_at, p.id FROM (
      SELECT created_at, id FROM hit ${sql.literal(order)} LIMIT ${limit + 1} OFFSET ${skip}
    ) p CROSS JOIN LATERAL (SELECT * FROM runs r WHERE r.id = p.id OFFSET 0) r
  ) i ON true ORDER BY i.created_at DESC, i.id DESC`

const itemsOf = (rows: ReadonlyArray<{ readonly item: Run | null }>): ReadonlyArray<Run> =>
  Array.from(rows, ({ item }) => item).filter((item) => item !== null)

const inName = (sql: SqlClient, part: string) => sql`strpos(workflow_name_folded, ${part}) > 0`
const inError = (sql: SqlClient, part: string) => sql`strpos(error_folded, ${part}) > 0`

/** Looks through the newest runs. Nothing: they are not enough to tell. */
const newest = Effect.fnUntraced(function* (search: Search, bound: number) {
  const { conditions, query, sql, text } = search
  const part = Rows.folded(text)
  const rows = yield* sql<Row>`
    WITH newest AS MATERIALIZED (
      SELECT created_at, id, ${inName(sql, part)} OR coalesce(${inError(sql, part)}, false)
        OR starts_with(id, ${Rows.text(text)}) AS is_hit
      FROM runs r WHERE ${sql.and(conditions)} ${sql.literal(order)} LIMIT ${bound}
    ), seen AS (
      SELECT count(*)::int AS read FROM newest
    ), hit AS (
      SELECT created_at, id FROM newest WHERE is_hit
    ) ${pageOf(search)}`
  const items = itemsOf(rows)
  const isEnough = items.length > query.limit || rows[0]!.read < bound
  return isEnough ? fromOverfetch(items, query.limit) : undefined
})

/** A workflow of the account that had a name with the text, and the days of its runs. */
interface Named {
  readonly id: string
  readonly since: number
  readonly until: number
}

/** Reads one more than may be searched. */
const named = ({ query: { account, workflowId }, sql, text }: Search) => {
  const own = sql`account_id = ${account} AND strpos(name_folded, ${Rows.folded(text)}) > 0`
  const all =
    workflowId === undefined ? own : sql`${own} AND workflow_id = ${Rows.text(workflowId)}`
  return sql<Named>`
    SELECT workflow_id AS id, min(since)::float8 AS since, max(until)::float8 AS until FROM (
      SELECT workflow_id, since, until FROM run_names WHERE ${all}
      UNION ALL SELECT workflow_id, day, day FROM usage_changes WHERE ${all}
    ) n GROUP BY workflow_id LIMIT ${workflowsSearched + 1}`
}

/** What a look at the likely places has found. */
interface Found extends Row {
  /** How many ids were read that begin with the text, of any account. */
  readonly ids: number
  /** The last run with an error that was read. */
  readonly last_at: number | null
  readonly last_id: string | null
}

/** The newest runs with errors, up to a bound; or all whose error has the text, by an index. */
const errorsOf = ({ conditions, sql, text }: Search, bound: number | undefined): Fragment => {
  const part = Rows.folded(text)
  const all = sql`${sql.and(conditions)} AND error_folded IS NOT NULL`
  if (bound !== undefined) {
    return sql`SELECT created_at, id, ${inError(sql, part)} AS is_hit FROM runs r WHERE ${all}
      ${sql.literal(order)} LIMIT ${bound}`
  }
  const pattern = `%${part.replaceAll(/[\\%_]/g, "\\$&")}%`
  return sql`SELECT created_at, id, ${inError(sql, part)} AS is_hit FROM runs r
    WHERE ${all} AND error_folded LIKE ${pattern}`
}

/** Looks where the text can be. Without a bound, an index finds the runs with errors. */
const likely = (search: Search, workflows: ReadonlyArray<Named>, bound: number | undefined) => {
  const { bounds, conditions, query, sql, text } = search
  const [part, start] = [Rows.folded(text), Rows.text(text)]
  const wanted = (query.skip ?? 0) + query.limit + 1
  const places = workflows.map(({ id, since, until }) => {
    return { id, since: since * dayMillis, until: (until + 1) * dayMillis }
  })
  return sql<Found>`
    WITH error AS MATERIALIZED (${errorsOf(search, bound)}), beginning AS MATERIALIZED (
      SELECT number, account_id, workflow_id, status, source, trigger_id, parent_id, trouble,
        created_at, id
      FROM runs
      WHERE id >= ${start} AND id < ${`${start}\u{10ffff}`} ORDER BY id LIMIT ${bounds.most}
    ), seen AS (
      SELECT (SELECT count(*)::int FROM error) AS read,
        (SELECT count(*)::int FROM beginning) AS ids,
        last.created_at::float8 AS last_at, last.id AS last_id
      FROM (SELECT 1) one LEFT JOIN (
        SELECT created_at, id FROM error ORDER BY created_at, id LIMIT 1
      ) last ON true
    ), hit AS (
      SELECT h.created_at, h.id
      FROM json_to_recordset(${JSON.stringify(places)}::json) AS w (id text, since int8, until int8)
      CROSS JOIN LATERAL (
        SELECT created_at, id FROM runs r
        WHERE ${sql.and(conditions)} AND workflow_id = w.id AND created_at >= w.since
          AND created_at < w.until AND ${inName(sql, part)}
        ${sql.literal(order)} LIMIT ${wanted}
      ) h
      UNION SELECT created_at, id FROM error WHERE is_hit
      UNION SELECT created_at, id FROM beginning r WHERE ${sql.and(conditions)}
    ) ${pageOf(search)}`
}

const isNewer = (a: PagePosition, b: PagePosition): boolean =>
  a.createdAt > b.createdAt || (a.createdAt === b.createdAt && a.id > b.id)

/** The page, if no run that was not read can belong to it. */
const certain = (
  { query: { limit } }: Search,
  rows: ReadonlyArray<Found>,
  bound: number,
): Page<Run> | undefined => {
  const items = itemsOf(rows)
  const { last_at, last_id, read } = rows[0]!
  const last = items.at(-1)
  const isWhole =
    read < bound || (items.length > limit && isNewer(last!, { createdAt: last_at!, id: last_id! }))
  return isWhole ? fromOverfetch(items, limit) : undefined
}

const hasErrorIndex = (sql: SqlClient) =>
  Effect.map(
    sql`SELECT FROM pg_index WHERE indexrelid = to_regclass(${errorIndex}) AND indisvalid`,
    (rows) => rows.length > 0,
  )

/** Finds a page in the likely places. Nothing: there is too much to read. */
const elsewhere = Effect.fnUntraced(function* (search: Search) {
  const { bounds, query, sql } = search
  const workflows = yield* named(search)
  const wanted = (query.skip ?? 0) + query.limit + 1
  const isMany = workflows.length > workflowsSearched || workflows.length * wanted > bounds.most * 2
  // Runs of a rare state would be far apart among those of a workflow.
  const isRare = query.status !== undefined && query.status !== "COMPLETED"
  if (isMany || (isRare && workflows.length > 0)) return undefined
  const hasIndex = yield* hasErrorIndex(sql)
  const bound = hasIndex ? bounds.errors : bounds.most
  const rows = yield* likely(search, workflows, bound)
  if (rows[0]!.ids >= bounds.most) return undefined
  const page = certain(search, rows, bound)
  if (page !== undefined || !hasIndex) return page
  return fromOverfetch(itemsOf(yield* likely(search, workflows, undefined)), query.limit)
})

/** A page of the runs that have the text. `conditions` are those of the rest of the query. */
export const page = Effect.fnUntraced(function* (
  sql: SqlClient,
  query: RunQuery,
  text: string,
  conditions: ReadonlyArray<Fragment>,
  bounds: Bounds = usualBounds,
): Effect.fn.Return<Page<Run>, SearchTooBroad | SqlError> {
  const search = { sql, query, text, conditions, bounds }
  const { limit, skip = 0 } = query
  const first = yield* newest(search, Math.max(bounds.first, skip + limit + 1))
  if (first !== undefined) return first
  const last = (yield* elsewhere(search)) ?? (yield* newest(search, bounds.most))
  if (last === undefined) return yield* new SearchTooBroad()
  return last
})
