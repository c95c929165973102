/**
 * The identifier of a request: in the answer as `X-Request-Id`, and in the log with a failure.
 */
import { Context, Effect } from "effect"
import { SecureRandom } from "effect/crypto"

/** The identifier of the current request. */
export const CurrentRequestId = Context.Reference<string>("@millrace/http/CurrentRequestId", {
  defaultValue: () => "none",
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
