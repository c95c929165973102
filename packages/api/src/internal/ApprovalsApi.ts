/**
 * The operations on approvals, for products that ask people themselves, and for the console.
 */
import * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import {
  ApprovalDecision,
  ApprovalItem,
  ApprovalLink,
  ApprovalRead,
  DecideApproval,
  MakeApprovalLink,
} from "../ApprovalWire.ts"
import { ApprovalQuery, pageOf } from "../PageQuery.ts"
import { NodeParams } from "../Text.ts"
import { BadRequest, bodyErrors, Conflict, Forbidden, NotFound, Unavailable } from "../WireError.ts"
import { described, titled } from "./Words.ts"

const list = described(
  "List what waits for a decision",
  "Approvals of runs that are RUNNING, the newest runs first. A page looks at `limit` of them, " +
    "so it may have fewer approvals than that, or more; `nextCursor` goes on.",
  HttpApiEndpoint.get("list", "/approvals", {
    query: ApprovalQuery,
    success: pageOf(ApprovalItem),
    error: BadRequest,
  }),
)

const get = described(
  "Read an approval",
  "What a node of a run asks, whom, until when, and how it was decided.",
  HttpApiEndpoint.get("get", "/runs/:id/approvals/:nodeId", {
    params: NodeParams,
    success: ApprovalRead,
    error: NotFound,
  }),
)

const decide = described(
  "Decide an approval",
  "For somebody whom the caller names in `by`. Who has signed in decides where the approval asks " +
    "for their role. The first decision counts: later ones get 409 and are told who has decided. " +
    "After the expiry it is 409, too.",
  HttpApiEndpoint.post("decide", "/runs/:id/approvals/:nodeId/decide", {
    params: NodeParams,
    payload: DecideApproval,
    success: ApprovalDecision,
    error: [...bodyErrors, NotFound, Conflict, Forbidden],
  }),
)

const link = described(
  "Make a link for an addressee",
  "For products that bring the link to the person themselves. It is the link that a mail has: it " +
    "is never stored, works once, and decides nothing when it is opened. Treat it as a password.",
  HttpApiEndpoint.post("link", "/runs/:id/approvals/:nodeId/link", {
    params: NodeParams,
    payload: MakeApprovalLink,
    success: ApprovalLink,
    error: [...bodyErrors, NotFound, Conflict, Unavailable],
  }),
)

/** `/approvals` and `/runs/{id}/approvals`. */
export class ApprovalsApi extends HttpApiGroup.make("approvals")
  .add(list, get, decide, link)
  .annotateMerge(titled("Approvals", "What waits for a person.")) {}
