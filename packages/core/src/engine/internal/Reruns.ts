/**
 * Reruns: a new run that takes over what an earlier one has completed, and executes the rest.
 *
 * Guarantees: what is taken over costs nothing, has no event, and is not executed. Reads only; the
 * caller starts what is prepared here.
 */
import { Effect, Option, Result } from "effect"
import type { MicroCredits } from "../../domain/Credits.ts"
import type { AccountId, KeyId, SessionId } from "../../domain/Id.ts"
import { RunId } from "../../domain/Id.ts"
import { hintOf } from "../../domain/Nearest.ts"
import { quoted } from "../../domain/Quote.ts"
import type {
  CalledWorkflows,
  NodeRun,
  PinnedOutputs,
  RunRecord,
  RunSource,
} from "../../domain/Run.ts"
import { evaluatedId, isPinned, isTerminal, nodeRunsOf } from "../../domain/Run.ts"
import type { Timestamp } from "../../domain/Timestamp.ts"
import type { Node, Workflow } from "../../domain/Workflow.ts"
import type { VersionChoice } from "../../domain/WorkflowVersion.ts"
import type { Graph } from "../../graph/Graph.ts"
import { withNodeOverrides } from "../../graph/internal/Overlay.ts"
import type { Problem } from "../../graph/internal/Problem.ts"
import type { RerunPlan } from "../../graph/internal/Rerun.ts"
import { rerunPlanOf } from "../../graph/internal/Rerun.ts"
import type { LatestOutput, RunStore } from "../../ports/RunStore.ts"
import type { StorageError } from "../../ports/StorageError.ts"
import type { WorkflowStore } from "../../ports/WorkflowStore.ts"
import type { GraphCache } from "../GraphCache.ts"
import type { VersionNotFound, WorkflowNotFound } from "../Refusals.ts"
import { InvalidGraph, RunNotFound, RunOpen } from "../Refusals.ts"
import type { ValueSource } from "./CurrentValues.ts"
import type { StartRequest } from "./NewRun.ts"
import { calledByStart } from "./StartPlan.ts"
import { takenWorkflow } from "./TakenWorkflow.ts"
import { wholeOutputs } from "./WholeOutputs.ts"

/** What a rerun asks for. */
export interface RerunRequest {
  /** Nodes to execute anew with all that follows them, beside those that have not completed. */
  readonly from?: ReadonlyArray<string> | undefined
  /** The graph of the earlier run, or what a start would take now. `same` by default. */
  readonly definition?: "same" | "current" | undefined
  /** With `current`: what a start would take that asks for this. */
  readonly version?: VersionChoice | undefined
  readonly nodeOverrides?: ReadonlyArray<Node> | undefined
  /** Outputs in the place of executing nodes, or of what would be taken over. */
  readonly pinnedOutputs?: PinnedOutputs | undefined
  readonly maxCredits?: MicroCredits | undefined
  /** That of the earlier run by default. */
  readonly priority?: number | undefined
  readonly startAt?: Timestamp | undefined
  readonly source?: RunSource | undefined
  readonly keyId?: KeyId | undefined
  readonly sessionId?: SessionId | undefined
}

/** A start that can be stored, on the workflow that it executes. */
export interface PreparedRerun {
  readonly record: RunRecord
  readonly workflow: Workflow
  readonly plan: RerunPlan
  readonly request: StartRequest
}

interface Parts {
  readonly runs: RunStore["Service"]
  readonly workflows: WorkflowStore["Service"]
  readonly graphs: GraphCache["Service"]
  readonly values: ValueSource | undefined
}

const refused = (problems: ReadonlyArray<string>) => new InvalidGraph({ problems })

const sentencesOf = (problems: ReadonlyArray<Problem>) => problems.map(({ message }) => message)

/** The graph of a run as a workflow. */
const workflowOf = ({ definition, run }: RunRecord): Workflow => {
  const { prices: _, workflows: __, ...settings } = definition.settings
  const { accountId, createdAt, workflowId: id, workflowName: name } = run
  const { workflowRevision: revision, workflowVersion: version } = run
  const { edges, nodes } = definition
  const drawn = { nodes, edges, settings, revision, ...(version === null ? {} : { version }) }
  const rest = { description: null, thumbnailUrl: null, createdAt, updatedAt: createdAt }
  return { id, accountId, name, ...drawn, ...rest }
}

const graphOf = (
  { graphs }: Parts,
  { run }: RunRecord,
  workflow: Workflow,
  overrides: ReadonlyArray<Node>,
  workflows: CalledWorkflows | undefined,
): Result.Result<Graph, ReadonlyArray<Problem>> =>
  Result.flatMap(withNodeOverrides(workflow.nodes, overrides), (nodes) => {
    const settings = { ...workflow.settings, ...(workflows === undefined ? {} : { workflows }) }
    const drawn = { nodes: graphs.withVersions(nodes), edges: workflow.edges, settings }
    // An id of its own: nothing of it is kept.
    return graphs.compile({ id: evaluatedId(run.id), ...drawn }, run.inputOverrides)
  })

/** Problems of nodes that a rerun names, and that its graph does not have. */
const problemsOfFrom = (from: ReadonlyArray<string>, graph: Graph): ReadonlyArray<string> =>
  from
    .filter((id) => !graph.indexOf.has(id))
    .map((id) =>
      graph.inner.some(({ node }) => node.id === id)
        ? `from: node ${quoted(id)} is in the body of a loop, which is executed anew as a whole`
        : `from: there is no node ${quoted(id)}; ${hintOf(id, graph.indexOf.keys())}`,
    )

/** Which run executed a node that has completed. */
const executedBy = ({ run }: RunRecord, row: NodeRun): RunId => {
  if (!isPinned(row)) return run.id
  const data = row.logs?.[0]?.data as { readonly runId?: string } | undefined
  return data?.runId === undefined ? run.id : RunId.make(data.runId)
}

