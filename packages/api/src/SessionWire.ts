/**
 * Sessions on the wire of the console. A token or a ticket is in one answer and never again.
 */
import { Account } from "@millrace/core/domain/Account"
import { sessionMillis } from "@millrace/core/domain/Limits"
import { AccountRole, Session as Stored, SessionWorkflows } from "@millrace/core/domain/Session"
import { Schema } from "effect"
import { body, itemsOf, object, optional } from "./internal/Words.ts"
import { Identifier } from "./Text.ts"

/** A session. */
export const Session = object("Session", {
  id: Stored.fields.id,
  account: Schema.NullOr(
    Schema.Struct({ id: Account.fields.id, name: Account.fields.name }),
  ).annotate({ description: "Whose data it sees; `null` for an operator's, which sees all." }),
  role: Stored.fields.role,
  workflows: Stored.fields.workflows.annotate({
    description: "The workflows that it sees, with their runs; `null`: all.",
  }),
  createdAt: Stored.fields.createdAt,
  expiresAt: Stored.fields.expiresAt.annotate({
    description: "When it ends at the latest. One that nobody uses may end before.",
  }),
  lastUsedAt: Stored.fields.lastUsedAt,
})
export type Session = typeof Session.Type

/** Who is signed in, and what signs people in. */
export const SignedIn = object("SignedIn", {
  session: Schema.NullOr(Session).annotate({ description: "`null`: nobody is signed in." }),
  by: Schema.Literals(["link", "application"]).annotate({
    description:
      "`link`: sign-in links, and for operators their token. `application`: the sign-in of the " +
      "application that has mounted the interface.",
  }),
})

/** The live sessions of an account. */
export const Sessions = itemsOf("Sessions", Session)

/** Body of signing in: one of the two. */
export const SignIn = body("SignIn", {
  ticket: optional(Schema.String, "The ticket of a sign-in link."),
  operatorToken: optional(Schema.String, "The token that the server was started with."),
})

/** Body of making a session. */
export const CreateSession = body("CreateSession", {
  role: AccountRole,
  workflows: optional(
    Schema.NullOr(SessionWorkflows),
    "The workflows that it sees, with their runs, and without keys and secrets; `null`: all.",
  ),
  expiresInSeconds: optional(
    Schema.Int.check(
      Schema.isBetween(
        { minimum: 1, maximum: sessionMillis / 1_000 },
        { expected: "1 second to 7 days" },
      ),
    ),
    "How long it lives: an hour by default, and 7 days after a link. At most 7 days.",
  ),
  kind: Schema.Literals(["link", "token"]).annotate({
    description: "`link`: a ticket to sign in once, within 10 minutes. `token`: a bearer token.",
  }),
})

/** A new session. Only this answer has its ticket, or its token. */
export const CreatedSession = object("CreatedSession", {
  session: Session,
  ticket: optional(Schema.String, "For `/dashboard/login#t=...`. It works once."),
  address: optional(
    Schema.String,
    "The whole address at which the ticket signs in. Only a server that was told its own has it, " +
      "by `--public-url`.",
  ),
  token: optional(Schema.String, "For `Authorization: Bearer`."),
})

/** Body of making a sign-in link. Without an account, it is an operator's. */
export const CreateSignInLink = body("CreateSignInLink", {
  accountId: optional(Identifier, "Whose data the session sees; absent: an operator's session."),
  role: optional(AccountRole, "Its role within the account; `owner` by default."),
})

/** Query of the sessions of an account, or of operators. */
export const SessionOwnerQuery = Schema.Struct({
  accountId: Schema.optionalKey(
    Identifier.annotate({ description: "The account; absent: those of operators." }),
  ),
})

/** Path parameter of a session. */
export const SessionParams = Schema.Struct({ id: Identifier })
