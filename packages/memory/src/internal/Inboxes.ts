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
}

/** The messages of one run. Mutable. */
class Inbox {
  readonly all: Array<Entry> = []
  readonly numbers = new Map<string, number>()
  /** Those that no node has taken, by number, in order. */
  readonly open = new Map<number, Entry>()
}

/** The inboxes of all runs. Mutable; every method is one synchronous step. */
export class Inboxes {
  readonly #inboxes = new Map<RunId, Inbox>()

  /**
   * Appends a message and returns its number; `undefined` if the inbox is full. Only messages from
   * outside count, and only they expire.
   */
  append(run: RunId, draft: NewMessage, now: Timestamp, isOutside: boolean): number | undefined {
    const inbox = this.#inboxes.get(run) ?? new Inbox()
    const counts = ({ expiresAt }: Entry) => expiresAt > now && expiresAt !== never
    if (isOutside && [...inbox.open.values()].filter(counts).length >= messagesPerRun) {
      return undefined
    }
    const number = inbox.all.length + 1
    const { id, name, payload } = draft
    const entry = {
      message: { number, name, payload, at: now },
      id,
      expiresAt: isOutside ? now + messageMillis : never,
    }
    inbox.all.push(entry)
    inbox.numbers.set(id, number)
    inbox.open.set(number, entry)
    this.#inboxes.set(run, inbox)
    return number
  }

  /** The number of the message with this id, if there is one. */
  numberOf(run: RunId, id: string): number | undefined {
    return this.#inboxes.get(run)?.numbers.get(id)
  }

  take(run: RunId, taken: ReadonlyArray<TakenMessage>): void {
    for (const { number } of taken) this.#inboxes.get(run)?.open.delete(number)
  }

  /** Takes out the signals to the workflow that no node has taken. */
  takeOut(run: RunId): ReadonlyArray<NewWorkflowSignal> {
    const open = this.#inboxes.get(run)?.open
    const left = [...(open?.values() ?? [])].filter(({ message }) => isCorrelated(message))
    for (const { message } of left) open?.delete(message.number)
    return left.map(({ id, message }) => signalOf({ ...message, id }))
  }

  read({ after, held, runId }: InboxRequest, now: Timestamp): ReadonlyArray<Message> {
    const inbox = this.#inboxes.get(runId)
    if (inbox === undefined) return []
    const found = new Map<number, Entry>()
    for (const number of held) {
      const entry = inbox.all[number - 1]
      if (entry !== undefined) found.set(number, entry)
    }
    for (const [number, entry] of inbox.open) {
      if (number > after && entry.expiresAt > now) found.set(number, entry)
    }
    const inOrder = [...found].toSorted(([one], [other]) => one - other)
    return inOrder.map(([, { message }]) => message)
  }
}
