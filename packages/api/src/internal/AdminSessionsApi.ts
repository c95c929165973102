/**
 * The admin operations on sessions of the console, of accounts and of operators.
 */
import * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as HttpApiSchema from "effect/http-api/HttpApiSchema"
import {
  CreatedSession,
  CreateSignInLink,
  SessionOwnerQuery,
  SessionParams,
  Sessions,
} from "../SessionWire.ts"
import { bodyErrors, Conflict, NotFound } from "../WireError.ts"
import { described, titled } from "./Words.ts"

const link = described(
  "Make a sign-in link",
  "A ticket that signs in once, within 10 minutes. The session that begins with it lives for 7 " +
    "days at most, and ends when nobody has used it for 8 hours.",
  HttpApiEndpoint.post("link", "/sign-in-links", {
    payload: CreateSignInLink,
    success: CreatedSession.pipe(HttpApiSchema.status(201)),
    error: [...bodyErrors, NotFound, Conflict],
  }),
)

const list = described(
  "List sessions",
  "Those of an account, or of operators, that are not over, newest first.",
  HttpApiEndpoint.get("list", "/sessions", { query: SessionOwnerQuery, success: Sessions }),
)

const revoke = described(
  "End a session",
  "It is refused from the next request on, by every server, and its streams end.",
  HttpApiEndpoint.post("revoke", "/sessions/:id/revoke", {
    params: SessionParams,
    query: SessionOwnerQuery,
    success: HttpApiSchema.NoContent,
    error: NotFound,
  }),
)

/** `/sign-in-links` and `/sessions`. */
export class AdminSessionsApi extends HttpApiGroup.make("sessions")
  .add(link, list, revoke)
  .annotateMerge(titled("Sessions", "People who have signed in.")) {}
