/**
 * Sends a message to a run: checks the message, stores it, and wakes the runner that may have to
 * continue the run. Returns the message's number, or fails with a refusal.
 */
import { Effect } from "effect"
import type { AccountId, RunId } from "../../domain/Id.ts"
import type { NewMessage } from "../../domain/Message.ts"
import { problemOfMessage } from "../../domain/Message.ts"
import type { RunStore } from "../../ports/RunStore.ts"
import { InboxFull, InvalidMessage, RunEnded, RunNotFound } from "../Refusals.ts"
import type { Runner } from "../Runner.ts"

/** What sending needs. */
interface Sender {
  readonly runs: RunStore["Service"]
  readonly runner: Runner["Service"]
}

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
