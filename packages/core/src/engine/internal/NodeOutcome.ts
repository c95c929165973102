/**
 * What the end of an attempt means for its node: completed, completed although it failed
 * (`onError`), waiting for another attempt, or failed.
 *
 * Guarantees: pure; a node finishes once, and what its attempts charged is counted once. Leaves
 * out: what a finished node releases, which is `Step`'s.
 */
import { Result } from "effect"
import type { MicroCredits } from "../../domain/Credits.ts"
import type { JsonObject } from "../../domain/Json.ts"
import { estimateOf } from "../../domain/NodeType.ts"
import { priceOf } from "../../domain/Prices.ts"
import { errorOutput } from "../../domain/NodeType.ts"
import { delayMillis } from "../../domain/NodePolicy.ts"
import type { LogLine, NodeRun, WaitingNode } from "../../domain/Run.ts"
import { never } from "../../domain/Timestamp.ts"
import type { Timestamp } from "../../domain/Timestamp.ts"
import type { GraphNode } from "../../graph/Graph.ts"
import type { AttemptOutcome, FailedAttempt } from "./Attempt.ts"
import { checkOutput } from "./Output.ts"
import type { CommitBuilder } from "./CommitBuilder.ts"
import type { RunState, Started } from "./RunState.ts"
import { isHalted, note } from "./RunState.ts"

/** Records the end of a node: in the frontier, in the commit, and for the end of the run. */
export const finishNode = (
  progress: RunState,
  change: CommitBuilder,
  node: GraphNode,
  row: Omit<NodeRun, "nodeId" | "nodeType" | "ordinal" | "sequence" | "largeValues">,
): void => {
  progress.frontier.finish(node.index, row.status, row.output)
  progress.again.delete(node.index)
  change.endNode(node, row, progress.priorAttempts.delete(node.index))
  note(progress, node, row)
}

/** What this attempt adds to what earlier ones of its node charged. */
const account = (
  { graph, priorAttempts }: RunState,
  change: CommitBuilder,
  { charged, index }: AttemptOutcome,
  otherwise: MicroCredits,
): MicroCredits => {
  const earlier = priorAttempts.get(index)?.credits ?? 0
  const added = charged ?? (earlier > 0 ? 0 : otherwise)
  change.charge(graph.nodes[index]!, added)
  return earlier + added
}

/** The cost of a node whose handler charged nothing: its estimate, if its work was done. */
const costOf = (
  { definition }: RunState,
  { settings, type }: GraphNode,
  { _tag }: AttemptOutcome,
): MicroCredits => {
  if (_tag !== "Completed") return 0
  const listed = priceOf(definition.settings.prices, type, settings)
  return estimateOf(type, settings, listed) ?? 0
}

const complete = (
  progress: RunState,
  change: CommitBuilder,
  started: Started,
  outcome: AttemptOutcome,
  output: JsonObject,
  logs: ReadonlyArray<LogLine> | null = outcome.logs,
): void => {
  const node = progress.graph.nodes[outcome.index]!
  change.cancelChildren(started.children)
  finishNode(progress, change, node, {
    status: "COMPLETED",
    attempt: started.attempt,
    input: started.inputs,
    output,
    logs,
    error: null,
    credits: account(progress, change, outcome, costOf(progress, node, outcome)),
    startedAt: started.startedAt,
    finishedAt: outcome.at,
  })
}

/** The node waits. Its row keeps the logs and charges of its attempts so far. */
const wait = (
  progress: RunState,
  change: CommitBuilder,
  started: Started,
  outcome: AttemptOutcome,
  next: Omit<WaitingNode, "ordinal" | "startedAt">,
): void => {
  const { index, logs } = outcome
  const credits = account(progress, change, outcome, 0)
  const { startedAt } = started
  const row = {
    status: "WAITING" as const,
    attempt: started.attempt,
    input: started.inputs,
    logs,
    error: outcome._tag === "Failed" ? outcome.error : null,
    credits,
    startedAt,
  }
  change.setNode(progress.graph.nodes[index]!, row, progress.priorAttempts.has(index))
  progress.waiting.set(index, { ordinal: index, startedAt, ...next })
  progress.priorAttempts.set(index, { logs, credits })
}

/** True when a failed attempt is followed by another one; else why it would have been. */
const mayRetry = (
  { limits, run }: RunState,
  node: GraphNode,
  { attempt, retryable }: FailedAttempt,
): boolean | string => {
  if (!retryable || attempt >= node.policy.retry.attempts) return false
  return run.attempts < limits.attemptsPerRun
    ? true
    : ` (not tried again: the run has made ${run.attempts} attempts; ` +
        `the limit is ${limits.attemptsPerRun})`
}

const handled = (error: string, { at, attempt, logs }: FailedAttempt): ReadonlyArray<LogLine> => [
  ...(logs ?? []),
  { at, level: "error", message: error, attempt },
]

