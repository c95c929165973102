/**
 * The tables as data: which part of a stored thing is kept in which column, and how.
 *
 * Rows are encoded here, as one array parameter per column, and decoded here: a query builds a
 * JSON object per row in the shape of the domain, so that 64-bit numbers arrive as numbers and
 * opaque JSON arrives untouched.
 *
 * Guarantees: whatever is in a row, it can be encoded; text without U+0000, which Postgres cannot
 * store (it becomes U+FFFD; what must come back exactly is kept as JSON). Leaves out: any query.
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

/** One column. Without a `property` it is written and searched, but not read back. */
interface Column<Row> {
  readonly name: string
  readonly kind: Kind
  readonly property: string | undefined
  readonly of: (row: Row) => unknown
}

/** The columns of one kind of row. */
export type Table<Row> = ReadonlyArray<Column<Row>>

/** Text as Postgres can store it. */
export const text = (value: string): string =>
  value.includes("\u0000") ? value.replaceAll("\u0000", "\ufffd") : value

/** Text in the form in which it is searched: any case is the same, whatever the locale. */
export const folded = (value: string): string => text(value.toLowerCase())

const wireTypes: Record<Kind, number> = {
  text: PgTypes.OID.text,
  bytea: PgTypes.OID.bytea,
  bool: PgTypes.OID.bool,
  int4: PgTypes.OID.int4,
  // A float carries every safe integer exactly, without a detour through BigInt.
  int8: PgTypes.OID.float8,
  json: PgTypes.OID.text,
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

/** A column that is written and searched, but not read back. */
export const derived = <Row>(name: string, kind: Kind, of: (row: Row) => unknown): Column<Row> => ({
  name,
  kind,
  property: undefined,
  of,
})

export const texts = columns("text")
const jsons = columns("json")
export const int4s = columns("int4")
export const int8s = columns("int8")

export const accounts: Table<Account> = [
  ...texts<Account>("id", "name"),
  ...int8s<Account>("createdAt"),
  ...int4s<Account>("runsAtOnce"),
]

/** A key together with its hash, which only its row knows. */
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

/** What a listing reads of a workflow. */
export const workflowSummaries: Table<Workflow> = [
  ...workflowHead,
  { ...derived("node_count", "int4", () => null), property: "nodeCount" },
]

export const definitions: Table<Definition> = [
  ...texts<Definition>({ id: "id" }),
  ...jsons<Definition>({ nodes: "nodes", edges: "edges", settings: "settings" }),
]

/** What a run's insert writes: written once, and left out of every later commit. */
const immutable: Table<Run> = [
  ...texts<Run>({
    workflowId: "workflow_id",
    workflowName: "workflow_name",
    definitionId: "definition_id",
    executionId: "execution_id",
    mode: "mode",
    source: "source",
    singleNodeId: "single_node_id",
    keyId: "key_id",
  }),
  ...int4s<Run>({ workflowRevision: "workflow_revision" }),
  ...int8s<Run>({
    createdAt: "created_at",
    estimatedCredits: "estimated_credits",
    maxCredits: "max_credits",
  }),
  ...jsons<Run>({
    values: "input_values",
    inputOverrides: "input_overrides",
    viewport: "viewport",
    webhook: "webhook",
  }),
  derived("workflow_name_folded", "text", ({ workflowName }) => folded(workflowName)),
]

/** What every commit changes of a run, besides its revision. */
export const steps: Table<Run> = [
  ...int4s<Run>({ nodeRunCount: "node_run_count", attempts: "attempts", sequence: "sequence" }),
  ...jsons<Run>({ active: "active" }),
]

/** What only some commits change of a run. */
export const changes: Table<Run> = [
  ...texts<Run>({ status: "status" }),
  ...int8s<Run>({
    startedAt: "started_at",
    finishedAt: "finished_at",
    heldCredits: "held_credits",
    actualCredits: "actual_credits",
    dueAt: "due_at",
  }),
  ...jsons<Run>({ waiting: "waiting", error: "error", output: "output" }),
  derived("error_folded", "text", ({ error }) => (error === null ? null : folded(error))),
  derived("trouble", "text", ({ status }) =>
    status === "FAILED" || status === "CANCELED" ? status : null,
  ),
]

const revisions: Table<Run> = int4s<Run>({ revision: "revision" })

/** Who may write a run: changed by those who take runs over, not by commits. */
const ownership: Table<Run> = [
  ...texts<Run>({ owner: "owner" }),
  ...int4s<Run>({ fence: "fencing_token" }),
]

export const runIds: Table<Run> = texts<Run>({ id: "id", accountId: "account_id" })

/** What a new run is written with: it has lost nobody yet, and nobody has sent it anything. */
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
  ...jsons<Run>({ losses: "losses" }),
  ...int4s<Run>({ messages: "messages" }),
]

