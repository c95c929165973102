/**
 * The interface for programs without Effect: every operation as a promise, listings and events to
 * iterate over. An engine in the same process and a server far away have the same one. What it
 * gives is JSON as it travels, with times as ISO 8601 text, and belongs to the caller.
 *
 * Guarantees: runs wherever there is `fetch`; loads nothing of Effect. Leaves out: checking what
 * is answered; the types say what the OpenAPI document says.
 */
import type { CallOptions } from "./internal/Ask.ts"
import { checkFields, makeAsk } from "./internal/Ask.ts"
import type { ClientOptions } from "./internal/HttpTransport.ts"
import { httpTransport } from "./internal/HttpTransport.ts"
import type { Deliveries } from "./internal/PromiseDeliveries.ts"
import { makeDeliveries } from "./internal/PromiseDeliveries.ts"
import type { Runs } from "./internal/PromiseRuns.ts"
import { makeRuns } from "./internal/PromiseRuns.ts"
import type { Workflows } from "./internal/PromiseWorkflows.ts"
import { makeWorkflows } from "./internal/PromiseWorkflows.ts"
import type { NodeTypeList } from "./NodeTypeWire.ts"
import type { Transport } from "./Transport.ts"
import type * as Usage from "./UsageApi.ts"

export type { Duration } from "./Duration.ts"
export { MillraceError } from "./MillraceError.ts"
export type { ErrorCode } from "./MillraceError.ts"
export type { CallOptions } from "./internal/Ask.ts"
export type { ClientOptions } from "./internal/HttpTransport.ts"
export type { Listing, Page, PageQuery } from "./internal/Pages.ts"
export type * from "./internal/PromiseDeliveries.ts"
export type * from "./internal/PromiseRuns.ts"
export type * from "./internal/PromiseWorkflows.ts"

/** A node type that can be executed. */
export type NodeTypeItem = (typeof NodeTypeList.Encoded)["items"][number]

/** The catalogue of node types. */
export interface NodeTypes {
  list(options?: CallOptions): Promise<ReadonlyArray<NodeTypeItem>>
}

/** Which days are asked about, both included: `2026-01-31`. */
export type UsageQuery = typeof Usage.UsageQuery.Encoded

/** What the account has, and what its runs have used. */
export type UsageReport = typeof Usage.UsageReport.Encoded

/** Balance and usage of the account. */
export interface AccountUsage {
  /** At most 92 days, the last 30 where nothing is said. */
  read(query?: UsageQuery, options?: CallOptions): Promise<UsageReport>
}

/** Everything that can be asked of an engine or a server, for one account. */
export interface Client {
  readonly workflows: Workflows
  readonly runs: Runs
  readonly deliveries: Deliveries
  readonly nodeTypes: NodeTypes
  readonly usage: AccountUsage
}

/** The interface over a transport. */
export const clientOver = (transport: Transport): Client => {
  const ask = makeAsk(transport)
  return {
    workflows: makeWorkflows(transport),
    runs: makeRuns(transport),
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
 * Makes a client of a server. Calls reject with a {@link MillraceError} when the server refuses,
 * and with the error of `fetch` when there is no answer.
 *
 * ```ts
 * const client = createClient({ url: "http://127.0.0.1:7411", apiKey })
 * const run = await client.runs.start({ workflowId }, { idempotencyKey: "order-7" })
 * for await (const { event } of run.events()) console.log(event)
 * ```
 */
export const createClient = (options: ClientOptions): Client => clientOver(httpTransport(options))
