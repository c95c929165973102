/**
 * The tables as data: which property of an object is stored in which column, and how.
 *
 * A statement gets rows as one array parameter per column. It returns a JSON object per row in the
 * shape of the domain, so 64-bit numbers arrive as numbers and opaque JSON arrives unchanged.
 *
 * Guarantees: every row can be encoded. Postgres cannot store U+0000 in text, so it becomes U+FFFD;
 * a text that must not change is stored as JSON. Leaves out: statements.
 */
import { PgTypes } from "@effect/sql-pg"
import type { Account } from "@millrace/core/domain/Account"
import type { ApiKey } from "@millrace/core/domain/ApiKey"
import type { Definition, NodeRun, Run } from "@millrace/core/domain/Run"
import type { RunEvent } from "@millrace/core/domain/RunEvent"
import type { Workflow } from "@millrace/core/domain/Workflow"
import type { RunCommit } from "@millrace/core/ports/RunStore"
import { Result } from "effect"

type Kind = "text" | "bytea" | "bool" | "int4" | "int8" | "json"

/** A column. Without a `property` it is written and searched, but not read. */
interface Column<Row> {
  readonly name: string
  readonly kind: Kind
  readonly property: string | undefined
  readonly of: (row: Row) => unknown
  /** True for a column that most statements leave out, because no row of theirs has a value. */
  readonly isSparse?: boolean
}

/** The columns of one kind of row. */
export type Table<Row> = ReadonlyArray<Column<Row>>

/** Text as Postgres can store it. */
export const text = (value: string): string =>
  value.includes("\u0000") ? value.replaceAll("\u0000", "\ufffd") : value

/** Text for searching: without differences of case, in any locale. */
export const folded = (value: string): string => text(value.toLowerCase())

const wireTypes: Record<Kind, number> = {
  text: PgTypes.OID.text,
  bytea: PgTypes.OID.bytea,
  bool: PgTypes.OID.bool,
  int4: PgTypes.OID.int4,
  // A float has every safe integer exactly. An int8 would need a BigInt.
  int8: PgTypes.OID.float8,
  json: PgTypes.OID.text,
}

/** A parameter for one value, by the kind of its column. */
const scalars: Record<Kind, (value: never) => PgTypes.Parameter> = {
  text: PgTypes.text,
  bytea: PgTypes.bytea,
  bool: PgTypes.bool,
  int4: PgTypes.int4,
  int8: PgTypes.float8,
  json: PgTypes.text,
}

const encode = (kind: Kind, value: unknown): unknown => {
  if (value === null || value === undefined) return null
  if (kind === "json") return JSON.stringify(value)
  return typeof value === "string" ? text(value) : value
}

const snakeCase = (property: string): string =>
  property.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)

/** A property whose column has the same name in snake case, or properties and their columns. */
type Kept<Row> = (keyof Row & string) | { readonly [P in keyof Row & string]?: string }

/** Columns of one kind. */
export const columns =
  (kind: Kind) =>
  <Row extends object>(...kept: ReadonlyArray<Kept<Row>>): Table<Row> =>
    kept
      .flatMap((each): ReadonlyArray<[string, string]> =>
        typeof each === "string"
          ? [[each, snakeCase(each)]]
          : Object.entries(each as Record<string, string>),
      )
      .map(([property, name]) => ({
        name,
        kind,
        property,
        of: (row) => (row as Record<string, unknown>)[property],
      }))

/** A column that is written and searched, but not read. */
export const derived = <Row>(name: string, kind: Kind, of: (row: Row) => unknown): Column<Row> => ({
  name,
  kind,
  property: undefined,
  of,
})

/** The columns of a table, as sparse columns. */
export const sparse = <Row>(table: Table<Row>): Table<Row> =>
  table.map((column) => ({ ...column, isSparse: true }))

/** The columns of a table that are not sparse. */
export const dense = <Row>(table: Table<Row>): Table<Row> =>
  table.filter(({ isSparse }) => isSparse !== true)

