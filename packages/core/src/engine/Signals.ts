/**
 * Signals to a workflow: they find the run that waits for them by a correlation.
 *
 * Guarantees: a signal that is accepted is given to one run, at once or when the first one waits
 * for it. Leaves out: signals to a run whose id the sender knows; `Runs.signal` sends those.
 */
import { Context, Effect, Layer } from "effect"
import type { AccountId, RunId, WorkflowId } from "../domain/Id.ts"
import type { Json } from "../domain/Json.ts"
import { problemOfPayload, problemOfSignal } from "../domain/Message.ts"
import { problemOfCorrelation } from "../domain/WorkflowSignal.ts"
import { RunStore } from "../ports/RunStore.ts"
import type { StorageError } from "../ports/StorageError.ts"
import { Ids } from "./Ids.ts"
import { InvalidMessage, SignalsFull, WorkflowNotFound } from "./Refusals.ts"
import { Runner } from "./Runner.ts"

/** A signal to whichever run of a workflow waits for it. */
export interface CorrelatedSignal {
  readonly name: string
  readonly correlation: string
  readonly payload: Json
  /** The same key to the same workflow again sends nothing. */
  readonly idempotencyKey?: string | undefined
}

/** What became of a signal. */
export interface SentSignal {
  /** The run that has it; `null` while it is kept. */
  readonly runId: RunId | null
}

export class Signals extends Context.Service<
  Signals,
  {
    /**
     * Sends a signal to the run of a workflow that waits for its name and correlation the longest,
     * and keeps it if none does. The same idempotency key again sends nothing, and answers which
     * run has the first one by now.
     */
    readonly send: (
      account: AccountId,
      workflowId: WorkflowId,
      signal: CorrelatedSignal,
    ) => Effect.Effect<SentSignal, InvalidMessage | WorkflowNotFound | SignalsFull | StorageError>
  }
>()("@millrace/core/engine/Signals") {
  static readonly layer: Layer.Layer<Signals, never, RunStore | Runner | Ids> = Layer.effect(
    Signals,
    Effect.suspend(() => make),
  )
}

const problemOf = ({ correlation, name, payload }: CorrelatedSignal): string | undefined =>
  problemOfSignal(name) ?? problemOfCorrelation(correlation) ?? problemOfPayload(payload)

const make = Effect.gen(function* () {
  const runs = yield* RunStore
  const runner = yield* Runner
  const ids = yield* Ids
  return Signals.of({
    send: Effect.fn("Signals.send")(function* (account, workflowId, signal) {
      const problem = problemOf(signal)
      if (problem !== undefined) return yield* new InvalidMessage({ problem })
      const { correlation, idempotencyKey, name, payload } = signal
      const id = idempotencyKey ?? (yield* ids.make("message"))
      const isNamed = idempotencyKey !== undefined
      const sent = yield* runs.signal(account, workflowId, {
        name,
        correlation,
        payload,
        id,
        isNamed,
      })
      switch (sent._tag) {
        case "NotFound":
          return yield* new WorkflowNotFound({ workflowId })
        case "Full":
          return yield* new SignalsFull({ workflowId })
        case "Kept":
          return { runId: null }
        case "Taken":
          if (!sent.isReplay) yield* runner.look
          return { runId: sent.runId }
      }
    }, Effect.uninterruptible),
  })
})
