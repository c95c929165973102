/**
 * How far one run has come, and its next turn: what has ended is settled, what that releases is
 * decided, and all of it becomes one commit together with the attempts that start after it.
 *
 * Guarantees: no effects and no clock, so that a turn is the same live and after a crash. Leaves
 * out: committing, and calling handlers.
 */
import { Result } from "effect"
import type { JsonObject } from "../domain/Json.ts"
import type { Limits } from "../domain/Limits.ts"
import type {
  ActiveNode,
  Definition,
  NodeRun,
  NodeRunStatus,
  Run,
  RunRecord,
} from "../domain/Run.ts"
import type { Timestamp } from "../domain/Timestamp.ts"
import { estimateOf } from "../domain/NodeType.ts"
import { inputsOf, responseOf } from "../graph/Bindings.ts"
import { Frontier } from "../graph/Frontier.ts"
import type { Graph, GraphNode } from "../graph/Graph.ts"
import type { RunCommit } from "../ports/RunStore.ts"
import type { Outcome } from "./Attempt.ts"
import { Change } from "./Change.ts"

/** A node whose turn has come, with its inputs bound. */
interface Ready {
  readonly index: number
  readonly inputs: JsonObject
}

/** An attempt that begins once the commit of its turn is stored. */
export interface Started extends Ready, ActiveNode {}

/** What an execution knows of its run. Mutable, for one owner. */
export interface Progress {
  run: Run
  readonly definition: Definition
  /** Rows of settled nodes, in the order in which they settled. */
  readonly rows: Array<NodeRun>
  readonly graph: Graph
  readonly frontier: Frontier
  readonly limits: Limits
  /** Attempts begun by earlier owners, by node. */
  readonly earlier: ReadonlyMap<number, number>
  /** Nodes waiting for a slot, from `nextReady` on; a cursor, because shifting would be O(n). */
  readonly ready: Array<Ready>
  nextReady: number
  readonly running: Map<number, Started>
  readonly responses: Array<{ index: number; input: JsonObject | null; status: NodeRunStatus }>
  completed: number
  failures: Array<{ readonly node: GraphNode; readonly error: string }>
}

/** How a failed run reads: the first failure, and how many more. */
const errorOf = (failures: Progress["failures"]): string | null => {
  const first = failures[0]
  if (first === undefined) return null
  const more = failures.length - 1
  const rest = more === 0 ? "" : more === 1 ? " (and 1 more node)" : ` (and ${more} more nodes)`
  return `Node "${first.node.id}" failed: ${first.error}${rest}`
}

/** Where a run stands, from what is stored of it. */
export const resume = (record: RunRecord, graph: Graph, limits: Limits): Progress => {
  const progress: Progress = {
    run: record.run,
    definition: record.definition,
    rows: [...record.nodeRuns],
    graph,
    frontier: Frontier.restore(graph, record.nodeRuns),
    limits,
    earlier: new Map(record.run.active.map(({ attempt, ordinal }) => [ordinal, attempt])),
    ready: [],
    nextReady: 0,
    running: new Map(),
    responses: [],
    completed: 0,
    failures: [],
  }
  for (const row of record.nodeRuns) {
    note(progress, graph.nodes[graph.indexOf.get(row.nodeId)!]!, row)
  }
  return progress
}

/** Keeps what the end of the run will need to know of a settled node. */
const note = (
  progress: Progress,
  node: GraphNode,
  row: Pick<NodeRun, "status" | "input" | "error">,
): void => {
  if (row.status === "COMPLETED") progress.completed += 1
  if (row.status === "FAILED") progress.failures.push({ node, error: row.error ?? "failed" })
  if (node.type.role === "response") {
    progress.responses.push({ index: node.index, input: row.input, status: row.status })
  }
}

/** Records the end of a node: in the frontier, in the commit, and for the end of the run. */
const settle = (
  progress: Progress,
  change: Change,
  node: GraphNode,
  row: Omit<NodeRun, "nodeId" | "nodeType" | "ordinal" | "sequence">,
): void => {
  progress.frontier.settle(node.index, row.status, row.output)
  change.endNode(node, row)
  note(progress, node, row)
}

