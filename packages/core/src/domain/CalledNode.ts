/**
 * The node of a handler, for messages and logs.
 */
import type { RunId } from "./Id.ts"

/** A node of a run whose handler is called. */
export interface CalledNode {
  readonly runId: RunId
  readonly nodeId: string
  readonly nodeType: string
}

/** `node "n" (compute) of run run_1`. */
export const describeNode = ({ nodeId, nodeType, runId }: CalledNode): string =>
  `node ${JSON.stringify(nodeId)} (${nodeType}) of run ${runId}`

/** `12.3 s`. */
export const inSeconds = (millis: number): string => `${(millis / 1_000).toFixed(1)} s`
