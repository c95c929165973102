/**
 * Sends messages and signals to a run: checks the message, stores it, and wakes the runner that may
 * have to continue the run. Returns the message's number, or fails with a refusal.
 */
import { Effect } from "effect"
import type { AccountId, RunId } from "../../domain/Id.ts"
import type { Json } from "../../domain/Json.ts"
import type { NewMessage } from "../../domain/Message.ts"
import { problemOfMessage, problemOfSignal, signalMessage } from "../../domain/Message.ts"
import type { RunStore } from "../../ports/RunStore.ts"
import type { Ids } from "../Ids.ts"
import { InboxFull, InvalidMessage, RunEnded, RunNotFound } from "../Refusals.ts"
import type { Runner } from "../Runner.ts"

/** What sending needs. */
interface Sender {
  readonly runs: RunStore["Service"]
  readonly runner: Runner["Service"]
}

/** Why a message is not sent. */
export type SendRefusal = InvalidMessage | RunNotFound | RunEnded | InboxFull

/** How messages are sent. */
export const send = ({ runner, runs }: Sender) =>
  Effect.fn("Runs.send")(function* (account: AccountId, id: RunId, message: NewMessage) {
    const problem = problemOfMessage(message)
    if (problem !== undefined) return yield* new InvalidMessage({ problem })
    const sent = yield* runs.send(account, id, message)
    switch (sent._tag) {
      case "NotFound":
        return yield* new RunNotFound({ runId: id })
      case "Ended":
        return yield* new RunEnded({ runId: id, status: sent.status })
      case "Full":
        return yield* new InboxFull({ runId: id })
      case "Sent":
        if (!sent.isReplay) yield* runner.look
        return sent.number
    }
  }, Effect.uninterruptible)

/** A signal to a run: a message that a node `wait_signal` of the same name takes. */
export interface Signal {
  readonly name: string
  readonly payload: Json
  /** The same key to the same run again sends nothing. */
  readonly idempotencyKey?: string | undefined
}

/** How signals are sent. */
export const signal = (services: Sender & { readonly ids: Ids["Service"] }) => {
  const sendMessage = send(services)
  return (account: AccountId, id: RunId, { idempotencyKey, name, payload }: Signal) =>
    Effect.gen(function* () {
      const problem = problemOfSignal(name)
      if (problem !== undefined) return yield* new InvalidMessage({ problem })
      const messageId = idempotencyKey ?? (yield* services.ids.make("message"))
      return yield* sendMessage(account, id, { id: messageId, name: signalMessage(name), payload })
    })
}
