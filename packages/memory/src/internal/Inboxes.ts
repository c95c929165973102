/**
 * The messages of the runs in memory.
 *
 * Guarantees: numbers have no gaps; each id is stored once. Leaves out: waking the run.
 */
import type { RunId } from "@millrace/core/domain/Id"
import { messageMillis, messagesPerRun } from "@millrace/core/domain/Limits"
import type { Message, NewMessage } from "@millrace/core/domain/Message"
import type { NewWorkflowSignal } from "@millrace/core/domain/WorkflowSignal"
import { isCorrelated, signalOf } from "@millrace/core/domain/WorkflowSignal"
import { never, type Timestamp } from "@millrace/core/domain/Timestamp"
import type { InboxRequest, TakenMessage } from "@millrace/core/ports/RunStore"

interface Entry {
  readonly message: Message
  readonly id: string
  readonly expiresAt: Timestamp
  /** The node that has taken it. */
  takenBy: string | null
}

/** The inboxes of all runs. Mutable; every method is one synchronous step. */
export class Inboxes {
  readonly #inboxes = new Map<RunId, Array<Entry>>()

  /**
   * Appends a message and returns its number; `undefined` if the inbox is full. Only messages from
   * outside count, and only they expire.
   */
  append(run: RunId, draft: NewMessage, now: Timestamp, isOutside: boolean): number | undefined {
    const entries = this.#inboxes.get(run) ?? []
    const counts = ({ expiresAt, takenBy }: Entry) =>
      takenBy === null && expiresAt > now && expiresAt !== never
    if (isOutside && entries.filter(counts).length >= messagesPerRun) return undefined
    const number = entries.length + 1
    const { id, name, payload } = draft
    const message = { number, name, payload, at: now }
    const expiresAt = isOutside ? now + messageMillis : never
    this.#inboxes.set(run, [...entries, { message, id, expiresAt, takenBy: null }])
    return number
  }

  /** The number of the message with this id, if there is one. */
  numberOf(run: RunId, id: string): number | undefined {
    return this.#inboxes.get(run)?.find((entry) => entry.id === id)?.message.number
  }

  take(run: RunId, taken: ReadonlyArray<TakenMessage>): void {
    for (const { nodeId, number } of taken) {
      const entry = this.#inboxes.get(run)?.[number - 1]
      if (entry !== undefined) entry.takenBy = nodeId
    }
  }

  /** Takes out the signals to the workflow that no node has taken. */
  takeOut(run: RunId): ReadonlyArray<NewWorkflowSignal> {
    const left = (this.#inboxes.get(run) ?? []).filter(
      ({ message, takenBy }) => takenBy === null && isCorrelated(message),
    )
    for (const entry of left) entry.takenBy = ""
    return left.map(({ id, message }) => signalOf({ ...message, id }))
  }

  read({ after, held, runId }: InboxRequest, now: Timestamp): ReadonlyArray<Message> {
    const isWanted = ({ expiresAt, message: { number }, takenBy }: Entry) =>
      held.includes(number) || (takenBy === null && number > after && expiresAt > now)
    return (this.#inboxes.get(runId) ?? []).filter(isWanted).map(({ message }) => message)
  }
}
