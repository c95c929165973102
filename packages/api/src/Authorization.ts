/**
 * The checks before every operation: the API key and its rate limits (specification, parts 5 and
 * 8), and the form of the request.
 *
 * Leaves out: how a key is checked; `@millrace/http` does that.
 */
import type { AccountId, KeyId } from "@millrace/core/domain/Id"
import { Context } from "effect"
import { HttpApiMiddleware, HttpApiSecurity, OpenApi } from "effect/http-api"
import {
  BadRequest,
  InternalError,
  TooManyRequests,
  Unauthorized,
  Unavailable,
} from "./WireError.ts"

/** The account and the key of the current request. */
export class CurrentKey extends Context.Service<
  CurrentKey,
  { readonly accountId: AccountId; readonly keyId: KeyId }
>()("@millrace/api/CurrentKey") {}

/**
 * Admits a request by its bearer key, and counts it against the key's quota. Every answer to an
 * admitted or limited request carries `X-RateLimit-Remaining` and `X-RateLimit-Reset`.
 */
export class Authorization extends HttpApiMiddleware.Service<
  Authorization,
  { provides: CurrentKey }
>()("@millrace/api/Authorization", {
  security: {
    apiKey: HttpApiSecurity.bearer.pipe(
      HttpApiSecurity.annotateMerge(
        OpenApi.annotations({ description: "An API key of the account." }),
      ),
    ),
  },
  error: [Unauthorized, TooManyRequests, InternalError, Unavailable],
}) {}

/** Refuses a path, a query or headers of the wrong form, in one sentence. */
export class RequestForm extends HttpApiMiddleware.Service<RequestForm>()(
  "@millrace/api/RequestForm",
  { error: BadRequest },
) {}
