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

/** A run in a listing. */
export const itemOf = ({
  after,
  childCredits,
  concurrency,
  concurrencyKey,
  parent,
  priority,
  rerunOf,
  singleNodeId,
  startAt,
  triggerId,
  workflowVersion,
  ...run
}: Run): RunItem => ({
  ...run,
  ...(after === null ? {} : { after }),
  ...(parent === null ? {} : { parent }),
  ...(childCredits === 0 ? {} : { childCredits }),
  ...(singleNodeId === null ? {} : { singleNodeId }),
  ...(rerunOf === null ? {} : { rerunOf }),
  ...(triggerId === null ? {} : { triggerId }),
  ...(priority === 0 ? {} : { priority }),
  ...(startAt === null ? {} : { startAt }),
  ...(concurrencyKey === null || concurrency === null ? {} : { concurrencyKey, concurrency }),
  ...versionOf({ workflowVersion }),
})

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
  const { largeValues, ...row } = nodeRun
  const facts = { dueAt: dueAtOf(run, nodeRun), skipReason: skipReasonOf(nodeRun) }
  const pinned = isPinned(nodeRun) ? { pinned: true as const } : {}
  return { ...row, ...facts, ...pinned, ...largeOf({ largeValues }) }
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
