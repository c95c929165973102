/**
 * How far one run has come: what an execution keeps in memory of its run, and how that is read back
 * from what is stored.
 *
 * Guarantees: no effects and no clock, so that what is known is the same live and after a crash.
 * Leaves out: deciding what follows, which is `Step`'s, and calling handlers.
 */
import { Result } from "effect"
import type { MicroCredits } from "../../domain/Credits.ts"
import type { JsonObject } from "../../domain/Json.ts"
import { liveRow } from "../../domain/LargeValue.ts"
import type { Limits } from "../../domain/Limits.ts"
import type { Message } from "../../domain/Message.ts"
import { cancelMessage, childEndOf } from "../../domain/Message.ts"
import type {
  ActiveNode,
  Definition,
  LogLine,
  NodeRun,
  Run,
  RunRecord,
  WaitingNode,
} from "../../domain/Run.ts"
import { isNodeTerminal } from "../../domain/Run.ts"
import type { Timestamp } from "../../domain/Timestamp.ts"
import type { Bound } from "../../graph/internal/Bindings.ts"
import { boundOf } from "../../graph/internal/Bindings.ts"
import { Frontier } from "../../graph/internal/Frontier.ts"
import type { Graph, GraphNode } from "../../graph/Graph.ts"
import type { Given, MissingValues, Scripts } from "./Inputs.ts"
import { givenOrMissing, givenTo, runScope } from "./Inputs.ts"
import { LazyMap } from "./LazyMap.ts"

/** A node that may begin as soon as there is a free slot, with its inputs bound. */
export interface Ready {
  readonly index: number
  /** Without what is left to compute. A large value is there as `LargeJson`. */
  readonly inputs: JsonObject
  /** What the expressions of the node give, or what is left to compute for them. */
  readonly given?: Given | Scripts | MissingValues | undefined
}

/** An attempt that begins once the commit of its step is stored. */
export interface Started extends Ready, ActiveNode {}

/** What earlier attempts of a node left behind. */
export interface PriorAttempt {
  readonly logs: ReadonlyArray<LogLine> | null
  readonly credits: MicroCredits
}

const deadlineOf = ({ settings }: Definition, startedAt: Timestamp): Timestamp | undefined =>
  settings.timeoutMillis === undefined ? undefined : startedAt + settings.timeoutMillis

/** What attempts in progress have charged so far. */
export interface Charges {
  readonly spent: (index: number, attempt: number) => MicroCredits
}

const noCharges: Charges = { spent: () => 0 }

/** Most runs have none: one list for all of them. */
export const none: ReadonlyArray<never> = []

/** What a new owner is told besides what is stored. */
export interface Environment {
  readonly limits: Limits
  readonly now: Timestamp
  readonly random: () => number
}

/** What a response node was given, and how it ended. */
interface Response extends Pick<NodeRun, "input" | "status"> {
  readonly index: number
}

/** What an execution knows of its run. Mutable, for one owner. */
export class RunState {
  run: Run
  readonly definition: Definition
  /** The latest row of each node that has one, by ordinal. */
  readonly rows = new LazyMap<number, NodeRun>()
  readonly graph: Graph
  readonly frontier: Frontier
  readonly limits: Limits
  /** True once the run has large values. */
  hasLarge: boolean
  /** Numbers in [0, 1), for the jitter of waits. */
  readonly random: () => number
  /** When the run's time is up, if it is limited. */
  readonly deadline: Timestamp | undefined
  /** Nodes waiting for a slot, from `nextReady` on; a cursor, because shifting would be O(n). */
  ready: Array<Ready> = []
  nextReady = 0
  /** Ready nodes without effects, which a step may compute. */
  computable: Array<Ready> = []
  readonly running = new LazyMap<number, Started>()
  readonly waiting = new LazyMap<number, WaitingNode>()
  /** How the next attempt of a node begins that has begun before. */
  readonly again = new LazyMap<number, ActiveNode>()
  readonly priorAttempts = new LazyMap<number, PriorAttempt>()
  /** Number of the last message that is known here. */
  seen = 0
  /** The messages that no node has taken, in order. */
  inbox: ReadonlyArray<Message> = none
  /** The numbers of those that the last step has given back to the workflow. */
  returned: ReadonlyArray<number> = none
  /** Messages that nodes have taken and may still be called with, by number. */
  readonly held = new LazyMap<number, Message>()
  responses: ReadonlyArray<Response> = none
  completed = 0
  failed = 0
  firstFailure: { readonly node: GraphNode; readonly error: string } | undefined
  /** Why nothing more may be started, once the credits do not cover it. */
  exhausted: string | undefined
  charges: Charges = noCharges

