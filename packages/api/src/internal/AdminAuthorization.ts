/**
 * The check before every admin operation: the admin token. An API key does not replace it.
 *
 * Leaves out: how the token is checked; `@millrace/http` does that.
 */
import * as HttpApiMiddleware from "effect/http-api/HttpApiMiddleware"
import * as HttpApiSecurity from "effect/http-api/HttpApiSecurity"
import * as OpenApi from "effect/http-api/OpenApi"
import { InternalError, TooManyRequests, Unauthorized, Unavailable } from "../WireError.ts"

/** Lets operators pass, by bearer token. */
export class AdminAuthorization extends HttpApiMiddleware.Service<AdminAuthorization>()(
  "@millrace/api/AdminAuthorization",
  {
    security: {
      operatorToken: HttpApiSecurity.bearer.pipe(
        HttpApiSecurity.annotateMerge(
          OpenApi.annotations({ description: "The token that the server was started with." }),
        ),
      ),
    },
    error: [Unauthorized, TooManyRequests, InternalError, Unavailable],
  },
) {}
