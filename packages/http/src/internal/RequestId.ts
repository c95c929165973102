/**
 * The name of a request: on its answer as `X-Request-Id`, and in the log beside what went wrong.
 */
import { Context, Effect } from "effect"
import { SecureRandom } from "effect/crypto"

/** The name of the request being handled. */
export const CurrentRequestId = Context.Reference<string>("@millrace/http/CurrentRequestId", {
  defaultValue: () => "none",
})

/**
 * A source of names: drawn once per process and counted from there, because a name must be
 * different from all others but need not be a secret.
 */
export const makeSource: Effect.Effect<() => string, never, SecureRandom.SecureRandom> = Effect.gen(
  function* () {
    const random = yield* SecureRandom.SecureRandom
    const process = (yield* random.uuidV4()).replaceAll("-", "").slice(0, 16)
    let count = 0
    return () => `req_${process}_${(count += 1).toString(36)}`
  },
)