  constructor(
    { definition, nodeRuns, run }: RunRecord,
    graph: Graph,
    frontier: Frontier,
    { limits, now, random }: Environment,
  ) {
    this.run = run
    this.definition = definition
    this.graph = graph
    this.frontier = frontier
    this.limits = limits
    this.hasLarge = nodeRuns.some(({ largeValues }) => largeValues !== null)
    this.random = random
    this.deadline = deadlineOf(definition, run.startedAt ?? now)
    for (const row of nodeRuns) this.rows.set(row.ordinal, row)
  }
}

/** True once a failure or want of credits has stopped the run: nothing new is started in it. */
export const isHalted = ({ definition, exhausted, failed }: RunState): boolean =>
  exhausted !== undefined ||
  (failed > 0 && (definition.settings.onFailure ?? "continue") !== "continue")

const bySequence = (a: NodeRun, b: NodeRun): number => (a.sequence ?? 0) - (b.sequence ?? 0)

/** The numbers of the messages that nodes of a run have taken and may still be called with. */
export const heldBy = ({ active, waiting }: Run): ReadonlyArray<number> =>
  [...active, ...waiting].flatMap(({ message }) => message ?? [])

/** Takes note of messages. Those that are known already change nothing. */
export const receive = (progress: RunState, messages: ReadonlyArray<Message>): void => {
  const unknown = messages.filter(({ number }) => number > progress.seen)
  if (unknown.length === 0) return
  progress.inbox = [...progress.inbox, ...unknown]
  progress.seen = unknown.at(-1)!.number
}

/** Forgets the messages that other runs have now; the step that gave them back is stored. */
export const forgetReturned = (progress: RunState): void => {
  const { inbox, returned } = progress
  if (returned.length === 0) return
  progress.inbox = inbox.filter(({ number }) => !returned.includes(number))
  progress.returned = none
}

/** Where a run stands, from what is stored of it. */
export const resume = (
  record: RunRecord,
  graph: Graph,
  environment: Environment,
  messages: ReadonlyArray<Message> = [],
): RunState => {
  const { run } = record
  const nodeRuns = record.nodeRuns.map(liveRow)
  const frontier = Frontier.restore(graph, nodeRuns)
  const progress = new RunState(record, graph, frontier, environment)
  // In the order in which they ended, because a failed run names the first failure.
  for (const row of nodeRuns.toSorted(bySequence)) {
    if (isNodeTerminal(row.status)) note(progress, graph.nodes[row.ordinal]!, row)
    else progress.priorAttempts.set(row.ordinal, { logs: row.logs, credits: row.credits })
  }
  restoreAttempts(progress)
  restoreWaits(progress, environment.now)
  const held = heldBy(run)
  for (const message of messages) {
    if (held.includes(message.number)) progress.held.set(message.number, message)
  }
  receive(
    progress,
    messages.filter(({ number }) => !held.includes(number)),
  )
  progress.seen = Math.max(progress.seen, run.messages)
  return progress
}

const bareInputs = ({ inputs, literals }: Bound): JsonObject =>
  Object.fromEntries(Object.entries(inputs).filter(([port]) => !literals.has(port)))

/** Binds the inputs of a node. Fails with a sentence where a port gets more than one value. */
export const readyOf = (
  { frontier, graph, hasLarge, run }: RunState,
  index: number,
  now: Timestamp,
): Result.Result<Ready, string> =>
  Result.map(boundOf(graph, frontier, index), (bound) => {
    const node = graph.nodes[index]!
    if (node.literals === undefined) return { index, inputs: bound.inputs }
    const given = (hasLarge ? givenOrMissing : givenTo)(node, bound, {
      outputOf: (id) => frontier.outputOf(graph.indexOf.get(id)!) ?? undefined,
      input: bound.input,
      values: run.values,
      // A run starts with its first step, which may bind nodes already.
      run: runScope(run.id, run.startedAt ?? now),
    })
    const isDone = "inputs" in given && Result.isSuccess(given.inputs)
    return { index, inputs: isDone ? given.inputs.success : bareInputs(bound), given }
  })

