/**
 * What stands before every operation for operators: a token of their own, which is no API key, and
 * which no API key stands in for.
 *
 * Leaves out: how the token is checked; that is the server's.
 */
import { HttpApiMiddleware, HttpApiSecurity, OpenApi } from "effect/http-api"
import { InternalError, TooManyRequests, Unauthorized, Unavailable } from "./WireError.ts"

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
