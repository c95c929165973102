/**
 * Commits of runs, and the messages that runs and callers send.
 *
 * Guarantees: a commit is checked before it writes. Leaves out: the transaction around it.
 */
import type { AccountId, RunId, WorkflowId } from "@millrace/core/domain/Id"
import type { NewMessage } from "@millrace/core/domain/Message"
import type { Definition, Run } from "@millrace/core/domain/Run"
import { isTerminal } from "@millrace/core/domain/Run"
import type { Timestamp } from "@millrace/core/domain/Timestamp"
import type { InsufficientCredits } from "@millrace/core/ports/LedgerStore"
import type { NewWorkflowSignal } from "@millrace/core/domain/WorkflowSignal"
import { messageOf } from "@millrace/core/domain/WorkflowSignal"
import type { RunCommit, SendResult, SignalResult, StartedRun } from "@millrace/core/ports/RunStore"
import { StaleRun } from "@millrace/core/ports/RunStore"
import * as Books from "./Books.ts"
import type { Connection } from "./SqliteConnection.ts"
import * as Deliveries from "./Deliveries.ts"
import * as IdempotencyKeys from "./IdempotencyKeys.ts"
import * as Inboxes from "./Inboxes.ts"
import * as KeyChanges from "./KeyChanges.ts"
import * as RunEnds from "./RunEnds.ts"
import * as RunRows from "./RunRows.ts"
import * as Signals from "./Signals.ts"

type Standing = Pick<
  RunRows.RunRow,
  "number" | "fence" | "revision" | "messages" | "status" | "owner" | "due_at"
>

const standingStatement = `SELECT number, fence, revision, messages, status, owner, due_at
  FROM runs WHERE id = ? AND account_id = ?`

const isStored = (db: Connection, id: RunId): boolean =>
  db.query(`SELECT 1 FROM runs WHERE id = ?`, id).first() !== undefined

/** True if a start would take what the run was started from. */
const isCurrent = (
  db: Connection,
  { accountId, workflowId, workflowRevision, workflowVersion }: Run,
): boolean =>
  db
    .query(
      `SELECT 1 FROM workflows WHERE id = ? AND account_id = ? AND published IS ?
       AND (published IS NOT NULL OR revision = ?)`,
      workflowId,
      accountId,
      workflowVersion,
      workflowRevision,
    )
    .first() !== undefined

/** True if what has started a run, an end or else its trigger, has this fence. */
const isClaimed = (db: Connection, { after, triggerId }: Run, fence: number): boolean =>
  after === null
    ? db.query(`SELECT 1 FROM triggers WHERE id = ? AND fence = ?`, triggerId, fence).first() !==
      undefined
    : triggerId !== null && RunEnds.has(db, { triggerId, runId: after.runId, fence })

/** False if a run cannot be new as the commit expects. */
const isNew = (db: Connection, { expected, run }: RunCommit, now: Timestamp): boolean => {
  if (expected._tag !== "New") return false
  const { idempotencyKey, isCurrent: mustBeCurrent, claimFence } = expected
  if (isStored(db, run.id) || (mustBeCurrent === true && !isCurrent(db, run))) return false
  if (claimFence !== undefined && !isClaimed(db, run, claimFence)) return false
  if (idempotencyKey === undefined) return true
  return IdempotencyKeys.find(db, run.accountId, idempotencyKey.key, now) === undefined
}

/** The number of an existing run that is as the commit expects. */
const numberOf = (db: Connection, commit: RunCommit): number | undefined => {
  const { expected, run, seen = Infinity } = commit
  if (expected._tag === "New") return undefined
  const present = db.query<Standing>(standingStatement, run.id, run.accountId).first()
  const fits =
    present?.fence === expected.fence &&
    present.revision === expected.revision &&
    present.messages <= seen &&
    !isTerminal(present.status)
  return fits ? present.number : undefined
}

/** Stores a new run; returns its number. */
const begin = (db: Connection, run: Run, { id, ...content }: Definition): number => {
  if (db.query(`SELECT 1 FROM definitions WHERE id = ?`, id).first() === undefined) {
    db.run(`INSERT INTO definitions (id, content) VALUES (?, ?)`, id, JSON.stringify(content))
  }
  KeyChanges.add(db, run)
  return RunRows.insert(db, run)
}