const settleOutcome = (progress: Progress, change: Change, outcome: Outcome): void => {
  const node = progress.graph.nodes[outcome.index]!
  const started = progress.running.get(outcome.index)!
  progress.running.delete(outcome.index)
  const failed = outcome.error !== null
  settle(progress, change, node, {
    status: failed ? "FAILED" : "COMPLETED",
    attempt: started.attempt,
    input: started.inputs,
    output: outcome.output,
    logs: outcome.logs,
    error: outcome.error,
    credits: outcome.charged ?? (failed ? 0 : (estimateOf(node.type, node.settings) ?? 0)),
    startedAt: started.startedAt,
    finishedAt: outcome.finishedAt,
  })
}

/** Binds a node's inputs: it becomes ready, or fails for want of exactly one value at a port. */
const bind = (progress: Progress, change: Change, index: number, now: Timestamp): void => {
  const inputs = inputsOf(progress.graph, progress.frontier, index)
  if (Result.isSuccess(inputs)) {
    progress.ready.push({ index, inputs: inputs.success })
    return
  }
  settle(progress, change, progress.graph.nodes[index]!, {
    status: "FAILED",
    attempt: 0,
    input: null,
    output: null,
    logs: null,
    error: inputs.failure,
    credits: 0,
    startedAt: null,
    finishedAt: now,
  })
}

/** Decides all that the settled nodes release, until nothing more follows. */
const release = (progress: Progress, change: Change, now: Timestamp): void => {
  let decided = progress.frontier.advance()
  while (decided.length > 0) {
    for (const each of decided) {
      if (each._tag === "Run") {
        bind(progress, change, each.index, now)
        continue
      }
      const node = progress.graph.nodes[each.index]!
      const message = each._tag === "Skip" ? each.reason : "Disabled: the input is passed through"
      const level = node.draft ? "warn" : "info"
      change.setNode(node, {
        status: "SKIPPED",
        output: each._tag === "Skip" ? null : each.output,
        logs: [{ at: now, level, message, attempt: 0 }],
        finishedAt: now,
      })
    }
    decided = progress.frontier.advance()
  }
}

/** Takes ready nodes into the free slots. */
const fill = (progress: Progress, now: Timestamp): ReadonlyArray<Started> => {
  const free = progress.limits.nodesAtOnce - progress.running.size
  const from = progress.nextReady
  progress.nextReady = Math.min(progress.ready.length, from + free)
  const next = progress.ready.slice(from, progress.nextReady).map((ready) => ({
    ...ready,
    ordinal: ready.index,
    attempt: (progress.earlier.get(ready.index) ?? 0) + 1,
    startedAt: now,
  }))
  for (const started of next) progress.running.set(started.index, started)
  return next
}

const finish = (progress: Progress, change: Change): void => {
  const failed = progress.failures.length
  const output = responseOf(progress.graph, progress.responses)
  change.end(failed === 0 ? "COMPLETED" : "FAILED", errorOf(progress.failures), output, {
    completed: progress.completed,
    failed,
  })
}

const activeOf = ({ attempt, ordinal, startedAt }: ActiveNode): ActiveNode => ({
  ordinal,
  attempt,
  startedAt,
})

/** What one turn asks for: a commit, and what to start once that is stored. */
export interface Turn {
  readonly commit: RunCommit
  readonly started: ReadonlyArray<Started>
}

/** Takes the next turn. While `draining` nothing new is started. */
export const turn = (
  progress: Progress,
  outcomes: ReadonlyArray<Outcome>,
  now: Timestamp,
  draining: boolean,
): Turn => {
  const change = new Change(progress.run, now)
  if (progress.run.status === "QUEUED") change.begin()
  for (const outcome of outcomes) settleOutcome(progress, change, outcome)
  release(progress, change, now)
  const started = draining ? [] : fill(progress, now)
  change.setActive([...progress.running.values()].map(activeOf), started)
  if (progress.frontier.finished) finish(progress, change)
  const commit = change.commit()
  progress.run = commit.run
  for (const row of commit.nodeRuns) progress.rows.push(row)
  return { commit, started }
}

/** The run as its store has it once every turn so far is committed. */
export const recordOf = ({ definition, rows, run }: Progress): RunRecord => ({
  run,
  definition,
  nodeRuns: rows.toSorted((left, right) => left.ordinal - right.ordinal),
})

/** The commit that gives up a run which cannot be executed. */
export const giveUp = (run: Run, error: string, now: Timestamp): RunCommit => {
  const change = new Change(run, now)
  change.end("FAILED", error, null, { completed: 0, failed: 0 })
  return change.commit()
}
