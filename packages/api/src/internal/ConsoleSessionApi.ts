/**
 * The console's operations on sessions: signing in and out, and the sessions of the account.
 */
import * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as HttpApiSchema from "effect/http-api/HttpApiSchema"
import { described, titled } from "./Words.ts"
import {
  CreatedSession,
  CreateSession,
  Session,
  SessionParams,
  Sessions,
  SignedIn,
  SignIn,
} from "../SessionWire.ts"
import {
  bodyErrors,
  Conflict,
  Forbidden,
  InternalError,
  NotFound,
  TooManyRequests,
  Unauthorized,
  Unavailable,
} from "../WireError.ts"
import { ConsoleAuthorization } from "./ConsoleAuthorization.ts"

const get = described(
  "Read the session",
  "Who is signed in, with which role, and until when.",
  HttpApiEndpoint.get("get", "/session", { success: Session }),
)

const signOut = described(
  "Sign out",
  "The session ends, and its cookie is removed.",
  HttpApiEndpoint.post("signOut", "/sign-out", { success: HttpApiSchema.NoContent }),
)

const signIn = described(
  "Sign in",
  "Redeems the ticket of a link, once, or exchanges the operator token. The answer sets a cookie " +
    "that scripts cannot read; a session that the browser had before ends.",
  HttpApiEndpoint.post("signIn", "/sign-in", {
    payload: SignIn,
    success: Session,
    error: [
      ...bodyErrors,
      Unauthorized,
      Forbidden,
      Conflict,
      TooManyRequests,
      InternalError,
      Unavailable,
    ],
  }),
)

const find = described(
  "Ask who is signed in",
  "Answers 200 also if nobody is, for a page that is about to show its sign-in.",
  HttpApiEndpoint.get("find", "/sign-in", {
    success: SignedIn,
    error: [Forbidden, TooManyRequests, InternalError, Unavailable],
  }),
)

/** `/session`, `/sign-in` and `/sign-out`. Signing in needs no session. */
export class ConsoleSessionApi extends HttpApiGroup.make("session")
  .add(get, signOut)
  .middleware(ConsoleAuthorization)
  .add(signIn, find)
  .annotateMerge(titled("Session", "Who is signed in.")) {}

const list = described(
  "List sessions",
  "Those of the account that are not over, newest first; links that nobody has used, too.",
  HttpApiEndpoint.get("list", "/", { success: Sessions }),
)

const create = described(
  "Make a session",
  "For another person, or for a component in a page. Its role is not above the caller's, and it " +
    "does not outlive the caller's session. The ticket or token is in this answer and never again.",
  HttpApiEndpoint.post("create", "/", {
    payload: CreateSession,
    success: CreatedSession.pipe(HttpApiSchema.status(201)),
    error: [...bodyErrors, NotFound, Conflict],
  }),
)

const revoke = described(
  "End a session",
  "It is refused from the next request on, by every server, and its streams end.",
  HttpApiEndpoint.post("revoke", "/:id/revoke", {
    params: SessionParams,
    success: HttpApiSchema.NoContent,
    error: NotFound,
  }),
)

/** `/sessions`. */
export class ConsoleSessionsApi extends HttpApiGroup.make("sessions")
  .add(list, create, revoke)
  .prefix("/sessions")
  .annotateMerge(titled("Sessions", "Who may use the console of the account.")) {}
