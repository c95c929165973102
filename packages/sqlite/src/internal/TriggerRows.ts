/**
 * The rows of triggers: what of them is a column, and what is in a JSON text.
 *
 * Leaves out: which rows to write.
 */
import type { TriggerId } from "@millrace/core/domain/Id"
import { webhookDefaults } from "@millrace/core/domain/InboundWebhook"
import type { Run } from "@millrace/core/domain/Run"
import type { RunEndTrigger } from "@millrace/core/domain/RunEndTrigger"
import { follows } from "@millrace/core/domain/RunEndTrigger"
import type { Trigger } from "@millrace/core/domain/Trigger"
import type { Connection } from "./SqliteConnection.ts"

/** A row of `triggers`. */
export interface Row {
  readonly due_at: number | null
  readonly fence: number
  readonly trigger: string
}

/** The columns of a {@link Row}. */
export const columns = "due_at, fence, trigger"

/** A trigger from its row. */
export const triggerOf = ({ due_at: dueAt, fence, trigger }: Row): Trigger => {
  const stored = JSON.parse(trigger) as Trigger
  // One that was stored before triggers could have a version or a webhook has none.
  const { version = null, webhook = null } = stored as Partial<Trigger>
  const read = { ...stored, version, webhook, fence } as Trigger
  if (read.type === "webhook") return { ...webhookDefaults, ...read }
  if (read.type === "run_end") return read
  return { ...read, waitingAt: read.waitingAt ?? null, dueAt }
}

/** What of a trigger is in its text. */
export const textOf = (trigger: Trigger): string =>
  JSON.stringify({ ...trigger, dueAt: undefined, fence: undefined })

/** A trigger of any account. */
export const triggerWith = (db: Connection, id: TriggerId): Trigger | undefined => {
  const row = db.query<Row>(`SELECT ${columns} FROM triggers WHERE id = ?`, id).first()
  return row === undefined ? undefined : triggerOf(row)
}

/** The triggers that follow a run that has ended. */
export const followersOf = (db: Connection, run: Run): ReadonlyArray<RunEndTrigger> =>
  db
    .query<Row>(`SELECT ${columns} FROM triggers WHERE watched_id = ?`, run.workflowId)
    .all()
    .map((row) => triggerOf(row) as RunEndTrigger)
    .filter((trigger) => follows(trigger, run))
