/**
 * Runs, nodes and stream items for the tests of the model.
 */
import type { NodeRun, Run } from "@millrace/api/PromiseClient"
import type { StreamedItem } from "../../src/model/LiveRun.ts"

/** A time, in seconds after the beginning of the run. */
export const at = (seconds: number): string =>
  new Date(Date.UTC(2026, 0, 1) + 1_000 * seconds).toISOString()

/** The same in milliseconds since 1970. */
export const millis = (seconds: number): number => Date.parse(at(seconds))

export const node = (nodeId: string, fields: Partial<NodeRun> = {}): NodeRun => ({
  nodeId,
  nodeType: "text",
  status: "PENDING",
  input: null,
  output: null,
  logs: null,
  error: null,
  startedAt: null,
  finishedAt: null,
  attempt: 0,
  credits: 0,
  dueAt: null,
  skipReason: null,
  ...fields,
})

export const running = (nodeId: string, second: number, attempt = 1): NodeRun =>
  node(nodeId, { status: "RUNNING", attempt, startedAt: at(second) })

export const completed = (nodeId: string, from: number, to: number, attempt = 1): NodeRun =>
  node(nodeId, { status: "COMPLETED", attempt, startedAt: at(from), finishedAt: at(to) })

export const run = (nodes: ReadonlyArray<NodeRun>, fields: Partial<Run> = {}): Run => ({
  id: "run_1",
  workflowId: "wf_1",
  workflowName: "Sample",
  status: "RUNNING",
  mode: "full",
  startedAt: at(1),
  finishedAt: null,
  createdAt: at(0),
  error: null,
  estimatedCredits: 0,
  actualCredits: 0,
  nodeRunCount: 0,
  source: "api",
  triggerRunId: "run_1",
  context: null,
  output: null,
  nodes: Object.fromEntries(nodes.map((each) => [each.nodeId, each])),
  ...fields,
})

export const snapshot = (sequence: number, of: Run): StreamedItem => ({
  event: "snapshot",
  data: { sequence, run: of },
})

export const frame = (data: NodeRun): StreamedItem => ({ event: "node", data })

type EventName = Exclude<StreamedItem["event"], "snapshot" | "node">

export const event = (
  sequence: number,
  name: EventName,
  second: number,
  data: object = {},
  error: string | null = null,
): StreamedItem =>
  ({
    id: String(sequence),
    event: name,
    data: {
      sequence,
      type: name,
      success: error === null,
      runId: "run_1",
      workflowId: "wf_1",
      data,
      error,
      createdAt: at(second),
    },
  }) as StreamedItem
