/**
 * What signals to workflows mean, in the plainest way that is right: part of the model of the
 * stores.
 *
 * Leaves out: the inboxes, to which they go, and which workflows there are.
 */
import type { AccountId, RunId, WorkflowId } from "@millrace/core/domain/Id"
import { messageMillis, signalsPerWorkflow } from "@millrace/core/domain/Limits"
import { passes } from "@millrace/core/domain/Rule"
import type { Run } from "@millrace/core/domain/Run"
import type { Timestamp } from "@millrace/core/domain/Timestamp"
import type { NewWorkflowSignal, SignalWait } from "@millrace/core/domain/WorkflowSignal"
import type { SignalResult } from "@millrace/core/ports/RunStore"

interface Wait extends SignalWait {
  readonly workflowId: WorkflowId
  readonly runId: RunId
}

interface Stored {
  readonly workflowId: WorkflowId
  readonly signal: NewWorkflowSignal
  readonly at: Timestamp
  readonly runId: RunId | null
}

/** Gives a signal to a run; false if there is no such open run. */
type Give = (runId: RunId, signal: NewWorkflowSignal) => boolean

/** What signals ask of the rest of the model. */
export interface Surroundings {
  readonly hasWorkflow: (account: AccountId, id: WorkflowId) => boolean
  readonly giveOf: (account: AccountId, now: Timestamp) => Give
  /** Takes out the signals that no node of a run has taken. */
  readonly takeOut: (runId: RunId) => ReadonlyArray<NewWorkflowSignal>
}

const fits = (wait: Wait, workflowId: WorkflowId, signal: NewWorkflowSignal): boolean =>
  wait.workflowId === workflowId &&
  wait.name === signal.name &&
  wait.correlation === signal.correlation &&
  (wait.filter === null || passes(wait.filter, signal.payload))

/** The lists of waits and signals, the oldest first. */
export class Signals {
  #waits: ReadonlyArray<Wait> = []
  #stored: ReadonlyArray<Stored> = []
  /** What each run has last said that it waits for. */
  readonly #said = new Map<RunId, ReadonlyArray<SignalWait>>()
  readonly #around: Surroundings

  constructor(around: Surroundings) {
    this.#around = around
  }

  saidOf(runId: RunId): ReadonlyArray<SignalWait> {
    return this.#said.get(runId) ?? []
  }

  #take(workflowId: WorkflowId, signal: NewWorkflowSignal, give: Give, now: Timestamp) {
    for (;;) {
      const wait = this.#waits.find((each) => each.until >= now && fits(each, workflowId, signal))
      if (wait === undefined) return null
      this.#waits = this.#waits.filter((each) => each !== wait)
      if (give(wait.runId, signal)) return wait.runId
    }
  }

  #note(workflowId: WorkflowId, signal: NewWorkflowSignal, runId: RunId | null, at: Timestamp) {
    const isOld = (each: Stored) => each.workflowId === workflowId && each.signal.id === signal.id
    const noted = { workflowId, signal, at, runId }
    if (runId !== null && !signal.isNamed) {
      this.#stored = this.#stored.filter((each) => !isOld(each))
    } else if (this.#stored.some(isOld)) {
      this.#stored = this.#stored.map((each) => (isOld(each) ? noted : each))
    } else this.#stored = [...this.#stored, noted]
  }

  send(
    account: AccountId,
    workflowId: WorkflowId,
    signal: NewWorkflowSignal,
    now: Timestamp,
  ): SignalResult {
    if (!this.#around.hasWorkflow(account, workflowId)) return { _tag: "NotFound" }
    const give = this.#around.giveOf(account, now)
    this.#stored = this.#stored.filter(({ at }) => at + messageMillis > now)
    const own = this.#stored.filter((each) => each.workflowId === workflowId)
    const known = own.find((each) => each.signal.id === signal.id)
    const runId = known?.runId ?? null
    if (known !== undefined) {
      return runId === null
        ? { _tag: "Kept", isReplay: true }
        : { _tag: "Taken", runId, isReplay: true }
    }
    const taker = this.#take(workflowId, signal, give, now)
    const kept = own.filter((each) => each.runId === null)
    if (taker === null && kept.length >= signalsPerWorkflow) return { _tag: "Full" }
    this.#note(workflowId, signal, taker, now)
    return taker === null
      ? { _tag: "Kept", isReplay: false }
      : { _tag: "Taken", runId: taker, isReplay: false }
  }

  /** A run says all that it waits for, and gives back what it has not taken. */
  say(
    { accountId, id: runId, workflowId }: Run,
    said: ReadonlyArray<SignalWait>,
    now: Timestamp,
  ): void {
    this.#stored = this.#stored.filter(({ at }) => at + messageMillis > now)
    this.#said.set(runId, said)
    const isThere = this.#around.hasWorkflow(accountId, workflowId)
    const give = this.#around.giveOf(accountId, now)
    const left = this.#around.takeOut(runId).filter(() => isThere)
    const waits = isThere ? said : []
    const mine = waits.map((wait) => ({ ...wait, workflowId, runId }))
    this.#waits = [...this.#waits.filter((each) => each.runId !== runId), ...mine]
    for (const signal of left) {
      this.#note(workflowId, signal, this.#take(workflowId, signal, give, now), now)
    }
    for (const wait of mine) {
      if (wait.until < now || !this.#waits.includes(wait)) continue
      const found = this.#stored.find(
        (each) => each.runId === null && fits(wait, each.workflowId, each.signal),
      )
      if (found === undefined || !give(runId, found.signal)) continue
      this.#waits = this.#waits.filter((each) => each !== wait)
      this.#note(workflowId, found.signal, runId, found.at)
    }
  }

  /** A workflow is gone, and with it what was sent to it. */
  forget(workflowId: WorkflowId): void {
    this.#stored = this.#stored.filter((each) => each.workflowId !== workflowId)
  }
}