/** Compares what a rerun would execute with what the earlier run has. */
const compare = Effect.fnUntraced(function* (
  parts: Parts,
  record: RunRecord,
  request: RerunRequest,
): Effect.fn.Return<
  Pick<PreparedRerun, "plan" | "workflow"> & { readonly kept: CalledWorkflows | undefined },
  InvalidGraph | WorkflowNotFound | VersionNotFound | StorageError
> {
  const { run } = record
  const isSameGraph = request.definition !== "current"
  const { from = [], nodeOverrides = [], pinnedOutputs = {}, version } = request
  const { accountId, workflowId } = run
  const workflow = isSameGraph
    ? workflowOf(record)
    : yield* takenWorkflow(parts.workflows, accountId, { workflowId, version })
  const overlay = { values: {}, inputOverrides: run.inputOverrides, nodeOverrides }
  const frozen = record.definition.settings.workflows
  const kept = isSameGraph ? frozen : undefined
  const called = yield* calledByStart(parts, run.accountId, workflow, overlay, kept)
  if (called.problems.length > 0) return yield* refused(sentencesOf(called.problems))
  const compiled = graphOf(parts, record, workflow, nodeOverrides, called.workflows)
  if (Result.isFailure(compiled)) return yield* refused(sentencesOf(compiled.failure))
  const graph = compiled.success
  const unknown = problemsOfFrom(from, graph)
  if (unknown.length > 0) return yield* refused(unknown)
  const rows = nodeRunsOf(record)
  const earlier = {
    // A run of before versions were kept has none.
    nodes: parts.graphs.withVersions(record.definition.nodes),
    edges: record.definition.edges,
    statuses: new Map(rows.map(({ nodeId, status }) => [nodeId, status])),
  }
  const wish = { from: new Set(from), pinned: new Set(Object.keys(pinnedOutputs)) }
  // What a loop calls is what the nodes in it call.
  const calls = graph.nodes.flatMap(({ id: nodeId, node }) =>
    parts.graphs
      .calls([node, ...(graph.bodies.get(nodeId)?.nodes ?? [])], run.inputOverrides)
      .map((call) => ({ ...call, nodeId })),
  )
  const ofCalls = parts.graphs.rerunCalls(calls, frozen, called.workflows ?? {})
  const plan = rerunPlanOf(earlier, graph, workflow.edges, wish, ofCalls)
  return { kept, plan, workflow }
})

/** Prepares a rerun of a run that has ended. */
export const prepareRerun = Effect.fnUntraced(function* (
  parts: Parts,
  account: AccountId,
  id: RunId,
  request: RerunRequest,
): Effect.fn.Return<
  PreparedRerun,
  InvalidGraph | WorkflowNotFound | VersionNotFound | RunNotFound | RunOpen | StorageError
> {
  const found = yield* parts.runs.find(account, id)
  if (Option.isNone(found)) return yield* new RunNotFound({ runId: id })
  const record = found.value
  const { run } = record
  if (!isTerminal(run.status)) return yield* new RunOpen({ runId: id })
  if (run.singleNodeId !== null) {
    return yield* refused(["A run of a single node has no rerun: start the node again"])
  }
  if (run.mode === "item") {
    const root = run.parent?.rootRunId ?? id
    return yield* refused([
      `A run of the body of a loop has no rerun: rerun the run of its loop, ${root}`,
    ])
  }
  if (request.version !== undefined && request.definition !== "current") {
    return yield* refused(['version: goes with definition "current"; say that, or no version'])
  }
  const { kept, plan, workflow } = yield* compare(parts, record, request)
  if (plan.anew.size === 0) {
    return yield* refused([
      "Nothing has to run anew: every node has completed, and nothing has changed. Say in `from` " +
        "with which nodes to begin",
    ])
  }
  const outputs = yield* outputsOf(parts, record, plan.takenOver)
  const { nodeOverrides = [], pinnedOutputs = {} } = request
  const started: StartRequest = {
    workflowId: workflow.id,
    values: run.values,
    graphInputOverrides: run.inputOverrides,
    nodeOverrides,
    pinnedOutputs,
    viewport: run.viewport ?? undefined,
    source: request.source,
    maxCredits: request.maxCredits ?? run.maxCredits ?? undefined,
    priority: request.priority ?? run.priority,
    startAt: request.startAt,
    concurrencyKey: workflow.settings.concurrencyKey ?? run.concurrencyKey ?? undefined,
    keyId: request.keyId,
    sessionId: request.sessionId,
    rerun: { of: id, isSameGraph: request.definition !== "current", workflows: kept, ...outputs },
  }
  return { record, workflow, plan, request: started }
})

/** What nodes of a run have put out, whole, and which run executed each. */
const outputsOf = Effect.fnUntraced(function* (
  parts: Parts,
  record: RunRecord,
  nodeIds: ReadonlyArray<string>,
) {
  const byId = new Map(record.nodeRuns.map((row) => [row.nodeId, row]))
  const rows = nodeIds.map((nodeId) => byId.get(nodeId)!)
  const runId = record.run.id
  const stored = new Map<string, LatestOutput>(
    rows.map(({ largeValues, nodeId, output }) => [
      nodeId,
      { runId, output: output ?? {}, largeValues },
    ]),
  )
  const whole = yield* wholeOutputs(parts, record.run.accountId, stored)
  if (Result.isFailure(whole)) {
    return yield* refused([`What the earlier run put out cannot be taken over: ${whole.failure}`])
  }
  return {
    outputs: Object.fromEntries(whole.success),
    executedBy: new Map(rows.map((row) => [row.nodeId, executedBy(record, row)])),
  }
})
