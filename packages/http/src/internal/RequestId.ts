/**
 * The request being handled: its identifier, which is in the answer as `X-Request-Id` and in the
 * log with a failure, and the headers that its answer gets.
 */
import { Context, Effect } from "effect"
import { SecureRandom } from "effect/crypto"

/** A request being handled. Mutable, for one request. */
export interface RequestNotes {
  readonly id: string
  /** Headers of its answer, whatever the answer is. */
  headers: Readonly<Record<string, string>>
}

/** The request being handled. */
export const CurrentRequest = Context.Reference<RequestNotes>("@millrace/http/CurrentRequest", {
  defaultValue: () => ({ id: "none", headers: {} }),
})

/**
 * Makes identifiers: a random part for the process, and a count. They must be unique, but need not
 * be secret.
 */
export const makeSource: Effect.Effect<() => string, never, SecureRandom.SecureRandom> = Effect.gen(
  function* () {
    const random = yield* SecureRandom.SecureRandom
    const process = (yield* random.uuidV4()).replaceAll("-", "").slice(0, 16)
    let count = 0
    return () => `req_${process}_${(count += 1).toString(36)}`
  },
)
