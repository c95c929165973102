/**
 * The execution of one run: one fiber, and the run's only writer while it owns it.
 *
 * A turn takes every attempt that has ended, settles it, decides what that releases, commits all of
 * it in one atomic step, and only then starts the released nodes. So a node starts only after
 * whatever it depends on is durable, and a start is itself recorded before it happens.
 *
 * Guarantees: a finished node is never run again; a refused commit stops the execution at once and
 * without a trace. Leaves out: who owns a run; that is the runner's.
 */
import { Clock, Effect, Queue, Result } from "effect"
import type { JsonObject } from "../domain/Json.ts"
import type { Limits } from "../domain/Limits.ts"
import { CurrentLimits } from "../domain/Limits.ts"
import type { NodeRun, NodeRunStatus, Run, RunRecord } from "../domain/Run.ts"
import { isSettled } from "../domain/Run.ts"
import { inputsOf, responseOf } from "../graph/Bindings.ts"
import { Frontier } from "../graph/Frontier.ts"
import type { Graph, GraphNode } from "../graph/Graph.ts"
import type { RunCommit, StaleRun } from "../ports/RunStore.ts"
import { RunStore } from "../ports/RunStore.ts"
import type { Outcome } from "./Attempt.ts"
import { attempt } from "./Attempt.ts"
import { commitDurably } from "./Commit.ts"
import { Change } from "./Change.ts"
import { Graphs } from "./Graphs.ts"
import { NodeTypes } from "./NodeTypes.ts"

/** A node whose turn has come, with its inputs bound. */
interface Ready {
  readonly index: number
  readonly inputs: JsonObject
}

/** A node run in progress. */
interface Started extends Ready {
  readonly attempt: number
  readonly startedAt: number
}

/** What an execution knows of its run beyond the committed rows. */
interface Progress {
  run: Run
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

const resume = (record: RunRecord, graph: Graph, limits: Limits): Progress => {
  const earlier = new Map<number, number>()
  const progress: Progress = {
    run: record.run,
    graph,
    frontier: Frontier.restore(graph, record.nodeRuns),
    limits,
    earlier,
    ready: [],
    nextReady: 0,
    running: new Map(),
    responses: [],
    completed: 0,
    failures: [],
  }
  for (const row of record.nodeRuns) {
    const index = graph.indexOf.get(row.nodeId)!
    if (isSettled(row.status)) note(progress, graph.nodes[index]!, row)
    else earlier.set(index, row.attempt)
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
  row: Omit<NodeRun, "nodeId" | "nodeType" | "ordinal">,
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
    credits: outcome.charged ?? (failed ? 0 : node.type.estimate(node.settings)),
    startedAt: started.startedAt,
    finishedAt: outcome.finishedAt,
  })
}

/** Binds a node's inputs: it becomes ready, or fails for want of exactly one value at a port. */
const bind = (progress: Progress, change: Change, index: number, now: number): void => {
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
const release = (progress: Progress, change: Change, now: number): void => {
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

/** Takes ready nodes into the free slots and records that they start. */
const fill = (
  progress: Progress,
  change: Change,
  now: number,
  draining: boolean,
): ReadonlyArray<Started> => {
  if (draining) return []
  const free = progress.limits.nodesAtOnce - progress.running.size
  const from = progress.nextReady
  progress.nextReady = Math.min(progress.ready.length, from + free)
  const next = progress.ready.slice(from, progress.nextReady).map((ready) => ({
    ...ready,
    attempt: (progress.earlier.get(ready.index) ?? 0) + 1,
    startedAt: now,
  }))
  for (const started of next) {
    progress.running.set(started.index, started)
    change.startNode(progress.graph.nodes[started.index]!, started.attempt, started.inputs)
  }
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

/** One turn of an execution, without effects: what to commit and what to start after that. */
const turn = (
  progress: Progress,
  outcomes: ReadonlyArray<Outcome>,
  now: number,
  draining: boolean,
) => {
  const change = new Change(progress.run, now)
  if (progress.run.status === "QUEUED") change.begin()
  for (const outcome of outcomes) settleOutcome(progress, change, outcome)
  release(progress, change, now)
  const started = fill(progress, change, now, draining)
  if (progress.frontier.finished) finish(progress, change)
  return { commit: change.commit(), started }
}

/** Fails a run whose definition this process cannot execute. */
const refuse = (run: Run, problems: ReadonlyArray<string>, now: number) => {
  const change = new Change(run, now)
  change.end("FAILED", `The run cannot be executed: ${problems.join("; ")}`, null, {
    completed: 0,
    failed: 0,
  })
  return change.commit()
}

/**
 * Executes a run to its end. Succeeds when the run has ended; fails with `StaleRun` when somebody
 * else took it over, and nothing more was written. Interruption stops its handlers and leaves the
 * run as it was last committed. Once `draining` says so no further node is started, and the
 * execution ends when those in progress have settled: the run stays open for the next owner.
 */
export const execute: (
  record: RunRecord,
  draining?: () => boolean,
) => Effect.Effect<void, StaleRun, RunStore | NodeTypes | Graphs> = Effect.fnUntraced(function* (
  record,
  draining = () => false,
) {
  const store = yield* RunStore
  const types = yield* NodeTypes
  const graphs = yield* Graphs
  const limits = yield* CurrentLimits
  const clock = yield* Clock.Clock
  const now = () => clock.currentTimeMillisUnsafe()
  const commit = (next: RunCommit) => commitDurably(store, next)

  const compiled = graphs.compile(record.definition, record.run.inputOverrides)
  if (Result.isFailure(compiled)) {
    const problems = compiled.failure.map((each) => each.message)
    return yield* commit(refuse(record.run, problems, now()))
  }
  const progress = resume(record, compiled.success, limits)
  const ended = yield* Queue.unbounded<Outcome>()
  const start = ({ attempt: number, index, inputs }: Started) => {
    const node = progress.graph.nodes[index]!
    const executable = types.executable(node.type.key)!
    const request = { run: progress.run, node, executable, attempt: number, inputs, limits }
    return Effect.map(attempt(request), (outcome) => Queue.offerUnsafe(ended, outcome))
  }
  let outcomes: ReadonlyArray<Outcome> = []
  while (true) {
    const next = turn(progress, outcomes, now(), draining())
    yield* commit(next.commit)
    progress.run = next.commit.run
    if (progress.run.finishedAt !== null || progress.running.size === 0) return
    for (const started of next.started) yield* Effect.forkChild(start(started))
    outcomes = yield* Queue.takeAll(ended)
  }
})
