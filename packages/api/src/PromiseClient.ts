/**
 * The client for programs without Effect: every operation as a promise, listings and events to
 * iterate over. What it gives is JSON as it travels, with times as ISO 8601 text.
 *
 * Guarantees: runs wherever there is `fetch`; loads nothing of Effect. Leaves out: checking what
 * the server answers; the types say what the OpenAPI document says.
 */
import type { NodeTypeList } from "./NodeTypeWire.ts"
import type { ClientOptions, Send } from "./internal/Transport.ts"
import { makeSend } from "./internal/Transport.ts"
import type { Deliveries } from "./internal/PromiseDeliveries.ts"
import { makeDeliveries } from "./internal/PromiseDeliveries.ts"
import type { Runs } from "./internal/PromiseRuns.ts"
import { makeRuns } from "./internal/PromiseRuns.ts"
import type { Workflows } from "./internal/PromiseWorkflows.ts"
import { makeWorkflows } from "./internal/PromiseWorkflows.ts"

export { ApiError } from "./internal/ApiError.ts"
export type { ClientOptions } from "./internal/Transport.ts"
export type { Deliveries, DeliveryFilter } from "./internal/PromiseDeliveries.ts"
export type { Runs, RunFilter, StreamedEvent } from "./internal/PromiseRuns.ts"
export type { Workflows } from "./internal/PromiseWorkflows.ts"
export type { Listing, Page, PageQuery } from "./internal/PromiseListing.ts"

/** A node type that the server can execute. */
export type NodeType = (typeof NodeTypeList.Encoded)["items"][number]

/** The catalogue of node types. */
export interface NodeTypes {
  list(): Promise<ReadonlyArray<NodeType>>
}

/** A server, seen with one key. */
export interface Client {
  readonly workflows: Workflows
  readonly runs: Runs
  readonly deliveries: Deliveries
  readonly nodeTypes: NodeTypes
}

const makeNodeTypes = (send: Send): NodeTypes => ({
  list: async () => {
    const { items } = (await (
      await send("GET", "/node-types")
    ).json()) as typeof NodeTypeList.Encoded
    return items
  },
})

/**
 * Makes a client. Calls reject with an {@link ApiError} when the server refuses, and with the error
 * of `fetch` when there is no answer.
 *
 * ```ts
 * const client = createClient({ url: "http://127.0.0.1:7411", apiKey })
 * const { runId } = await client.runs.start({ workflowId }, { idempotencyKey: "order-7" })
 * for await (const { event } of client.runs.events(runId)) console.log(event)
 * ```
 */
export const createClient = (options: ClientOptions): Client => {
  const send = makeSend(options)
  return {
    workflows: makeWorkflows(send),
    runs: makeRuns(send),
    deliveries: makeDeliveries(send),
    nodeTypes: makeNodeTypes(send),
  }
}
