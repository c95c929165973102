/**
 * Approvals, as promises.
 */
import type * as Wire from "../ApprovalWire.ts"
import type { Transport } from "../Transport.ts"
import type { CallOptions } from "./Ask.ts"
import { makeAsk } from "./Ask.ts"
import type { Given } from "./Given.ts"
import type { Listing, PageQuery } from "./Pages.ts"
import { makeListing } from "./Pages.ts"

/** An approval that waits. */
export type ApprovalItem = typeof Wire.ApprovalItem.Encoded

/** What a node asks, whom, until when, and how it was decided. */
export type Approval = typeof Wire.ApprovalRead.Encoded

/** A decision. Nobody has proven who decided. */
export type ApprovalDecision = typeof Wire.ApprovalDecision.Encoded

/** How to decide, and who is said to decide. */
export type DecisionRequest = Given<typeof Wire.DecideApproval.Encoded>

/** A link with which an addressee decides, once. Treat it as a password. */
export type ApprovalLink = typeof Wire.ApprovalLink.Encoded

/** Which approvals to list. */
export interface ApprovalQuery extends Pick<PageQuery, "cursor" | "limit"> {
  /** Those of runs of this workflow. */
  readonly workflowId?: string
}

/** What waits for a person. An unknown approval rejects with `APPROVAL_NOT_FOUND`. */
export interface Approvals {
  /** What waits in runs that are RUNNING, the newest runs first. */
  list(query?: ApprovalQuery, options?: CallOptions): Listing<ApprovalItem>
  get(runId: string, nodeId: string, options?: CallOptions): Promise<Approval>
  /** Decides. Rejects with `APPROVAL_OVER` if somebody was faster, or the time is over. */
  decide(
    runId: string,
    nodeId: string,
    decision: DecisionRequest,
    options?: CallOptions,
  ): Promise<ApprovalDecision>
  /** The link of an address that is asked, to bring it there yourself. */
  link(runId: string, nodeId: string, address: string, options?: CallOptions): Promise<ApprovalLink>
}

/** The approvals that a transport reaches. */
export const makeApprovals = (transport: Transport): Approvals => {
  const ask = makeAsk(transport)
  const list = makeListing<ApprovalItem, ApprovalQuery>(ask, "approvals.list", ["workflowId"])
  return {
    list: (query = {}, options) => list(query, options),
    get: async (id, nodeId, options) =>
      (await ask("approvals.get", { id, nodeId, options })).body as Approval,
    decide: async (id, nodeId, body, options) =>
      (await ask("approvals.decide", { id, nodeId, body, options })).body as ApprovalDecision,
    link: async (id, nodeId, address, options) =>
      (await ask("approvals.link", { id, nodeId, body: { address }, options }))
        .body as ApprovalLink,
  }
}
