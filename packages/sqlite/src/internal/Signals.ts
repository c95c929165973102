/**
 * The signals to workflows, and the waits of runs for them.
 *
 * Guarantees: a signal goes to the oldest wait that it fits, and a wait gets the oldest signal.
 * Leaves out: the transaction around it, and the inboxes, to which signals go.
 */
import type { AccountId, RunId, WorkflowId } from "@millrace/core/domain/Id"
import type { JsonObject } from "@millrace/core/domain/Json"
import { messageMillis, signalsPerWorkflow } from "@millrace/core/domain/Limits"
import type { Run } from "@millrace/core/domain/Run"
import type { Timestamp } from "@millrace/core/domain/Timestamp"
import type { NewWorkflowSignal } from "@millrace/core/domain/WorkflowSignal"
import { passesFilter, textOfKey } from "@millrace/core/domain/WorkflowSignal"
import type { SignalResult, WaitsChanged } from "@millrace/core/ports/RunStore"
import type { Connection } from "./SqliteConnection.ts"

/** A store in the middle of a write. */
export interface Within {
  readonly db: Connection
  readonly now: Timestamp
  /** Appends a signal to the inbox of a run; false if there is no such open run. */
  readonly deliver: (account: AccountId, run: RunId, signal: NewWorkflowSignal) => boolean
}

interface WaitRow {
  readonly number: number
  readonly run_id: RunId
  readonly filter: string | null
}

interface SignalRow {
  readonly number: number
  readonly run_id: RunId | null
  readonly signal: string
}

const fits = ({ filter }: Pick<WaitRow, "filter">, signal: NewWorkflowSignal): boolean =>
  passesFilter({ filter: filter === null ? null : (JSON.parse(filter) as JsonObject) }, signal)

const signalIn = ({ signal }: SignalRow): NewWorkflowSignal =>
  JSON.parse(signal) as NewWorkflowSignal

const close = (db: Connection, number: number): void => {
  db.run(`DELETE FROM signal_waits WHERE number = ?`, number)
}

const waitsStatement = `SELECT number, run_id, filter FROM signal_waits
  WHERE workflow_id = ? AND key = ? AND until >= ? ORDER BY number`

/** Gives a signal to the oldest wait that it fits; the run that has it now. */
const offer = (
  { db, deliver, now }: Within,
  account: AccountId,
  workflowId: WorkflowId,
  signal: NewWorkflowSignal,
): RunId | null => {
  const waits = db.query<WaitRow>(waitsStatement, workflowId, textOfKey(signal), now).all()
  for (const wait of waits) {
    if (!fits(wait, signal)) continue
    const { number, run_id: run } = wait
    close(db, number)
    if (deliver(account, run, signal)) return run
  }
  return null
}

const storeStatement = `INSERT INTO workflow_signals
  (workflow_id, id, key, run_id, expires_at, signal) VALUES (?, ?, ?, ?, ?, ?)
  ON CONFLICT (workflow_id, id) DO UPDATE SET run_id = excluded.run_id,
    expires_at = excluded.expires_at, signal = excluded.signal`

/** Remembers a signal that is kept, or, without its payload, one that its sender may repeat. */
const store = (
  { db, now }: Within,
  workflowId: WorkflowId,
  signal: NewWorkflowSignal,
  run: RunId | null,
): void => {
  const id = JSON.stringify(signal.id)
  if (run !== null && !signal.isNamed) {
    db.run(`DELETE FROM workflow_signals WHERE workflow_id = ? AND id = ?`, workflowId, id)
    return
  }
  const content = JSON.stringify(run === null ? signal : { ...signal, payload: null })
  const rest = [run, now + messageMillis, content] as const
  db.run(storeStatement, workflowId, id, textOfKey(signal), ...rest)
}

const resultOf = (runId: RunId | null, isReplay: boolean): SignalResult =>
  runId === null ? { _tag: "Kept", isReplay } : { _tag: "Taken", runId, isReplay }

const exists = (db: Connection, account: AccountId, id: WorkflowId): boolean =>
  db.query(`SELECT 1 FROM workflows WHERE id = ? AND account_id = ?`, id, account).first() !==
  undefined

const knownStatement = `SELECT number, run_id, signal FROM workflow_signals
  WHERE workflow_id = ? AND id = ?`

const countStatement = `SELECT count(*) AS kept FROM workflow_signals
  WHERE workflow_id = ? AND run_id IS NULL`

/** Gives a signal to a run that waits for it, or keeps it. */
export const send = (
  within: Within,
  account: AccountId,
  workflowId: WorkflowId,
  signal: NewWorkflowSignal,
): SignalResult => {
  const { db, now } = within
  if (!exists(db, account, workflowId)) return { _tag: "NotFound" }
  db.run(`DELETE FROM workflow_signals WHERE expires_at <= ?`, now)
  const known = db.query<SignalRow>(knownStatement, workflowId, JSON.stringify(signal.id)).first()
  if (known !== undefined) return resultOf(known.run_id, true)
  const run = offer(within, account, workflowId, signal)
  const { kept } = db.query<{ readonly kept: number }>(countStatement, workflowId).first()!
  if (run === null && kept >= signalsPerWorkflow) return { _tag: "Full" }
  store(within, workflowId, signal, run)
  return resultOf(run, false)
}

const keptStatement = `SELECT number, run_id, signal FROM workflow_signals
  WHERE workflow_id = ? AND key = ? AND run_id IS NULL AND expires_at > ? ORDER BY number`

const openStatement = `INSERT INTO signal_waits (run_id, workflow_id, key, filter, until)
  VALUES (?, ?, ?, ?, ?) RETURNING number, run_id, filter`

/** Gives a wait the oldest signal that fits it. */
const serve = (
  within: Within,
  { accountId, id, workflowId }: Run,
  wait: WaitRow,
  key: string,
): void => {
  const { db, deliver, now } = within
  const kept = db.query<SignalRow>(keptStatement, workflowId, key, now).all().map(signalIn)
  const found = kept.find((signal) => fits(wait, signal))
  if (found === undefined || !deliver(accountId, id, found)) return
  close(db, wait.number)
  store(within, workflowId, found, id)
}

/** Replaces the waits of a run. Signals that it has not taken go to others, or are kept. */
export const change = (
  within: Within,
  run: Run,
  { waits }: WaitsChanged,
  left: ReadonlyArray<NewWorkflowSignal>,
): void => {
  const { db, now } = within
  const { accountId, id, workflowId } = run
  db.run(`DELETE FROM signal_waits WHERE run_id = ?`, id)
  // No signal reaches the runs of a workflow that is gone but by their ids.
  if (!exists(db, accountId, workflowId)) return
  const opened = waits.map(({ filter, until, ...key }) => {
    const text = textOfKey(key)
    const rule = filter === null ? null : JSON.stringify(filter)
    const row = db.query<WaitRow>(openStatement, id, workflowId, text, rule, until).first()!
    return { key: text, row, until }
  })
  for (const signal of left) {
    store(within, workflowId, signal, offer(within, accountId, workflowId, signal))
  }
  for (const { key, row, until } of opened) if (until >= now) serve(within, run, row, key)
}