const idempotencyKeyOf = ({ expected }: RunCommit) =>
  expected._tag === "New" ? expected.idempotencyKey : undefined

/** The columns of a part of a row, for the whole of it. */
export const within =
  <Whole, Part>(partOf: (whole: Whole) => Part) =>
  (table: Table<Part>): Table<Whole> =>
    table.map((column) => ({ ...column, of: (whole) => column.of(partOf(whole)) }))

export const ofRun = within(({ run }: RunCommit) => run)

/** The rows of new runs, and the names that their starts were given. */
export const newRuns: Table<RunCommit> = [
  ...ofRun(newRunColumns),
  derived("start_key", "text", (commit) => idempotencyKeyOf(commit)?.key ?? null),
  derived("body_hash", "text", (commit) => idempotencyKeyOf(commit)?.bodyHash ?? null),
]

export const nodeRuns: Table<NodeRun> = [
  ...int4s<NodeRun>({ ordinal: "ordinal", attempt: "attempt", sequence: "sequence" }),
  ...int8s<NodeRun>({
    credits: "credits",
    startedAt: "started_at",
    finishedAt: "finished_at",
  }),
  ...texts<NodeRun>({ nodeId: "node_id", nodeType: "node_type", status: "status" }),
  ...jsons<NodeRun>({ input: "input_or_ports", output: "output", logs: "logs", error: "error" }),
]

/** A node run that completed in its first attempt, for nothing and without a log. */
export const plainNodeRuns: Table<NodeRun> = nodeRuns.filter(
  ({ name }) => !["status", "attempt", "credits", "logs", "error"].includes(name),
)

/** What the event of a node's end tells. */
export const nodeEnds: Table<NodeRun> = nodeRuns.filter(
  ({ kind, name }) => kind !== "json" || name === "error",
)

/** An event without what its run knows: it is read together with that. */
export const events: Table<RunEvent> = [
  ...int4s<RunEvent>({ sequence: "sequence" }),
  ...int8s<RunEvent>({ at: "at" }),
  ...texts<RunEvent>({ type: "type" }),
  ...jsons<RunEvent>({ error: "error", data: "data" }),
]

/** A row, and the place of its commit among those of the statement. */
export interface Placed<Row> {
  readonly place: number
  readonly row: Row
}

/** The columns of rows that travel with a commit, behind the place of that. */
export const placed = <Row>(table: Table<Row>): Table<Placed<Row>> => [
  derived("place", "int4", ({ place }) => place),
  ...within(({ row }: Placed<Row>) => row)(table),
]

/** The names of a table's columns, each behind an alias where one is given. */
export const names = <Row>(table: Table<Row>, alias?: string): string =>
  table.map(({ name }) => (alias === undefined ? name : `${alias}.${name}`)).join(", ")

/** An expression that builds the domain's object out of a row, and of `more` properties. */
export const object = <Row>(
  table: Table<Row>,
  alias: string,
  ...more: ReadonlyArray<string>
): string => {
  const parts = table.flatMap(({ name, property }) =>
    property === undefined ? [] : [`'${property}', ${alias}.${name}`],
  )
  return `json_build_object(${[...parts, ...more].join(", ")})`
}

/**
 * A condition that a row is an account's, for a row that is looked up by its own key: written so
 * that no index can serve it. Else a plan that was made for a small table may prefer an index of
 * listings, which begins with the account, and read everything that the account has.
 */
export const isOf = (column: string, account: string): string => `(${column} = ${account}) IS TRUE`

/**
 * A parameter of which the planner does not see how many it holds. If it saw that there are few,
 * it would plan the statement anew for each call, which takes longer than the call.
 */
export const unseen = (parameter: string): string => `(SELECT ${parameter})`

/**
 * A source of rows in a FROM, whose first parameter has the given number. One `unnest` of several
 * arrays would do the same; but Postgres stores what that yields before it reads it.
 */
export const source = <Row>(table: Table<Row>, alias: string, first: number): string => {
  const all = table.map(({ kind, name }, index) => {
    const column = `$${first + index}::${kind}[]`
    return `unnest(${index === 0 ? unseen(column) : column}) AS ${name}`
  })
  return `(SELECT ${all.join(", ")}) AS ${alias}`
}

/** The parameters of a {@link source}. */
export const parameters = <Row>(
  table: Table<Row>,
  rows: ReadonlyArray<Row>,
): ReadonlyArray<PgTypes.Parameter> =>
  table.map(({ kind, of }) =>
    Result.getOrThrow(
      PgTypes.array(
        rows.map((row) => encode(kind, of(row))),
        wireTypes[kind],
      ),
    ),
  )
