/**
 * Runs as the interface answers them: items, details, summaries, single nodes and definitions.
 *
 * Guarantees: pure. A summary holds nothing that a node was given, put out or logged.
 */
import type {
  LoopItem,
  NodeRun as WireNodeRun,
  RerunPlan,
  RunDefinition,
  RunDetail,
  RunItem,
  RunRead,
} from "@millrace/api/RunWire"
import type { NodeRun, Run, RunRecord } from "@millrace/core/domain/Run"
import { dueAtOf, isPinned, nodeRunsOf, skipReasonOf } from "@millrace/core/domain/Run"
import { nodeSizesOf, runSizesOf } from "@millrace/core/domain/RunPayload"
import { problemsListed } from "@millrace/core/domain/Limits"
import type { PlannedRerun } from "@millrace/core/engine/Runs"
import type { NodePorts } from "@millrace/core/engine/RunViews"

/** The field of the published version; absent for a run of the draft. */
const versionOf = ({ workflowVersion }: Pick<Run, "workflowVersion">) =>
  workflowVersion === null ? {} : { workflowVersion }

type Writable<A> = { -readonly [K in keyof A]: A[K] }

/** A run in a listing. One object: there is an answer for each run that ends. */
export const itemOf = (run: Run): RunItem => {
  const item: Writable<RunItem> = {
    id: run.id,
    workflowId: run.workflowId,
    workflowName: run.workflowName,
    status: run.status,
    mode: run.mode,
    startedAt: run.startedAt,
    finishedAt: run.finishedAt,
    createdAt: run.createdAt,
    error: run.error,
    estimatedCredits: run.estimatedCredits,
    actualCredits: run.actualCredits,
    nodeRunCount: run.nodeRunCount,
    source: run.source,
  }
  if (run.after !== null) item.after = run.after
  if (run.parent !== null) item.parent = run.parent
  if (run.childCredits !== 0) item.childCredits = run.childCredits
  if (run.singleNodeId !== null) item.singleNodeId = run.singleNodeId
  if (run.rerunOf !== null) item.rerunOf = run.rerunOf
  if (run.triggerId !== null) item.triggerId = run.triggerId
  if (run.priority !== 0) item.priority = run.priority
  if (run.startAt !== null) item.startAt = run.startAt
  if (run.concurrencyKey !== null && run.concurrency !== null) {
    item.concurrencyKey = run.concurrencyKey
    item.concurrency = run.concurrency
  }
  if (run.workflowVersion !== null) item.workflowVersion = run.workflowVersion
  return item
}

/** What a rerun would do. */
export const rerunPlanOf = ({ anew, problems, ...planned }: PlannedRerun): RerunPlan => ({
  ...planned,
  problems: problems.slice(0, problemsListed),
  anew: Array.from(anew, ([nodeId, reason]) => {
    switch (reason._tag) {
      case "Follows":
        return { nodeId, reason: "follows", because: reason.nodeId }
      case "Unfinished":
        return { nodeId, reason: "unfinished", because: reason.status }
      default:
        return { nodeId, reason: words[reason._tag] }
    }
  }),
})

const words = { Asked: "asked", New: "new", Changed: "changed", Approval: "approval" } as const

/** The field of large values; absent without any. */
const largeOf = ({ largeValues }: Pick<Run, "largeValues">) =>
  largeValues === null ? {} : { largeValues }

const contextOf = (run: Run) => ({
  values: run.values,
  output: run.output,
  ...largeOf(run),
  viewport: run.viewport,
  workflowRevision: run.workflowRevision,
  ...versionOf(run),
})

/** A node of a run. */
export const nodeOf = (run: Run, nodeRun: NodeRun): WireNodeRun => {
  const node: Writable<WireNodeRun> = {
    nodeId: nodeRun.nodeId,
    nodeType: nodeRun.nodeType,
    status: nodeRun.status,
    input: nodeRun.input,
    output: nodeRun.output,
    logs: nodeRun.logs,
    error: nodeRun.error,
    startedAt: nodeRun.startedAt,
    finishedAt: nodeRun.finishedAt,
    attempt: nodeRun.attempt,
    credits: nodeRun.credits,
    dueAt: dueAtOf(run, nodeRun),
    skipReason: skipReasonOf(nodeRun),
  }
  if (isPinned(nodeRun)) node.pinned = true
  if (nodeRun.largeValues !== null) node.largeValues = nodeRun.largeValues
  return node
}

/** An item of a loop: the run that executed it. */
export const loopItemOf = (run: Run): LoopItem => {
  const { error, finishedAt, id: runId, output, parent, startedAt, status } = run
  const facts = { index: parent!.index, runId, status, output, ...largeOf(run) }
  return { ...facts, error, startedAt, finishedAt }
}

/** A node of a run without its payloads. */
export const nodeSummaryOf = (run: Run, nodeRun: NodeRun): WireNodeRun => ({
  ...nodeOf(run, { ...nodeRun, largeValues: null }),
  input: null,
  output: null,
  logs: null,
  sizes: nodeSizesOf(nodeRun),
})

/** A run as both reads answer it. Each form leaves out the fields that it does not have. */
export const readOf = (record: RunRecord): RunRead & RunDetail => ({
  ...itemOf(record.run),
  triggerRunId: record.run.executionId,
  context: record.omitted === true ? null : contextOf(record.run),
  nodeRuns: nodeRunsOf(record).map((row) => nodeOf(record.run, row)),
  ...(record.omitted === true ? { omitted: true } : {}),
})

/** A run without its payloads. */
export const summaryOf = (record: RunRecord): RunRead => ({
  ...itemOf(record.run),
  triggerRunId: record.run.executionId,
  context: null,
  nodeRuns: nodeRunsOf(record).map((row) => nodeSummaryOf(record.run, row)),
  sizes: runSizesOf(record.run),
})

/** The graph of a run. */
export const definitionOf = (
  { definition, run }: RunRecord,
  ports: ReadonlyArray<NodePorts>,
): RunDefinition => {
  const { edges, nodes, settings } = definition
  const { body: _, prices: __, workflows: ___, ...own } = settings
  const { viewport, workflowId, workflowName, workflowRevision } = run
  const known = ports.map(({ nodeId, ports: { inputs, outputs } }) => ({
    nodeId,
    inputPorts: [...inputs.values()],
    outputPorts: [...outputs.values()],
  }))
  const workflow = { workflowId, workflowName, workflowRevision, ...versionOf(run), viewport }
  return { ...workflow, nodes, edges, settings: own, ports: known }
}
