/**
 * Checks the admin token.
 *
 * Guarantees: the time of the comparison tells nothing about the token. A wrong token counts
 * against its address like a bad API key. The right token is accepted even if its address has sent
 * too many wrong ones.
 */
import { Context, Effect, Redacted } from "effect"
import { Digest, Mac } from "effect/crypto"
import { TokenRefused, TooManyBadTokens } from "./Errors.ts"
import { tokenOf } from "./internal/Authenticator.ts"
import { FailedAuthLimiter } from "./internal/FailedAuthLimiter.ts"
import type { Admit } from "./internal/Operation.ts"

/**
 * The admin token. It should be as hard to guess as an API key. Without a token, which is the
 * default, there is no interface for operators.
 */
export const AdminToken = Context.Reference<Redacted.Redacted | undefined>(
  "@millrace/http/AdminToken",
  { defaultValue: () => undefined },
)

/** Makes what says whether a text is this token, in constant time. */
export const makeIsRight = Effect.fnUntraced(function* (token: Redacted.Redacted) {
  const { digest } = yield* Effect.provide(Digest.Digest, Digest.layerWebCrypto)
  const encoder = new TextEncoder()
  const hashOf = (text: string) => Effect.orDie(digest(Digest.sha256, encoder.encode(text)))
  const expected = yield* hashOf(Redacted.value(token))
  // Hashes have one length, so that they can be compared in constant time.
  return (text: string) => Effect.map(hashOf(text), (hash) => Mac.timingSafeEqual(hash, expected))
})

/** Admits requests with this token. */
export const make = Effect.fnUntraced(function* (
  token: Redacted.Redacted,
): Effect.fn.Return<Admit, never, FailedAuthLimiter> {
  const isRight = yield* makeIsRight(token)
  const badTokens = yield* FailedAuthLimiter
  return Effect.fnUntraced(function* ({ request }) {
    const text = Redacted.value(tokenOf(request))
    if (yield* isRight(text)) return {}
    if (text === "") return yield* new TokenRefused()
    const retryAfterSeconds = yield* badTokens.count(request)
    if (retryAfterSeconds === undefined) return yield* new TokenRefused()
    return yield* new TooManyBadTokens({ retryAfterSeconds })
  })
})