export const texts = columns("text")
export const jsons = columns("json")
export const int4s = columns("int4")
export const int8s = columns("int8")

export const accounts: Table<Account> = [
  ...texts<Account>("id", "name"),
  ...int8s<Account>("createdAt"),
  ...int4s<Account>("runsAtOnce"),
]

/** A key with its hash, which is only stored. */
export interface HashedKey extends ApiKey {
  readonly hash: Uint8Array
}

export const keys: Table<HashedKey> = [
  ...texts<HashedKey>("id", "accountId", "label", "prefix"),
  ...int4s<HashedKey>("perMinute", "perDay"),
  ...int8s<HashedKey>("expiresAt", "revokedAt", "createdAt"),
  derived("hash", "bytea", (key) => key.hash),
]

const workflowHead: Table<Workflow> = [
  ...texts<Workflow>("id", "accountId", "name", "description", "thumbnailUrl"),
  ...int4s<Workflow>("revision"),
  ...int8s<Workflow>("createdAt", "updatedAt"),
]

export const workflows: Table<Workflow> = [
  ...workflowHead,
  ...jsons<Workflow>("nodes", "edges", "settings"),
  derived("node_count", "int4", ({ nodes }) => nodes.length),
  derived("name_folded", "text", ({ name }) => folded(name)),
]

/**
 * JSON that Postgres can read. JSON of users may contain U+0000 and lone surrogates. Postgres
 * stores them in `json`, but fails to read them. So their escapes are replaced first; the JSON
 * stays valid, even after a backslash.
 */
export const plainJson = (json: string): string =>
  `regexp_replace(${json}::text, '\\\\u(0000|d[89a-f][0-9a-f]{2})', '\\\\ufffd', 'gi')::json`

/** The elements of an array of JSON of users, one row each. */
export const elements = (json: string): string => `json_array_elements(${plainJson(json)})`

/** The part of a workflow that a listing reads. */
export const workflowSummaries: Table<Workflow> = [
  ...workflowHead,
  { ...derived("node_count", "int4", () => null), property: "nodeCount" },
]

export const definitions: Table<Definition> = [
  ...texts<Definition>("id"),
  ...jsons<Definition>("nodes", "edges", "settings"),
]

/** The part of a run that never changes. */
const immutable: Table<Run> = [
  ...texts<Run>("workflowId", "workflowName", "definitionId", "executionId", "mode", "source"),
  ...texts<Run>("keyId"),
  ...int4s<Run>("workflowRevision", "workflowVersion", "priority"),
  ...int8s<Run>("createdAt", "estimatedCredits", "maxCredits"),
  ...jsons<Run>("inputOverrides", "viewport", "webhook", { values: "input_values" }),
  derived("workflow_name_folded", "text", ({ workflowName }) => folded(workflowName)),
  ...sparse([
    ...texts<Run>("singleNodeId", "rerunOf", "triggerId", "concurrencyKey"),
    ...int4s<Run>("concurrency"),
    ...int8s<Run>("startAt"),
    ...jsons<Run>("parent", { after: "after_run" }),
    derived<Run>("parent_id", "text", ({ parent }) => parent?.runId),
  ]),
]

/** The part of a run that every commit changes, besides its revision. */
export const steps: Table<Run> = [
  ...int4s<Run>("nodeRunCount", "attempts", "sequence"),
  ...jsons<Run>("active"),
]

/** The part of a run that only some commits change. */
export const changes: Table<Run> = [
  ...texts<Run>("status"),
  ...int8s<Run>("startedAt", "finishedAt", "heldCredits", "actualCredits", "childCredits"),
  ...jsons<Run>("waiting", "output"),
  ...sparse([
    ...int8s<Run>("dueAt"),
    ...jsons<Run>("error", "largeValues"),
    derived<Run>("error_folded", "text", ({ error }) => (error === null ? null : folded(error))),
    derived<Run>("trouble", "text", ({ status }) =>
      status === "FAILED" || status === "CANCELED" ? status : null,
    ),
  ]),
]

const revisions: Table<Run> = int4s<Run>("revision")

