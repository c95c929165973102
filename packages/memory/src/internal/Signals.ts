/**
 * The signals to workflows in memory, and the waits of runs for them.
 *
 * Guarantees: every method is one synchronous step. Leaves out: the inboxes, to which signals go.
 */
import type { AccountId, RunId, WorkflowId } from "@millrace/core/domain/Id"
import { messageMillis, signalsPerWorkflow } from "@millrace/core/domain/Limits"
import type { NewMessage } from "@millrace/core/domain/Message"
import type { Run } from "@millrace/core/domain/Run"
import type { Timestamp } from "@millrace/core/domain/Timestamp"
import type { NewWorkflowSignal, SignalWait } from "@millrace/core/domain/WorkflowSignal"
import { messageOf, passesFilter, textOfKey } from "@millrace/core/domain/WorkflowSignal"
import type { SendResult, SignalResult, WaitsChanged } from "@millrace/core/ports/RunStore"
import type { Inboxes } from "./Inboxes.ts"
import type { Drawings } from "./StoredWorkflows.ts"

interface OpenWait extends SignalWait {
  readonly runId: RunId
}

interface StoredSignal {
  readonly signal: NewWorkflowSignal
  readonly expiresAt: Timestamp
  /** The run that has it; `null` while it is kept. */
  runId: RunId | null
}

/** Gives a signal to a run; false if the run cannot have it. */
type Give = (run: RunId, signal: NewWorkflowSignal) => boolean

const fits = (wait: SignalWait, signal: NewWorkflowSignal): boolean =>
  textOfKey(wait) === textOfKey(signal) && passesFilter(wait, signal)

const resultOf = (runId: RunId | null, isReplay: boolean): SignalResult =>
  runId === null ? { _tag: "Kept", isReplay } : { _tag: "Taken", runId, isReplay }

/** The signals and waits of one workflow, the oldest first. Mutable. */
class WorkflowSignals {
  readonly #waits = new Set<OpenWait>()
  readonly #signals = new Map<string, StoredSignal>()

  /** Gives a signal to the oldest wait that it fits; the run that has it now. */
  #offer(signal: NewWorkflowSignal, give: Give, now: Timestamp): RunId | null {
    for (const wait of this.#waits) {
      if (wait.until < now || !fits(wait, signal)) continue
      this.#waits.delete(wait)
      if (give(wait.runId, signal)) return wait.runId
    }
    return null
  }

  /** Remembers a signal that is kept, or that its sender may repeat. */
  #store(stored: StoredSignal): void {
    const { runId, signal } = stored
    if (runId === null || signal.isNamed) this.#signals.set(signal.id, stored)
    else this.#signals.delete(signal.id)
  }

  /** The workflow is gone, and with it what was sent to it. */
  forget(): void {
    this.#signals.clear()
  }

  forgetExpired(now: Timestamp): void {
    for (const [id, { expiresAt }] of this.#signals) if (expiresAt <= now) this.#signals.delete(id)
  }

  send(signal: NewWorkflowSignal, give: Give, now: Timestamp): SignalResult {
    const known = this.#signals.get(signal.id)
    if (known !== undefined) return resultOf(known.runId, true)
    const runId = this.#offer(signal, give, now)
    const kept = [...this.#signals.values()].filter((each) => each.runId === null)
    if (runId === null && kept.length >= signalsPerWorkflow) return { _tag: "Full" }
    this.#store({ signal, expiresAt: now + messageMillis, runId })
    return resultOf(runId, false)
  }

  replaceWaits(runId: RunId, waits: ReadonlyArray<SignalWait>): ReadonlyArray<OpenWait> {
    for (const wait of this.#waits) if (wait.runId === runId) this.#waits.delete(wait)
    const opened = waits.map((wait) => ({ ...wait, runId }))
    for (const wait of opened) this.#waits.add(wait)
    return opened
  }

  /** Gives a signal that a run has not taken to another one, or keeps it. */
  giveBack(signal: NewWorkflowSignal, give: Give, now: Timestamp): void {
    const runId = this.#offer(signal, give, now)
    this.#store({ signal, expiresAt: now + messageMillis, runId })
  }

  /** Gives a wait the oldest signal that fits it. */
  serve(wait: OpenWait, give: Give, now: Timestamp): void {
    if (wait.until < now || !this.#waits.has(wait)) return
    const kept = [...this.#signals.values()].filter((each) => each.runId === null)
    const found = kept.find(({ signal }) => fits(wait, signal))
    if (found === undefined || !give(wait.runId, found.signal)) return
    this.#waits.delete(wait)
    this.#store({ ...found, runId: wait.runId })
  }
}

/** Appends a message to the inbox of a run. */
export type Send = (
  account: AccountId,
  run: RunId,
  message: NewMessage,
  now: Timestamp,
) => SendResult

/** All signals of a store, and the waits for them. Mutable. */
export class Signals {
  readonly #workflows: Drawings
  readonly #inboxes: Inboxes
  readonly #send: Send
  readonly #byWorkflow = new Map<WorkflowId, WorkflowSignals>()

  constructor(workflows: Drawings, inboxes: Inboxes, send: Send) {
    this.#workflows = workflows
    this.#inboxes = inboxes
    this.#send = send
    workflows.onRemove = (id) => this.#byWorkflow.get(id)?.forget()
  }

  send(
    account: AccountId,
    workflowId: WorkflowId,
    signal: NewWorkflowSignal,
    now: Timestamp,
  ): SignalResult {
    if (!this.#isThere(account, workflowId)) return { _tag: "NotFound" }
    return this.#signalsOf(workflowId, now).send(signal, this.#giveOf(account, now), now)
  }

  /** Replaces the waits of a run. Signals that it has not taken go to others, or are kept. */
  change({ accountId, id, workflowId }: Run, { waits }: WaitsChanged, now: Timestamp): void {
    const signals = this.#signalsOf(workflowId, now)
    const left = this.#inboxes.takeOut(id)
    // No signal reaches the runs of a workflow that is gone but by their ids.
    const isThere = this.#isThere(accountId, workflowId)
    const opened = signals.replaceWaits(id, isThere ? waits : [])
    if (!isThere) return
    const give = this.#giveOf(accountId, now)
    for (const signal of left) signals.giveBack(signal, give, now)
    for (const wait of opened) signals.serve(wait, give, now)
  }

  #isThere(account: AccountId, workflowId: WorkflowId): boolean {
    return this.#workflows.find(account, workflowId) !== undefined
  }

  #signalsOf(workflowId: WorkflowId, now: Timestamp): WorkflowSignals {
    const signals = this.#byWorkflow.get(workflowId) ?? new WorkflowSignals()
    this.#byWorkflow.set(workflowId, signals)
    signals.forgetExpired(now)
    return signals
  }

  #giveOf(account: AccountId, now: Timestamp): Give {
    return (run, signal) => this.#send(account, run, messageOf(signal), now)._tag === "Sent"
  }
}
