/**
 * The check before every operation of the console: a session, by cookie or by bearer token. An API
 * key opens nothing there.
 *
 * Leaves out: how sessions are checked; `@millrace/http` does that.
 */
import * as HttpApiMiddleware from "effect/http-api/HttpApiMiddleware"
import * as HttpApiSecurity from "effect/http-api/HttpApiSecurity"
import * as OpenApi from "effect/http-api/OpenApi"
import {
  Forbidden,
  InternalError,
  TooManyRequests,
  Unauthorized,
  Unavailable,
} from "../WireError.ts"

/** Lets sessions pass whose role may do what is asked. */
export class ConsoleAuthorization extends HttpApiMiddleware.Service<ConsoleAuthorization>()(
  "@millrace/api/ConsoleAuthorization",
  {
    security: {
      sessionToken: HttpApiSecurity.bearer.pipe(
        HttpApiSecurity.annotateMerge(
          OpenApi.annotations({
            description:
              "The token of a session. Browsers that have signed in send a cookie in its place.",
          }),
        ),
      ),
    },
    error: [Unauthorized, Forbidden, TooManyRequests, InternalError, Unavailable],
  },
) {}