/** The owner of a run and its fence. Claims and takeovers change them; commits do not. */
const ownership: Table<Run> = [...texts<Run>("owner"), ...int4s<Run>({ fence: "fencing_token" })]

export const runIds: Table<Run> = texts<Run>("id", "accountId")

/** The part of a run that its insert writes. A new run has no losses and no messages. */
export const newRunColumns: Table<Run> = [
  ...runIds,
  ...immutable,
  ...ownership,
  ...steps,
  ...revisions,
  ...changes,
]

export const runs: Table<Run> = [
  ...newRunColumns,
  ...jsons<Run>("losses"),
  ...int4s<Run>("messages"),
]

const idempotencyKeyOf = ({ expected }: RunCommit) =>
  expected._tag === "New" ? expected.idempotencyKey : undefined

/** The columns of a part of a row, as columns of the row. */
export const within =
  <Whole, Part>(partOf: (whole: Whole) => Part) =>
  (table: Table<Part>): Table<Whole> =>
    table.map((column) => ({ ...column, of: (whole) => column.of(partOf(whole)) }))

export const ofRun = within(({ run }: RunCommit) => run)

/** New runs with their idempotency keys. */
export const newRuns: Table<RunCommit> = [
  ...ofRun(newRunColumns),
  derived("start_key", "text", (commit) => idempotencyKeyOf(commit)?.key ?? null),
  derived("body_hash", "text", (commit) => idempotencyKeyOf(commit)?.bodyHash ?? null),
]

export const nodeRuns: Table<NodeRun> = [
  ...int4s<NodeRun>("ordinal", "attempt", "sequence"),
  ...int8s<NodeRun>("credits", "startedAt", "finishedAt"),
  ...texts<NodeRun>("nodeId", "nodeType", "status"),
  ...jsons<NodeRun>("output", "largeValues", "logs", "error", { input: "input_or_ports" }),
]

const notPlain = ["status", "attempt", "credits", "large_values", "logs", "error"]

/** A node run that completed in its first attempt, without cost, large values and a log. */
export const plainNodeRuns: Table<NodeRun> = nodeRuns.filter(({ name }) => !notPlain.includes(name))

/** The part of a node run that the event of its end has. */
export const nodeEnds: Table<NodeRun> = nodeRuns.filter(
  ({ kind, name }) => kind !== "json" || name === "error",
)

/** An event, without the ids that it shares with its run. */
export const events: Table<RunEvent> = [
  ...int4s<RunEvent>("sequence"),
  ...int8s<RunEvent>("at"),
  ...texts<RunEvent>("type"),
  ...jsons<RunEvent>("data"),
  ...sparse(jsons<RunEvent>("error")),
]

/** A row, and the place of its commit among those of the statement. */
export interface Placed<Row> {
  readonly place: number
  readonly row: Row
}

/** The columns of a commit's rows, after the place of the commit. */
export const placed = <Row>(table: Table<Row>): Table<Placed<Row>> => [
  derived("place", "int4", ({ place }) => place),
  ...within(({ row }: Placed<Row>) => row)(table),
]

/** The first row with each key. */
export const distinct = <Row>(
  rows: ReadonlyArray<Row>,
  keyOf: (row: Row) => string,
): ReadonlyArray<Row> => {
  const seen = new Set<string>()
  return rows.filter((row) => seen.size < seen.add(keyOf(row)).size)
}

/** The names of a table's columns, each with the alias if there is one. */
export const names = <Row>(table: Table<Row>, alias?: string): string =>
  table.map(({ name }) => (alias === undefined ? name : `${alias}.${name}`)).join(", ")

/**
 * An expression that builds the domain's object from a row and `more` columns, each named as the
 * property. It takes Postgres half as long as `json_build_object`, which looks every type up again.
 */
export const object = <Row>(
  table: Table<Row>,
  alias: string,
  ...more: ReadonlyArray<string>
): string => {
  const parts = table.flatMap(({ name, property }) =>
    property === undefined ? [] : [`${alias}.${name} AS "${property}"`],
  )
  return `(SELECT row_to_json(o) FROM (SELECT ${[...parts, ...more].join(", ")}) o)`
}

