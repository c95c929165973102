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
import { find, textsOf } from "./WorkflowRows.ts"
import * as WorkflowVersions from "./WorkflowVersions.ts"

interface Sized {
  readonly id: WorkflowId
  readonly bytes: number
}

const sizeStatement = `SELECT id, octet_length(drawing) AS bytes FROM workflows
  WHERE id = ? AND account_id = ?`

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
    findCurrent: (account, id) =>
      db.read("WorkflowStore.findCurrent", () =>
        Option.fromUndefinedOr(WorkflowVersions.current(db, account, id)),
      ),
    publish: (publication) =>
      db.write("WorkflowStore.publish", () => WorkflowVersions.publish(db, publication)),
    unpublish: (account, id) =>
      db.write("WorkflowStore.unpublish", () => WorkflowVersions.unpublish(db, account, id)),
    findVersion: (account, id, number) =>
      db.read("WorkflowStore.findVersion", () =>
        Option.fromUndefinedOr(WorkflowVersions.find(db, account, id, number)),
      ),
    listVersions: (account, id) =>
      db.read("WorkflowStore.listVersions", () =>
        Option.fromUndefinedOr(WorkflowVersions.list(db, account, id)),
      ),
    list: (query) => db.read("WorkflowStore.list", () => list(db, query)),
  })

/** The workflow store of a database. */
export const layer: Layer.Layer<WorkflowStore, never, Database> = Layer.effect(
  WorkflowStore,
  Effect.map(Database, make),
)
