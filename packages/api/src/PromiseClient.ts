/**
 * The client for programs without Effect. Operations are promises; listings and events are async
 * iterables. An engine in the same process and a remote server have the same client. Its results
 * are JSON as on the wire, with times as ISO 8601 text, and the caller may change them.
 *
 * Guarantees: runs wherever there is `fetch`, and does not load Effect. Leaves out: checking
 * answers; the types are those of the OpenAPI document.
 */
import type { CallOptions } from "./internal/Ask.ts"
import { checkFields, makeAsk } from "./internal/Ask.ts"
import type { ClientOptions } from "./internal/HttpTransport.ts"
import { httpTransport } from "./internal/HttpTransport.ts"
import type { Approvals } from "./internal/PromiseApprovals.ts"
import { makeApprovals } from "./internal/PromiseApprovals.ts"
import type { Deliveries } from "./internal/PromiseDeliveries.ts"
import { makeDeliveries } from "./internal/PromiseDeliveries.ts"
import type { Runs } from "./internal/PromiseRuns.ts"
import { makeRuns } from "./internal/PromiseRuns.ts"
import type { Triggers } from "./internal/PromiseTriggers.ts"
import { makeTriggers } from "./internal/PromiseTriggers.ts"
import type { Workflows } from "./internal/PromiseWorkflows.ts"
import { makeWorkflows } from "./internal/PromiseWorkflows.ts"
import type * as Keys from "./AdminWire.ts"
import type { NodeTypeList } from "./NodeTypeWire.ts"
import type { Transport } from "./Transport.ts"
import type * as Usage from "./UsageApi.ts"

export type { Duration } from "./Duration.ts"
export { MillraceError } from "./MillraceError.ts"
export type { ErrorCode } from "./MillraceError.ts"
export type { CallOptions } from "./internal/Ask.ts"
export type { ClientOptions } from "./internal/HttpTransport.ts"
export type { Listing, Page, PageQuery } from "./internal/Pages.ts"
export type * from "./internal/PromiseApprovals.ts"
export type * from "./internal/PromiseDeliveries.ts"
export type * from "./internal/PromiseRuns.ts"
export type * from "./internal/PromiseTriggers.ts"
export type * from "./internal/PromiseVersions.ts"
export type * from "./internal/PromiseWorkflows.ts"

/** A node type that can be executed. */
export type NodeTypeItem = (typeof NodeTypeList.Encoded)["items"][number]

/** The catalogue of node types. */
export interface NodeTypes {
  list(options?: CallOptions): Promise<ReadonlyArray<NodeTypeItem>>
}

/** An API key without its secret. */
export type ApiKey = typeof Keys.Key.Encoded

/** The first and the last day, such as `2026-01-31`. */
export type UsageQuery = typeof Usage.UsageQuery.Encoded

/** The balance of the account, and what its runs have used. */
export type UsageReport = typeof Usage.UsageReport.Encoded

/** Balance and usage of the account. */
export interface AccountUsage {
  /** At most 92 days; the last 30 by default. */
  read(query?: UsageQuery, options?: CallOptions): Promise<UsageReport>
}

/** All operations of an engine or a server, for one account. */
export interface Client {
  readonly workflows: Workflows
  readonly triggers: Triggers
  readonly runs: Runs
  readonly approvals: Approvals
  readonly deliveries: Deliveries
  readonly nodeTypes: NodeTypes
  readonly usage: AccountUsage
}

/** The client over a transport. */
export const clientOver = (transport: Transport): Client => {
  const ask = makeAsk(transport)
  return {
    workflows: makeWorkflows(transport),
    triggers: makeTriggers(transport),
    runs: makeRuns(transport),
    approvals: makeApprovals(transport),
    deliveries: makeDeliveries(transport),
    nodeTypes: {
      list: async (options) =>
        ((await ask("nodeTypes.list", { options })).body as typeof NodeTypeList.Encoded).items,
    },
    usage: {
      read: async (query = {}, options) => {
        checkFields("query", query, ["from", "to"])
        return (await ask("usage.read", { query, options })).body as UsageReport
      },
    },
  }
}

/**
 * Makes a client of a server. A call rejects with a {@link MillraceError} if the server refuses it,
 * and with the error of `fetch` if there is no answer.
 *
 * ```ts
 * const client = createClient({ url: "http://127.0.0.1:7411", apiKey })
 * const run = await client.runs.start({ workflowId }, { idempotencyKey: "order-7" })
 * for await (const { event } of run.events()) console.log(event)
 * ```
 */
export const createClient = (options: ClientOptions): Client => clientOver(httpTransport(options))