/**
 * The condition that a row belongs to an account, for a row that is looked up by its key. No index
 * can serve this form. Otherwise a plan from when the table was small may use an index of listings,
 * which starts with the account, and read all rows of the account.
 */
export const isOf = (column: string, account: string): string => `(${column} = ${account}) IS TRUE`

/**
 * An array parameter whose length the planner does not see. If it saw a short one, it would plan
 * the statement again for each call, which takes longer than the call.
 */
export const unseen = (parameter: string): string => `(SELECT ${parameter})`

/**
 * The columns of the rows of the parameters, each by its name, in the order of the table. `first`
 * is the number of the first parameter. If `isSingle`, there is one row, and its values are the
 * parameters.
 */
export const expressions = <Row>(
  table: Table<Row>,
  first: number,
  isSingle = false,
): ReadonlyMap<string, string> =>
  new Map(
    table.map(({ kind, name }, index) => {
      // The client of a caller's transaction sends parameters without types.
      const parameter = `$${first + index}::${kind}`
      if (isSingle) return [name, `${parameter} AS ${name}`]
      const array = index === 0 ? unseen(`${parameter}[]`) : `${parameter}[]`
      return [name, `unnest(${array}) AS ${name}`]
    }),
  )

/**
 * A FROM clause of {@link expressions}. One `unnest` of several arrays would do the same, but
 * Postgres would store its rows first.
 */
export const from = (selected: Iterable<string>, alias: string): string =>
  `(SELECT ${[...selected].join(", ")}) AS ${alias}`

/** The rows of the parameters, for a FROM clause. */
export const source = <Row>(table: Table<Row>, alias: string, first: number): string =>
  from(expressions(table, first).values(), alias)

/** A statement that inserts rows. Its parameters are those of a {@link source}. */
export const insert = <Row>(name: string, table: Table<Row>): string =>
  `INSERT INTO ${name} (${names(table)}) SELECT ${names(table)} FROM ${source(table, "new", 1)}`

const valuesOf = <Row>({ kind, of }: Column<Row>, rows: ReadonlyArray<Row>) =>
  rows.map((row) => encode(kind, of(row)))

const isNull = (value: unknown): boolean => value === null

/**
 * The parameter of a column. Without any value it is an empty array: where another array is longer,
 * `unnest` gives nulls. The first array has an element for each row.
 */
const parameterOf = (kind: Kind, values: ReadonlyArray<unknown>, index: number) => {
  const given = index > 0 && values.every(isNull) ? [] : values
  return Result.getOrThrow(PgTypes.array(given, wireTypes[kind]))
}

/** The parameters of a {@link source}. */
export const parameters = <Row>(
  table: Table<Row>,
  rows: ReadonlyArray<Row>,
): ReadonlyArray<PgTypes.Parameter> =>
  table.map((column, index) => parameterOf(column.kind, valuesOf(column, rows), index))

/**
 * The parameters of {@link expressions}, and if those of sparse columns are among them: they are
 * if any row has a value in such a column. If `isSingle`, there is one row.
 */
export const sent = <Row>(
  table: Table<Row>,
  rows: ReadonlyArray<Row>,
  isSingle: boolean,
): { readonly parameters: ReadonlyArray<PgTypes.Parameter>; readonly hasSparse: boolean } => {
  const values = table.map((column) => valuesOf(column, rows))
  const hasSparse = table.some(
    ({ isSparse }, index) => isSparse === true && !values[index]!.every(isNull),
  )
  const parameterFor = (kind: Kind, index: number) =>
    isSingle ? scalars[kind](values[index]![0] as never) : parameterOf(kind, values[index]!, index)
  const all = table.flatMap(({ isSparse, kind }, index) =>
    hasSparse || isSparse !== true ? [parameterFor(kind, index)] : [],
  )
  return { parameters: all, hasSparse }
}
