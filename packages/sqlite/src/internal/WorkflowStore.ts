/**
 * The workflow store.
 *
 * Guarantees: a listing reads no drawings. Leaves out: what a workflow means.
 */
import type { AccountId, WorkflowId } from "@millrace/core/domain/Id"
import type { Page } from "@millrace/core/domain/Page"
import { fromOverfetch } from "@millrace/core/domain/Page"
import { payloadsKept } from "@millrace/core/domain/RunPayload"
import type { Workflow, WorkflowSummary } from "@millrace/core/domain/Workflow"
import type { WorkflowQuery } from "@millrace/core/ports/WorkflowStore"
import { WorkflowStore } from "@millrace/core/ports/WorkflowStore"
import { Effect, Layer, Option } from "effect"
import type { Connection } from "./SqliteConnection.ts"
import { Database } from "./SqliteConnection.ts"
import { behind, window } from "./Listing.ts"
import { folded } from "./RunRows.ts"

interface Row {
  readonly summary: string
  readonly drawing: string
}

interface Sized {
  readonly id: WorkflowId
  readonly bytes: number
}

const sizeStatement = `SELECT id, octet_length(drawing) AS bytes FROM workflows
  WHERE id = ? AND account_id = ?`

const textsOf = ({ edges, nodes, settings, ...head }: Workflow) => {
  const summary: WorkflowSummary = { ...head, nodeCount: nodes.length }
  return { summary: JSON.stringify(summary), drawing: JSON.stringify({ nodes, edges, settings }) }
}

const workflowOf = ({ drawing, summary }: Row): Workflow => {
  const { nodeCount: _, ...head } = JSON.parse(summary) as WorkflowSummary
  return { ...head, ...(JSON.parse(drawing) as Pick<Workflow, "nodes" | "edges" | "settings">) }
}

const insert = (db: Connection, workflow: Workflow): void => {
  const { drawing, summary } = textsOf(workflow)
  db.run(
    `INSERT INTO workflows (id, account_id, name_folded, revision, created_at, summary, drawing)
     VALUES (?, ?, ?, ?, ?, ?, ?)`,
    workflow.id,
    workflow.accountId,
    folded(workflow.name),
    workflow.revision,
    workflow.createdAt,
    summary,
    drawing,
  )
}

/** The account's workflow. */
export const find = (db: Connection, account: AccountId, id: WorkflowId): Workflow | undefined => {
  const row = db
    .query<Row>(
      `SELECT summary, drawing FROM workflows WHERE id = ? AND account_id = ?`,
      id,
      account,
    )
    .first()
  return row === undefined ? undefined : workflowOf(row)
}

const replace = (db: Connection, workflow: Workflow, expectedRevision: number) => {
  const known = find(db, workflow.accountId, workflow.id)
  if (known?.revision !== expectedRevision) return "conflict"
  const { drawing, summary } = textsOf({ ...workflow, createdAt: known.createdAt })
  db.run(
    `UPDATE workflows SET name_folded = ?, revision = ?, summary = ?, drawing = ? WHERE id = ?`,
    folded(workflow.name),
    workflow.revision,
    summary,
    drawing,
    workflow.id,
  )
  return "replaced"
}

/** The account's workflows, as long as their drawings fit. */
const findMany = (
  db: Connection,
  account: AccountId,
  ids: ReadonlyArray<WorkflowId>,
  mostBytes: number,
): ReadonlyArray<Workflow> => {
  const rows = [...new Set(ids)].flatMap((id) => db.query<Sized>(sizeStatement, id, account).all())
  const kept = payloadsKept(
    rows.map(({ bytes }) => bytes),
    mostBytes,
  )
  return rows.flatMap(({ id }, index) => (kept[index]! ? (find(db, account, id) ?? []) : []))
}

const list = (db: Connection, query: WorkflowQuery): Page<WorkflowSummary> => {
  const { account, after, search = "" } = query
  const { condition, values } = behind(after)
  const rows = db
    .query<{ readonly summary: string }>(
      `SELECT summary FROM workflows
     WHERE account_id = ? AND ${condition} AND instr(name_folded, ?) > 0
     ORDER BY created_at DESC, id DESC LIMIT ? OFFSET ?`,
      account,
      ...values,
      folded(search),
      ...window(query),
    )
    .all()
  return fromOverfetch(
    rows.map(({ summary }) => JSON.parse(summary) as WorkflowSummary),
    query.limit,
  )
}

/** All workflows of an account, by identifier. */
export const all = (db: Connection, account: AccountId): ReadonlyArray<Workflow> =>
  db
    .query<Row>(`SELECT summary, drawing FROM workflows WHERE account_id = ? ORDER BY id`, account)
    .all()
    .map(workflowOf)

const make = (db: Connection): WorkflowStore["Service"] =>
  WorkflowStore.of({
    find: (account, id) =>
      db.read("WorkflowStore.find", () => Option.fromUndefinedOr(find(db, account, id))),
    insert: (workflow) => db.write("WorkflowStore.insert", () => insert(db, workflow)),
    replace: (workflow, expectedRevision) =>
      db.write("WorkflowStore.replace", () => replace(db, workflow, expectedRevision)),
    remove: (account, id) =>
      db.write(
        "WorkflowStore.remove",
        () => db.run(`DELETE FROM workflows WHERE id = ? AND account_id = ?`, id, account) > 0,
      ),
    findMany: (account, ids, mostBytes) =>
      db.read("WorkflowStore.findMany", () => findMany(db, account, ids, mostBytes)),
    list: (query) => db.read("WorkflowStore.list", () => list(db, query)),
  })

/** The workflow store of a database. */
export const layer: Layer.Layer<WorkflowStore, never, Database> = Layer.effect(
  WorkflowStore,
  Effect.map(Database, make),
)
