/**
 * A workflow with its revision, and how a change says on which one it is based.
 */
import type * as Wire from "../WorkflowWire.ts"
import type { CallOptions } from "./Ask.ts"

/** A workflow (specification 2.1). Times are ISO 8601 in UTC. */
export type Workflow = typeof Wire.Workflow.Encoded

/** A workflow and its revision, for the `ifMatch` of a change. */
export interface TaggedWorkflow {
  readonly workflow: Workflow
  readonly etag: string
}

/** How to change a workflow. */
export interface UpdateOptions extends CallOptions {
  /** The revision that the change is based on; any by default. */
  readonly ifMatch?: string
}
