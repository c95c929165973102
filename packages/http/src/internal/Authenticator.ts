/**
 * Authenticates requests: a key within its limits is admitted. Operations use it, and so do unknown
 * addresses.
 *
 * Guarantees: a bad token counts against no key. A good token is admitted even if its address has
 * sent too many bad ones. Leaves out: answering the request.
 */
import type { AccountId, WorkflowId } from "@millrace/core/domain/Id"
import type { Window } from "@millrace/core/domain/Quota"
import { Keys } from "@millrace/core/engine/Keys"
import type { Admission } from "@millrace/core/ports/KeyStore"
import type { StorageError } from "@millrace/core/ports/StorageError"
import { Context, Effect, Layer, Redacted } from "effect"
import type { HttpServerRequest } from "effect/http"
import { FailedAuthLimiter } from "./FailedAuthLimiter.ts"
import { KeyRefused, LimitExceeded, SignInRefused, TooManyBadTokens } from "../Errors.ts"

/** The decision about a request. */
export type AuthDecision =
  | Extract<Admission, { readonly _tag: "Admitted" }>
  /** By the sign-in of the application that mounts the interface. */
  | { readonly _tag: "Authorized"; readonly accountId: AccountId }
  | { readonly _tag: "Limited"; readonly window: Window; readonly refusal: LimitExceeded }
  | { readonly _tag: "Refused"; readonly refusal: KeyRefused | SignInRefused | TooManyBadTokens }

/** The headers that show a key's limits (specification, part 8). */
export const rateHeadersOf = ({ remaining, resetAt }: Window) => ({
  "x-ratelimit-remaining": String(remaining),
  "x-ratelimit-reset": String(resetAt),
})

/** The bearer token of a request; empty where there is none. */
export const tokenOf = ({ headers }: HttpServerRequest.HttpServerRequest): Redacted.Redacted =>
  Redacted.make(/^bearer +([^ ].*)$/is.exec(headers["authorization"] ?? "")?.[1] ?? "")

const noKey: AuthDecision = { _tag: "Refused", refusal: new KeyRefused() }

const limited = (window: Window, millis: number): AuthDecision => {
  const retryAfterSeconds = Math.max(1, Math.ceil(millis / 1_000))
  return { _tag: "Limited", window, refusal: new LimitExceeded({ retryAfterSeconds }) }
}

/** Finds out whose request it is; `null`: nobody's who may call. Gets no body. */
export type Authorize = (request: Request) => Effect.Effect<AccountId | null, StorageError>

const notSignedIn: AuthDecision = { _tag: "Refused", refusal: new SignInRefused() }

/** Address, method and headers of a request, as the application got it. */
export const headOf = ({ source }: HttpServerRequest.HttpServerRequest): Request => {
  const { headers, method, signal, url } = source as Request
  return new Request(url, { method, headers, signal })
}

const makeAuthorizing = (authorize: Authorize): Authenticator["Service"] =>
  Authenticator.of({
    ask: (request) =>
      Effect.map(
        Effect.suspend(() => authorize(headOf(request))),
        (accountId) => (accountId === null ? notSignedIn : { _tag: "Authorized", accountId }),
      ),
  })

const make = Effect.gen(function* () {
  const keys = yield* Keys
  const badTokens = yield* FailedAuthLimiter

  const refuse = (request: HttpServerRequest.HttpServerRequest): Effect.Effect<AuthDecision> =>
    Effect.map(badTokens.count(request), (retryAfterSeconds) =>
      retryAfterSeconds === undefined
        ? noKey
        : { _tag: "Refused", refusal: new TooManyBadTokens({ retryAfterSeconds }) },
    )

  return Authenticator.of({
    ask: (request, token, ahead) => {
      if (Redacted.value(token) === "") return Effect.succeed(noKey)
      return Effect.flatMap(keys.admit(token, ahead), (admission): Effect.Effect<AuthDecision> => {
        if (admission._tag === "Admitted") return Effect.succeed(admission)
        if (admission._tag === "Refused") return refuse(request)
        return Effect.succeed(limited(admission.window, admission.retryAfterMillis))
      })
    },
  })
})

export class Authenticator extends Context.Service<
  Authenticator,
  {
    /**
     * Counts the request against its key's quota, or says why it is refused. `ahead` names the
     * workflow that the request will read; the answer may contain it. A request without a token
     * does not count as one with a bad token.
     */
    readonly ask: (
      request: HttpServerRequest.HttpServerRequest,
      token: Redacted.Redacted,
      ahead?: WorkflowId,
    ) => Effect.Effect<AuthDecision, StorageError>
  }
>()("@millrace/http/Authenticator") {
  static readonly layer: Layer.Layer<Authenticator, never, Keys | FailedAuthLimiter> = Layer.effect(
    Authenticator,
    Effect.suspend(() => make),
  )

  /** Asks the application in the place of API keys. For a handler of web requests. */
  static readonly layerAuthorizing = (authorize: Authorize): Layer.Layer<Authenticator> =>
    Layer.sync(Authenticator, () => makeAuthorizing(authorize))
}