/**
 * An attempt that its process did not survive counts. It is made again, except where the type asks
 * for one at most: that one stays in progress, for the first step to end it.
 */
const restoreAttempts = (progress: RunState): void => {
  for (const active of progress.run.active) {
    const { attempt, ordinal } = active
    if (progress.graph.nodes[ordinal]!.type.delivery === "at-least-once") {
      progress.again.set(ordinal, { ...active, attempt: attempt + 1 })
      continue
    }
    const ready = readyOf(progress, ordinal, active.startedAt)
    const { inputs } = Result.getOrElse(ready, () => ({ inputs: {} }))
    progress.running.set(ordinal, { ...active, index: ordinal, inputs })
  }
}

/** When it is by the store's clock: a run that was parked until a time goes on at that time. */
export const reachedBy = ({ dueAt }: Run, now: Timestamp): Timestamp => Math.max(now, dueAt ?? now)

/** A wait for a message goes on waiting, whatever time it is: the message may be there. */
const restoreWaits = (progress: RunState, now: Timestamp): void => {
  const reached = reachedBy(progress.run, now)
  for (const waiting of progress.run.waiting) {
    if (waiting.due > reached || waiting.for !== undefined)
      progress.waiting.set(waiting.ordinal, waiting)
    else progress.again.set(waiting.ordinal, activeOf(waiting))
  }
}

/** An attempt in progress as it is stored: first what rarely differs from one to the next. */
export const activeOf = (node: ActiveNode): ActiveNode => {
  const { attempt, children, message, ordinal, startedAt, state } = node
  const active = { attempt, startedAt, ordinal }
  if (state === undefined && message === undefined) return active
  return {
    ...active,
    ...(state === undefined ? {} : { state }),
    ...(message === undefined ? {} : { message }),
    ...(children === undefined ? {} : { children }),
  }
}

/** A wait that a message has ended. Of a child that has ended, nobody will hear again. */
export const endedBy = <A extends ActiveNode>(active: A, message: Message): A => {
  const { number } = message
  const end = childEndOf(message)
  if (end === undefined) return { ...active, message: number }
  const children = active.children!.filter((id) => id !== end.runId)
  return { ...active, message: number, children }
}

/** Keeps what the end of the run will need to know of a finished node. */
export const note = (
  progress: RunState,
  node: GraphNode,
  row: Pick<NodeRun, "status" | "input" | "error">,
): void => {
  if (row.status === "COMPLETED") progress.completed += 1
  if (row.status === "FAILED") {
    progress.failed += 1
    progress.firstFailure ??= { node, error: row.error ?? "failed" }
  }
  if (node.type.role === "response") {
    const { input, status } = row
    progress.responses = [...progress.responses, { index: node.index, input, status }]
  }
}

/** True while a message can move the run: its parent may cancel it, or a node waits for one. */
export const isListening = ({ run, waiting }: RunState): boolean => {
  if (run.parent !== null) return true
  for (const wait of waiting.values()) if (wait.for !== undefined) return true
  return false
}

/** True once the run's parent has said that nobody waits for it. */
export const isCanceledByParent = ({ inbox, run }: RunState): boolean =>
  run.parent !== null && inbox.some(({ name }) => name === cancelMessage)

/** When the first of the waiting nodes goes on; `undefined` when none waits. */
export const nextDue = ({ waiting }: RunState): Timestamp | undefined => {
  let next: Timestamp | undefined
  for (const { due } of waiting.values()) if (next === undefined || due < next) next = due
  return next
}

/** The run as its store has it once every step so far is committed. */
export const recordOf = ({ definition, rows, run }: RunState): RunRecord => ({
  run,
  definition,
  nodeRuns: [...rows.values()].toSorted((left, right) => left.ordinal - right.ordinal),
})
