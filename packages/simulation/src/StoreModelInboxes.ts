/**
 * What inboxes of runs mean, in the plainest way that is right: part of the model of the stores.
 *
 * Leaves out: waking runs, and which runs there are.
 */
import type { RunId } from "@millrace/core/domain/Id"
import { messageMillis, messagesPerRun } from "@millrace/core/domain/Limits"
import type { Message, NewMessage } from "@millrace/core/domain/Message"
import type { Timestamp } from "@millrace/core/domain/Timestamp"
import type { NewWorkflowSignal } from "@millrace/core/domain/WorkflowSignal"
import { isCorrelated, signalOf } from "@millrace/core/domain/WorkflowSignal"
import type { InboxRequest, TakenMessage } from "@millrace/core/ports/RunStore"

/** A message, and what became of it. */
interface Received {
  readonly runId: RunId
  readonly id: string
  readonly message: Message
  readonly isOutside: boolean
  readonly takenBy: string | null
}

const isKept = ({ isOutside, message, takenBy }: Received, now: Timestamp): boolean =>
  takenBy === null && (!isOutside || message.at + messageMillis > now)

/** The one list of messages. */
export class Inboxes {
  #received: ReadonlyArray<Received> = []

  #of(runId: RunId): ReadonlyArray<Received> {
    return this.#received.filter((each) => each.runId === runId)
  }

  numberOf(runId: RunId, id: string): number | undefined {
    return this.#of(runId).find((each) => each.id === id)?.message.number
  }

  isFull(runId: RunId, now: Timestamp): boolean {
    const kept = this.#of(runId).filter((each) => each.isOutside && isKept(each, now))
    return kept.length >= messagesPerRun
  }

  append(runId: RunId, { id, ...rest }: NewMessage, isOutside: boolean, now: Timestamp): number {
    const number = this.#of(runId).length + 1
    const message = { number, name: rest.name, payload: rest.payload, at: now }
    this.#received = [...this.#received, { runId, id, message, isOutside, takenBy: null }]
    return number
  }

  untaken(runId: RunId): ReadonlyArray<number> {
    const own = this.#of(runId).filter(({ takenBy }) => takenBy === null)
    return own.map(({ message }) => message.number)
  }

  take(runId: RunId, taken: ReadonlyArray<TakenMessage>): void {
    this.#received = this.#received.map((each) => {
      const mine = taken.find(({ number }) => number === each.message.number)
      return each.runId === runId && mine !== undefined ? { ...each, takenBy: mine.nodeId } : each
    })
  }

  /** Takes out the signals to the workflow that no node has taken. */
  takeOut(runId: RunId): ReadonlyArray<NewWorkflowSignal> {
    const left = this.#of(runId).filter(
      ({ message, takenBy }) => takenBy === null && isCorrelated(message),
    )
    this.take(
      runId,
      left.map(({ message: { number } }) => ({ number, nodeId: "" })),
    )
    return left.map(({ id, message }) => signalOf({ ...message, id }))
  }

  read({ after, held, runId }: InboxRequest, now: Timestamp): ReadonlyArray<Message> {
    const isWanted = (each: Received) =>
      held.includes(each.message.number) || (each.message.number > after && isKept(each, now))
    return this.#of(runId)
      .filter(isWanted)
      .map(({ message }) => message)
  }
}
