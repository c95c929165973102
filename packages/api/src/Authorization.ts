/**
 * The checks before every operation: the API key and its rate limits (specification, parts 5 and
 * 8), and the form of the request.
 *
 * Leaves out: how a key is checked; `@millrace/http` does that.
 */
import * as HttpApiMiddleware from "effect/http-api/HttpApiMiddleware"
import * as HttpApiSecurity from "effect/http-api/HttpApiSecurity"
import * as OpenApi from "effect/http-api/OpenApi"
import {
  BadRequest,
  InternalError,
  TooManyRequests,
  Unauthorized,
  Unavailable,
} from "./WireError.ts"

/**
 * Admits a request by its bearer key, and counts it against the key's quota. Every answer to an
 * admitted or limited request carries `X-RateLimit-Remaining` and `X-RateLimit-Reset`.
 */
export class Authorization extends HttpApiMiddleware.Service<Authorization>()(
  "@millrace/api/Authorization",
  {
    security: {
      apiKey: HttpApiSecurity.bearer.pipe(
        HttpApiSecurity.annotateMerge(
          OpenApi.annotations({ description: "An API key of the account." }),
        ),
      ),
    },
    error: [Unauthorized, TooManyRequests, InternalError, Unavailable],
  },
) {}

/** Refuses a path, a query or headers of the wrong form, in one sentence. */
export class RequestForm extends HttpApiMiddleware.Service<RequestForm>()(
  "@millrace/api/RequestForm",
  { error: BadRequest },
) {}
