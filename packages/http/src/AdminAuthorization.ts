/**
 * Letting operators pass, by the token that the server was started with.
 *
 * Guarantees: how long the comparison takes says nothing about the token; wrong tokens count
 * against their address as bad API keys do, and the right one passes whatever came before it.
 */
import { AdminAuthorization } from "@millrace/api/AdminAuthorization"
import { Context, Effect, Layer, Redacted } from "effect"
import { Digest, Mac } from "effect/crypto"
import { HttpServerRequest } from "effect/http"
import { FailedAuthLimiter } from "./internal/FailedAuthLimiter.ts"
import { refuse, TokenRefused, TooManyBadTokens } from "./Errors.ts"

/**
 * The token of the operators. Without one, which is the default, there is no interface for them. It
 * should be as hard to guess as an API key.
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
      // Texts of any length become hashes of one length.
      if (Mac.timingSafeEqual(yield* hashOf(text), expected)) return yield* operation
      if (text === "") return yield* refuse(new TokenRefused())
      const request = yield* HttpServerRequest.HttpServerRequest
      const retryAfterSeconds = yield* badTokens.count(request)
      if (retryAfterSeconds === undefined) return yield* refuse(new TokenRefused())
      return yield* refuse(new TooManyBadTokens({ retryAfterSeconds }))
    }),
  })
})

/** Lets pass who brings this token. */
export const layer = (
  token: Redacted.Redacted,
): Layer.Layer<AdminAuthorization, never, FailedAuthLimiter> =>
  Layer.provide(Layer.effect(AdminAuthorization, make(token)), Digest.layerWebCrypto)