/** Stores the rows and events of a commit, or of a run that it starts. */
const append = (
  db: Connection,
  number: number,
  { events = [], implied, nodeRuns = [], rewritten = [] }: Partial<RunCommit>,
): void => {
  for (const row of nodeRuns) RunRows.putNode(db, number, row, implied?.get(row.nodeId))
  for (const row of rewritten) RunRows.putNode(db, number, row, implied?.get(row.nodeId))
  for (const event of events) {
    db.run(
      `INSERT INTO run_events (run, sequence, event) VALUES (?, ?, ?)`,
      number,
      event.sequence,
      JSON.stringify(event),
    )
  }
}

/** Stores a run that a commit starts. */
const start = (db: Connection, started: StartedRun, now: Timestamp): void => {
  const { credits = [], definition, deliveries = [], run } = started
  append(db, begin(db, run, definition), started)
  RunEnds.add(db, run, now)
  Books.move(db, run.accountId, run.id, credits)
  Deliveries.insert(db, deliveries, now)
}

/** Applies a commit. Returns why not, if it has written nothing. */
export const commit = (
  db: Connection,
  given: RunCommit,
  now: Timestamp,
): StaleRun | InsufficientCredits | undefined => {
  const { clearsLosses = false, credits = [], expected, messages = [], run } = given
  const { deliveries, signals, starts = [], taken = [] } = given
  const { accountId } = run
  const known = numberOf(db, given)
  if (known === undefined && !isNew(db, given, now)) return new StaleRun({ runId: run.id })
  const double = starts.find((each) => isStored(db, each.run.id))
  if (double !== undefined) return new StaleRun({ runId: double.run.id })
  const problem = Books.problemOf(db, given, now)
  if (problem !== undefined) return problem
  if (known !== undefined) RunRows.update(db, known, run, clearsLosses)
  const number = expected._tag === "New" ? begin(db, run, expected.definition) : known!
  if (expected._tag === "New" && expected.idempotencyKey !== undefined) {
    IdempotencyKeys.take(db, run, expected.idempotencyKey, now)
  }
  append(db, number, given)
  RunEnds.add(db, run, now)
  KeyChanges.addAtEnd(db, run)
  Books.move(db, accountId, run.id, credits)
  Inboxes.take(db, number, taken)
  for (const each of starts) start(db, each, now)
  for (const { message, runId } of messages) send(db, accountId, runId, message, now, false)
  if (signals !== undefined) {
    Signals.change(withinOf(db, now), run, signals, Inboxes.takeOut(db, number))
  }
  Deliveries.insert(db, deliveries, now)
  return undefined
}

/** Signals are delivered as messages of other runs are: they count in no inbox. */
const withinOf = (db: Connection, now: Timestamp): Signals.Within => ({
  db,
  now,
  deliver: (account, run, signal) =>
    send(db, account, run, messageOf(signal), now, false)._tag === "Sent",
})

/** Gives a signal to a run of the workflow that waits for it, or keeps it. */
export const signal = (
  db: Connection,
  account: AccountId,
  workflowId: WorkflowId,
  sent: NewWorkflowSignal,
  now: Timestamp,
): SignalResult => Signals.send(withinOf(db, now), account, workflowId, sent)

/** Appends a message to a run's inbox, and wakes the run if it is parked. */
export const send = (
  db: Connection,
  account: AccountId,
  id: RunId,
  message: NewMessage,
  now: Timestamp,
  isOutside: boolean,
): SendResult => {
  const run = db.query<Standing>(standingStatement, id, account).first()
  if (run === undefined) return { _tag: "NotFound" }
  const known = Inboxes.numberOf(db, run.number, message.id)
  if (known !== undefined) return { _tag: "Sent", number: known, isReplay: true }
  if (isTerminal(run.status)) return { _tag: "Ended", status: run.status }
  const appended = { run: run.number, last: run.messages, message, isOutside }
  const number = Inboxes.append(db, appended, now)
  if (number === undefined) return { _tag: "Full" }
  db.run(`UPDATE runs SET messages = ? WHERE number = ?`, number, run.number)
  const isParked = run.status === "RUNNING" && run.owner === null
  if (isParked && run.due_at !== null && run.due_at > now) {
    db.run(
      `UPDATE runs SET due_at = NULL, woken_at = ?, is_due = 0 WHERE number = ?`,
      now,
      run.number,
    )
  }
  return { _tag: "Sent", number, isReplay: false }
}
