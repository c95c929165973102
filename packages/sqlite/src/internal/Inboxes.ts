/**
 * The messages of runs.
 *
 * Guarantees: numbers have no gaps; each id is stored once. Leaves out: waking the run.
 */
import { messageMillis, messagesPerRun } from "@millrace/core/domain/Limits"
import type { Message, NewMessage } from "@millrace/core/domain/Message"
import type { Timestamp } from "@millrace/core/domain/Timestamp"
import type { NewWorkflowSignal } from "@millrace/core/domain/WorkflowSignal"
import { isCorrelated, signalOf } from "@millrace/core/domain/WorkflowSignal"
import { never } from "@millrace/core/domain/Timestamp"
import type { Inbox, InboxRequest, TakenMessage } from "@millrace/core/ports/RunStore"
import type { Connection } from "./SqliteConnection.ts"

interface Numbered {
  readonly number: number
}

/** The number of a run's message with this id, if there is one. */
export const numberOf = (db: Connection, run: number, id: string): number | undefined =>
  db.query<Numbered>(`SELECT number FROM messages WHERE run = ? AND id = ?`, run, id).first()
    ?.number

const openStatement = `SELECT count(*) AS open FROM messages
  WHERE run = ? AND taken_by IS NULL AND expires_at > ? AND expires_at <> ${never}`

const insertStatement = `INSERT INTO messages (run, number, id, expires_at, message)
  VALUES (?, ?, ?, ?, ?)`

/** A message to append. Only messages from outside count, and only they expire. */
export interface Appended {
  readonly run: number
  /** The number of the run's last message. */
  readonly last: number
  readonly message: NewMessage
  readonly isOutside: boolean
}

/** Appends a message and returns its number; `undefined` if the inbox is full. */
export const append = (
  db: Connection,
  { isOutside, last, message: { id, name, payload }, run }: Appended,
  now: Timestamp,
): number | undefined => {
  if (
    isOutside &&
    db.query<{ readonly open: number }>(openStatement, run, now).first()!.open >= messagesPerRun
  ) {
    return undefined
  }
  const number = last + 1
  const message: Message = { number, name, payload, at: now }
  const expiresAt = isOutside ? now + messageMillis : never
  db.run(insertStatement, run, number, id, expiresAt, JSON.stringify(message))
  return number
}

/** Notes which nodes have taken messages of a run. */
export const take = (db: Connection, run: number, taken: ReadonlyArray<TakenMessage>): void => {
  for (const { nodeId, number } of taken) {
    db.run(`UPDATE messages SET taken_by = ? WHERE run = ? AND number = ?`, nodeId, run, number)
  }
}

interface LeftRow extends MessageRow {
  readonly id: string
}

const leftStatement = `SELECT number, id, message FROM messages
  WHERE run = ? AND taken_by IS NULL ORDER BY number`

/** Takes out the signals to the workflow that no node of a run has taken. */
export const takeOut = (db: Connection, run: number): ReadonlyArray<NewWorkflowSignal> => {
  const left = db
    .query<LeftRow>(leftStatement, run)
    .all()
    .map(({ id, message }) => ({ ...(JSON.parse(message) as Message), id }))
    .filter(isCorrelated)
  take(
    db,
    run,
    left.map(({ number }) => ({ number, nodeId: "" })),
  )
  return left.map(signalOf)
}

interface MessageRow extends Numbered {
  readonly message: string
}

const newStatement = `SELECT m.number, m.message FROM runs r JOIN messages m ON m.run = r.number
  WHERE r.id = ? AND m.number > ? AND m.taken_by IS NULL AND m.expires_at > ?`

const heldStatement = `SELECT m.number, m.message FROM runs r JOIN messages m ON m.run = r.number
  WHERE r.id = ? AND m.number = ?`

/** The messages that a request asks for, in order. */
export const read = (
  db: Connection,
  { after, held, runId }: InboxRequest,
  now: Timestamp,
): Inbox => {
  const found = new Map<number, string>()
  for (const { message, number } of db.query<MessageRow>(newStatement, runId, after, now).all()) {
    found.set(number, message)
  }
  for (const each of held) {
    const row = db.query<MessageRow>(heldStatement, runId, each).first()
    if (row !== undefined) found.set(row.number, row.message)
  }
  const messages = [...found].toSorted(([a], [b]) => a - b)
  return { runId, messages: messages.map(([, message]) => JSON.parse(message) as Message) }
}