/** What a node puts out that failed and has a default; it is computed when an attempt begins. */
const fallbackOf = (
  { graph, limits }: RunState,
  { index }: Started,
  { given }: FailedAttempt,
  drawn: JsonObject | undefined,
): Result.Result<JsonObject, string> => {
  const { literals, ports } = graph.nodes[index]!
  if ((literals?.fallback.size ?? 0) === 0) return Result.succeed(drawn ?? {})
  const computed = given?.fallback ?? Result.fail("it was not computed")
  const outputs = new Map([...ports.outputs, [errorOutput, { name: errorOutput, schema: {} }]])
  return Result.flatMap(computed, (output) =>
    checkOutput({ ...ports, outputs }, output, limits),
  ).pipe(Result.mapError((clause) => `its default has no value: ${clause}`))
}

const fail = (
  progress: RunState,
  change: CommitBuilder,
  started: Started,
  outcome: FailedAttempt,
): void => {
  const node = progress.graph.nodes[outcome.index]!
  const { attempt, at } = outcome
  const retried = !isHalted(progress) && mayRetry(progress, node, outcome)
  if (retried === true) {
    const { retry } = node.policy
    const pause = delayMillis(retry, attempt, progress.random(), outcome.retryAfterMillis)
    // A message is taken once, and a child is started once. So whoever took a message or has
    // started children keeps them, and what it had left behind.
    const { children, message, state } = started
    const heard = children === undefined ? {} : { children }
    const taken = message === undefined ? {} : { message }
    const isBare = message === undefined && children === undefined
    const kept = isBare ? {} : { state: state!, ...taken, ...heard }
    const next = { attempt: attempt + 1, due: at + pause, ...kept }
    return wait(progress, change, started, outcome, next)
  }
  const error = outcome.error + (retried === false ? "" : retried)
  const { fallback, onError } = node.policy
  const given = fallbackOf(progress, started, outcome, fallback)
  if (onError === "default" && Result.isSuccess(given)) {
    return complete(progress, change, started, outcome, given.success, handled(error, outcome))
  }
  if (onError === "route") {
    const output = { [errorOutput]: { message: error, nodeId: node.id, attempt } }
    return complete(progress, change, started, outcome, output, handled(error, outcome))
  }
  change.cancelChildren(started.children)
  finishNode(progress, change, node, {
    status: "FAILED",
    attempt,
    input: started.inputs,
    output: null,
    logs: outcome.logs,
    error: onError === "default" && Result.isFailure(given) ? `${error}; ${given.failure}` : error,
    credits: account(progress, change, outcome, 0),
    startedAt: started.startedAt,
    finishedAt: at,
  })
}

/** Records the cost of an interrupted attempt: its node is CANCELED. */
export const cancelAttempt = (
  progress: RunState,
  change: CommitBuilder,
  index: number,
  now: Timestamp,
): void => {
  const started = progress.running.get(index)!
  const spent = progress.charges.spent(index, started.attempt)
  if (spent === 0) return
  const node = progress.graph.nodes[index]!
  const { attempt, inputs, startedAt } = started
  const earlier = progress.priorAttempts.get(index)
  change.charge(node, spent)
  change.setNode(
    node,
    {
      status: "CANCELED",
      attempt,
      input: inputs,
      logs: earlier?.logs ?? null,
      credits: (earlier?.credits ?? 0) + spent,
      startedAt,
      finishedAt: now,
    },
    progress.priorAttempts.delete(index),
  )
}

const end = (
  progress: RunState,
  change: CommitBuilder,
  started: Started,
  outcome: AttemptOutcome,
): void => {
  switch (outcome._tag) {
    case "Completed":
      return complete(progress, change, started, outcome, outcome.output)
    case "Failed":
      return fail(progress, change, started, outcome)
    case "Suspended": {
      const { attempt, starts, state } = outcome
      const { correlation, filter, for: name, together, until = never } = outcome.wait
      const named = {
        ...(name === undefined ? {} : { for: name }),
        ...(correlation === undefined ? {} : { correlation }),
        ...(filter === undefined ? {} : { filter }),
        ...(together === true ? { together } : {}),
      }
      const open = starts.filter(({ run }) => run.finishedAt === null)
      const children = [...(started.children ?? []), ...open.map(({ run }) => run.id)]
      const hasStarted = started.children !== undefined || starts.length > 0
      const more = hasStarted ? { children } : {}
      change.start(starts)
      const next = { attempt, due: until, ...named, state, ...more }
      return wait(progress, change, started, outcome, next)
    }
  }
}

/** What started, with the inputs that were computed since. */
const withGiven = (started: Started, { given }: AttemptOutcome): Started =>
  given === undefined || Result.isFailure(given.inputs)
    ? started
    : { ...started, inputs: given.inputs.success }

/** Records how an attempt ended. Ignores an attempt that is not the node's current one. */
export const applyOutcome = (
  progress: RunState,
  change: CommitBuilder,
  outcome: AttemptOutcome,
): void => {
  const { index } = outcome
  const started = progress.running.get(index)
  if (started === undefined || started.attempt !== outcome.attempt) return
  progress.running.delete(index)
  end(progress, change, withGiven(started, outcome), outcome)
  const { message } = started
  if (progress.waiting.get(index)?.message !== message) progress.held.delete(message!)
}
