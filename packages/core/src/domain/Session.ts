/**
 * Sessions: what lets a person, or a component in a page, use the console of one account for some
 * time. A ticket, which works once, becomes a session.
 *
 * Guarantees: only a token's hash is stored; the token itself is shown once. Leaves out: who may
 * do what in which role; the interface has a table of that.
 */
import { Schema } from "effect"
import { AccountId, SessionId, WorkflowId } from "./Id.ts"
import { workflowsPerSession } from "./Limits.ts"
import { Timestamp } from "./Timestamp.ts"

/** The roles within an account. Each may do what the one before it may, and more. */
export const AccountRole = Schema.Literals(["viewer", "editor", "owner"])
export type AccountRole = typeof AccountRole.Type

/** The role of a session. An operator's session belongs to no account and may act in each. */
export const Role = Schema.Literals(["viewer", "editor", "owner", "operator"])
export type Role = typeof Role.Type

const ranks: { readonly [R in Role]: number } = { viewer: 0, editor: 1, owner: 2, operator: 3 }

/** True if the role may do all that the other one may. */
export const isAtLeast = (role: Role, needed: Role): boolean => ranks[role] >= ranks[needed]

/** The workflows that a session sees: 1 to 100. */
export const SessionWorkflows = Schema.Array(WorkflowId).check(
  Schema.isMinLength(1, { expected: `1 to ${workflowsPerSession} workflows` }),
  Schema.isMaxLength(workflowsPerSession, { expected: `1 to ${workflowsPerSession} workflows` }),
)

/** A session as it is stored and shown, without its token. */
export const Session = Schema.Struct({
  id: SessionId,
  /** `null`: an operator's. */
  accountId: Schema.NullOr(AccountId),
  role: Role,
  /** The workflows that it sees, with their runs; `null`: all of the account. */
  workflows: Schema.NullOr(Schema.Array(WorkflowId)),
  createdAt: Timestamp,
  /** When it ends, however much it is used. */
  expiresAt: Timestamp,
  /** It also ends when it was not used for so long; `null`: never because of that. */
  idleMillis: Schema.NullOr(Schema.Int),
  /** When it was last used; `null` before the first request. */
  lastUsedAt: Schema.NullOr(Timestamp),
})
export type Session = typeof Session.Type

/** When a session ends if nobody uses it again. */
export const endOf = ({ createdAt, expiresAt, idleMillis, lastUsedAt }: Session): Timestamp =>
  idleMillis === null ? expiresAt : Math.min(expiresAt, (lastUsedAt ?? createdAt) + idleMillis)

/** The prefixes of tokens and of tickets, by which people and programs recognize them. */
export const tokenPrefix = "mrs_"
export const ticketPrefix = "mrt_"
