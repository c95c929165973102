/**
 * Approvals on the wire: what waits, what it asks, and a decision.
 *
 * Guarantees: no answer but that of a link holds a token. Leaves out: the page of a link.
 */
import {
  ApprovalOutcome,
  Decision as StoredDecision,
  FormField,
} from "@millrace/core/domain/Approval"
import { JsonObject } from "@millrace/core/domain/Json"
import { decisionCommentLength, fieldNameLength } from "@millrace/core/domain/Limits"
import { isAtMost } from "@millrace/core/domain/TextLength"
import { AccountRole } from "@millrace/core/domain/Session"
import { Timestamp } from "@millrace/core/domain/Timestamp"
import { Schema } from "effect"
import { body, object, optional } from "./internal/Words.ts"
import { Identifier, isStorable } from "./Text.ts"

const stored = StoredDecision.fields

/** A decision. */
export const ApprovalDecision = object("ApprovalDecision", {
  outcome: stored.outcome,
  by: stored.by.annotate({
    description: "The addressee of the link, or who a caller says. Nobody has proven it.",
  }),
  via: stored.via.annotate({
    description:
      "`link`: with the link of an addressee. `session`: signed in. `caller`: with an API key, " +
      "or by the application itself.",
  }),
  at: stored.at,
  comment: stored.comment,
  fields: stored.fields,
})
export type ApprovalDecision = typeof ApprovalDecision.Type

const approver = Schema.Struct({
  address: Schema.String,
  mails: Schema.Int.annotate({ description: "How many mails were sent to the address." }),
  version: Schema.Int.annotate({
    description: "How often it was passed on from address to address.",
  }),
})

/** An approval that waits, in a listing. */
export const ApprovalItem = object("ApprovalItem", {
  runId: Schema.String,
  nodeId: Schema.String,
  workflowId: Schema.String,
  workflowName: Schema.String,
  title: Schema.String,
  askedAt: Timestamp,
  expiresAt: Schema.NullOr(Timestamp).annotate({ description: "`null`: it does not expire." }),
  approvers: Schema.Array(approver).annotate({ description: "The addresses that are asked." }),
  roles: Schema.Array(AccountRole).annotate({
    description: "Who has signed in with one of these roles, or more, may decide.",
  }),
})
export type ApprovalItem = typeof ApprovalItem.Type

/** An approval. */
export const ApprovalRead = object("Approval", {
  runId: Schema.String,
  nodeId: Schema.String,
  workflowId: Schema.String,
  workflowName: Schema.String,
  status: Schema.Literals(["pending", "approved", "rejected", "expired", "over"]).annotate({
    description:
      "`over`: nobody is asked; the node has not begun, or has ended without a decision.",
  }),
  title: Schema.String,
  description: Schema.String,
  fields: Schema.Array(FormField).annotate({ description: "The form." }),
  askedAt: Schema.NullOr(Timestamp),
  expiresAt: Schema.NullOr(Timestamp),
  approvers: Schema.Array(approver),
  roles: Schema.Array(AccountRole),
  decision: Schema.NullOr(ApprovalDecision),
})
export type ApprovalRead = typeof ApprovalRead.Type

const answer = {
  outcome: ApprovalOutcome,
  comment: optional(Schema.String.check(isAtMost(decisionCommentLength), isStorable), "Why."),
  fields: optional(JsonObject, "What the form asks for, by the names of its fields."),
}

/** Body of a decision by a caller. */
export const DecideApproval = body("DecideApproval", {
  ...answer,
  by: optional(
    Identifier.check(isAtMost(fieldNameLength)),
    "Who decides, as your product names people; who has signed in is named by the session.",
  ),
})
export type DecideApproval = typeof DecideApproval.Type

/** Body of making a link. */
export const MakeApprovalLink = body("MakeApprovalLink", {
  address: Identifier.annotate({ description: "One of the addresses that are asked." }),
})
export type MakeApprovalLink = typeof MakeApprovalLink.Type

/** The link of an addressee. */
export const ApprovalLink = object("ApprovalLink", {
  path: Schema.String.annotate({
    description: "Below the address of the server. Whoever has it can decide, once.",
  }),
  url: Schema.NullOr(Schema.String).annotate({
    description: "With the public address; `null` where the server does not know its own.",
  }),
})
export type ApprovalLink = typeof ApprovalLink.Type

/** What the page of a link sends: its token. */
export const LinkToken = Schema.Struct({ token: Identifier }).annotate({ closed: true })

/** What the page of a link sends to decide. */
export const LinkDecision = Schema.Struct({ token: Identifier, ...answer }).annotate({
  closed: true,
})

/** What the page of a link sends to pass an approval on. */
export const LinkDelegation = Schema.Struct({ token: Identifier, to: Identifier }).annotate({
  closed: true,
})
