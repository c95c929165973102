/**
 * The work of `millrace workflows`: a client of a running server, with a key of the account.
 *
 * Guarantees: as those of `RunTasks`.
 */
import { Console, Effect } from "effect"
import type { Session } from "./RunTasks.ts"
import { ask, readData } from "./RunTasks.ts"

/** What `millrace workflows signal` sends. */
export interface SignalRequest {
  readonly workflow: string
  readonly name: string
  readonly correlation: string
  readonly data: string | undefined
  readonly idempotencyKey: string | undefined
}

/** `millrace workflows signal`: prints the id of the run that has it, or the answer as JSON. */
export const signal = Effect.fnUntraced(function* (session: Session, request: SignalRequest) {
  const { correlation, data, idempotencyKey, name, workflow } = request
  const payload = data === undefined ? null : yield* readData(data)
  const options = idempotencyKey === undefined ? {} : { idempotencyKey }
  const { runId } = yield* ask(session, ({ workflows }) =>
    workflows.signal(workflow, name, { correlation, payload }, options),
  )
  if (session.json) return yield* Console.log(JSON.stringify({ runId }))
  if (runId === null) {
    return yield* Console.error(`No run waits for the signal "${name}"; it is kept for seven days`)
  }
  yield* Console.error(`Run ${runId} has the signal "${name}"`)
  yield* Console.log(runId)
})
