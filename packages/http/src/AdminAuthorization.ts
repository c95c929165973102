/**
 * Checks the admin token.
 *
 * Guarantees: the time of the comparison tells nothing about the token. A wrong token counts
 * against its address like a bad API key. The right token is accepted even if its address has sent
 * too many wrong ones.
 */
import { AdminAuthorization } from "@millrace/api/AdminAuthorization"
import { Context, Effect, Layer, Redacted } from "effect"
import { Digest, Mac } from "effect/crypto"
import { HttpServerRequest } from "effect/http"
import { FailedAuthLimiter } from "./internal/FailedAuthLimiter.ts"
import { refuse, TokenRefused, TooManyBadTokens } from "./Errors.ts"

/**
 * The admin token. It should be as hard to guess as an API key. Without a token, which is the
 * default, there is no interface for operators.
 */
export const AdminToken = Context.Reference<Redacted.Redacted | undefined>(
  "@millrace/http/AdminToken",
  { defaultValue: () => undefined },
)

const make = Effect.fnUntraced(function* (token: Redacted.Redacted) {
  const { digest } = yield* Digest.Digest
  const encoder = new TextEncoder()
  const hashOf = (text: string) => digest(Digest.sha256, encoder.encode(text))
  const badTokens = yield* FailedAuthLimiter
  const expected = yield* hashOf(Redacted.value(token))
  return AdminAuthorization.of({
    operatorToken: Effect.fnUntraced(function* (operation, { credential }) {
      const text = Redacted.value(credential)
      // Hashes have one length, so that they can be compared in constant time.
      if (Mac.timingSafeEqual(yield* hashOf(text), expected)) return yield* operation
      if (text === "") return yield* refuse(new TokenRefused())
      const request = yield* HttpServerRequest.HttpServerRequest
      const retryAfterSeconds = yield* badTokens.count(request)
      if (retryAfterSeconds === undefined) return yield* refuse(new TokenRefused())
      return yield* refuse(new TooManyBadTokens({ retryAfterSeconds }))
    }),
  })
})

/** Accepts requests with this token. */
export const layer = (
  token: Redacted.Redacted,
): Layer.Layer<AdminAuthorization, never, FailedAuthLimiter> =>
  Layer.provide(Layer.effect(AdminAuthorization, make(token)), Digest.layerWebCrypto)
