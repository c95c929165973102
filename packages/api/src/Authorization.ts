/**
 * What the API declares about the checks before every operation: the API key and its rate limits
 * (specification, parts 5 and 8), and the form of the request. The OpenAPI document and the typed
 * clients read it; `@millrace/http` does the checks.
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
 * A bearer key, against whose quota each request counts. Every answer to an admitted or limited
 * request carries `X-RateLimit-Remaining` and `X-RateLimit-Reset`.
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

/** The answer to a path, a query or headers of the wrong form: one sentence. */
export class RequestForm extends HttpApiMiddleware.Service<RequestForm>()(
  "@millrace/api/RequestForm",
  { error: BadRequest },
) {}
