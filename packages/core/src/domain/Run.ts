/**
 * Runs and node runs: what happened when a workflow was executed (specification 2.4 to 2.6, 3).
 *
 * Guarantees: a terminal status never changes. Leaves out: deciding the next status; pure functions
 * of the engine do that.
 */
import { Schema } from "effect"
import { MicroCredits } from "./Credits.ts"
import { AccountId, KeyId, RunId, RunnerId, TriggerId, WorkflowId } from "./Id.ts"
import { Json, JsonObject } from "./Json.ts"
import { PlacedValues } from "./LargeValue.ts"
import { Loss } from "./Loss.ts"
import { Prices } from "./Prices.ts"
import { Priority } from "./Priority.ts"
import { never, Timestamp } from "./Timestamp.ts"
import { Webhook } from "./Webhook.ts"
import { Edge, Node, WorkflowSettings } from "./Workflow.ts"
import type { VersionChoice } from "./WorkflowVersion.ts"

/** The states of a run (specification, part 3). */
export const RunStatus = Schema.Literals(["QUEUED", "RUNNING", "COMPLETED", "FAILED", "CANCELED"])
export type RunStatus = typeof RunStatus.Type

/** The states of a node within a run. */
export const NodeRunStatus = Schema.Literals([
  "PENDING",
  "RUNNING",
  "WAITING",
  "COMPLETED",
  "FAILED",
  "SKIPPED",
  "CANCELED",
])
export type NodeRunStatus = typeof NodeRunStatus.Type

/** True for a run that will never change again. */
export const isTerminal = (status: RunStatus): boolean =>
  status !== "QUEUED" && status !== "RUNNING"

/** True for a node run that will never change again. */
export const isNodeTerminal = (status: NodeRunStatus): boolean =>
  status !== "PENDING" && status !== "RUNNING" && status !== "WAITING"

/**
 * The id of the first rerun of a run. It is always the same, so a store, which has an id once only,
 * cannot be made to start it twice. Further reruns have ids of their own.
 */
export const rerunIdOf = (id: RunId): RunId => {
  const [, own = id, count = "0"] = /^(.*)-r([0-9]+)$/.exec(id) ?? []
  return RunId.make(`${own}-r${Number(count) + 1}`)
}

/**
 * `full`: the whole workflow. `single`: one node of it. `rerun`: what of an earlier run has to be
 * executed anew; the rest is taken over. `item`: the body of a loop, for one item or once more.
 */
export const RunMode = Schema.Literals(["full", "single", "rerun", "item"])
export type RunMode = typeof RunMode.Type

/** Who a start can say that it comes from (specification 4.5). */
export const StartSource = Schema.Literals(["ui", "mcp", "api"])

/** Who asked for the run. Only the engine itself starts one by what is no {@link StartSource}. */
export const RunSource = Schema.Literals([
  ...StartSource.literals,
  "schedule",
  "webhook",
  "run_end",
])
export type RunSource = typeof RunSource.Type

/** The part of the canvas that the client showed. It is stored and returned, without effect. */
export const Viewport = Schema.Struct({
  x: Schema.optionalKey(Schema.Finite),
  y: Schema.optionalKey(Schema.Finite),
  zoom: Schema.optionalKey(Schema.Finite),
})
export type Viewport = typeof Viewport.Type

/** Input values for single nodes in one run: node id, then input port. */
export const InputOverrides = Schema.Record(Schema.String, JsonObject)
export type InputOverrides = typeof InputOverrides.Type

/** What nodes put out without being executed, in one run: node id, then output port. */
export const PinnedOutputs = Schema.Record(Schema.String, JsonObject)
export type PinnedOutputs = typeof PinnedOutputs.Type

/** Of which loop a graph is the body, and which of its nodes are only there to be read. */
const BodyOf = Schema.Struct({
  loop: Schema.String,
  /** Nodes whose outputs the start gives; the loop is one of them. */
  given: Schema.Array(Schema.String),
})

/** A workflow that nodes call, as it was when the run was started. */
export const CalledWorkflow = Schema.Struct({
  name: Schema.String,
  revision: Schema.Int,
  /** The published version that it was; absent: the draft. */
  version: Schema.optionalKey(Schema.Int),
  nodes: Schema.Array(Node),
  edges: Schema.Array(Edge),
  settings: WorkflowSettings,
})
export interface CalledWorkflow extends Schema.Schema.Type<typeof CalledWorkflow> {}

/**
 * The workflows that nodes call by an id that is drawn, and those that these call: by id, and where
 * a node asks for the draft or for a version, by both (`calledKey`).
 */
export const CalledWorkflows = Schema.Record(Schema.String, CalledWorkflow)
export interface CalledWorkflows extends Schema.Schema.Type<typeof CalledWorkflows> {}

/** The name of a workflow among those that are called, with what a node asks of it. */
export const calledKey = (workflowId: string, version: VersionChoice | undefined): string => {
  if (version !== undefined) return `${workflowId}@${version}`
  // No workflow has such an id, but a node may name it: it must not be taken for another one.
  return workflowId.includes("@") ? `${workflowId}@` : workflowId
}

/**
 * The settings of a workflow, with what else was in force when the run was started; of the body of
 * a loop, also whose it is.
 */
const DefinitionSettings = Schema.Struct({
  ...WorkflowSettings.fields,
  prices: Schema.optionalKey(Prices),
  /** Absent: it calls none. */
  workflows: Schema.optionalKey(CalledWorkflows),
  body: Schema.optionalKey(BodyOf),
})
export type DefinitionSettings = typeof DefinitionSettings.Type

/**
 * The graph a run executes, frozen at its start: later edits of the workflow never reach it. Runs
 * of the same content share one definition, so `id` names content, not a run. The nodes of the run
 * come first. Those in the bodies of its loops follow; they name their loops as `parentId`.
 */
export const Definition = Schema.Struct({
  id: Schema.String,
  nodes: Schema.Array(Node),
  edges: Schema.Array(Edge),
  settings: DefinitionSettings,
})
export interface Definition extends Schema.Schema.Type<typeof Definition> {}

/** How the id of a definition ends whose texts may hold expressions. */
const evaluated = "+e"

/** The id of a definition of this content, whose texts may hold expressions. */
export const evaluatedId = (content: string): string => content + evaluated

/** How the content of a definition ends that has bodies of loops. */
export const withBodies = (content: string): string => `${content}+b`

/** The id of the definition of a loop's body. All runs of that body share it. */
export const bodyId = ({ id }: Pick<Definition, "id">, loop: string): string =>
  evaluatedId(`${isEvaluated({ id }) ? id.slice(0, -evaluated.length) : id}/${loop}`)

/** True for a definition that several runs may have. */
export const isShared = ({ id }: Pick<Definition, "id">): boolean => /[@/]/.test(id)

/** The nodes of a run of this definition, without those in the bodies of its loops. */
export const nodesOutsideLoops = ({ nodes }: Pick<Definition, "nodes">): ReadonlyArray<Node> =>
  nodes.every(({ parentId }) => parentId === undefined)
    ? nodes
    : nodes.filter(({ parentId }) => parentId === undefined)

/**
 * True if the texts of a definition may hold expressions. Definitions that were frozen before there
 * were any have other ids, and keep their texts.
 */
export const isEvaluated = ({ id }: Pick<Definition, "id">): boolean => id.endsWith(evaluated)

/** One line of a node's log. */
export const LogLine = Schema.Struct({
  at: Timestamp,
  level: Schema.Literals(["debug", "info", "warn", "error"]),
  message: Schema.String,
  attempt: Schema.Int,
  data: Schema.optionalKey(Json),
}).annotate({ identifier: "LogLine" })
export type LogLine = typeof LogLine.Type

/** The ids of runs that a node has started, and of whose ends it has not heard. */
const Children = Schema.optionalKey(Schema.Array(RunId))

/** An attempt in progress: recorded before its handler is called. */
export const ActiveNode = Schema.Struct({
  /** The node's place in the run. */
  ordinal: Schema.Int,
  /** From 1. */
  attempt: Schema.Int,
  /** When the node's first attempt began. */
  startedAt: Timestamp,
  /** The state with which the handler suspended itself; absent if it did not. */
  state: Schema.optionalKey(Json),
  /** The number of the message that ended its wait; absent if none did. */
  message: Schema.optionalKey(Schema.Int),
  children: Children,
})
export type ActiveNode = typeof ActiveNode.Type

/** A node between two attempts, or suspended within one. Holds no slot and no memory. */
export const WaitingNode = Schema.Struct({
  /** The node's place in the run. */
  ordinal: Schema.Int,
  /** The number of the next attempt; of a suspended node, that of its current attempt. */
  attempt: Schema.Int,
  startedAt: Timestamp,
  /** When the wait ends; {@link never} if only a message ends it. */
  due: Timestamp,
  /** The name of a message that also ends the wait; absent if none does. */
  for: Schema.optionalKey(Schema.String),
  /** The correlation of signals to the workflow that also end the wait; absent if none do. */
  correlation: Schema.optionalKey(Schema.String),
  /** The rule that a message has to pass to end the wait; absent if all do. */
  filter: Schema.optionalKey(JsonObject),
  /** There if the wait takes all ends of children that are there, and not one of them. */
  together: Schema.optionalKey(Schema.Literal(true)),
  state: Schema.optionalKey(Json),
  /** The number of the message that the node has taken; its next attempt gets it. */
  message: Schema.optionalKey(Schema.Int),
  children: Children,
})
export type WaitingNode = typeof WaitingNode.Type

/** Which node of which run started a child run. */
export const ParentRun = Schema.Struct({
  runId: RunId,
  nodeId: Schema.String,
  /** Which of the node's children it is, from 0. */
  index: Schema.Int,
  /** The first run of the tree; it has no parent. */
  rootRunId: RunId,
  /** 1 for a child of the root. */
  depth: Schema.Int,
})
export type ParentRun = typeof ParentRun.Type

/** The run whose end started a run, by a trigger. */
export const RunBefore = Schema.Struct({
  runId: RunId,
  /** How many runs have followed each other: 1 for the first that a run's end has started. */
  depth: Schema.Int,
})
export type RunBefore = typeof RunBefore.Type

/** One execution of a workflow. */
export const Run = Schema.Struct({
  id: RunId,
  accountId: AccountId,
  workflowId: WorkflowId,
  workflowName: Schema.String,
  workflowRevision: Schema.Int,
  /** The published version that it was started from; `null` if it was the draft. */
  workflowVersion: Schema.NullOr(Schema.Int),
  definitionId: Schema.String,
  /** The engine's execution, stable across recovery (`triggerRunId` on the wire). */
  executionId: Schema.String,
  status: RunStatus,
  mode: RunMode,
  source: RunSource,
  singleNodeId: Schema.NullOr(Schema.String),
  /** The run of which it is a rerun; `null` if it is none. */
  rerunOf: Schema.NullOr(RunId),
  /** The node that started it; `null` if no run did. */
  parent: Schema.NullOr(ParentRun),
  /** The API key that started it; `null` if none did. */
  keyId: Schema.NullOr(KeyId),
  /** The trigger that started it; `null` if none did. */
  triggerId: Schema.NullOr(TriggerId),
  /** The run whose end it follows; `null` if it follows none. */
  after: Schema.NullOr(RunBefore),
  /** Among the waiting runs of its account, a higher one is claimed earlier. */
  priority: Priority,
  /**
   * When it starts, if it was to start later than it was accepted; else `null`. Until then it is
   * QUEUED, `dueAt` is this time, and nothing is reserved for it.
   */
  startAt: Schema.NullOr(Timestamp),
  /**
   * Of the runs of its workflow with this key, only `concurrency` hold it at once. A run is given
   * the key before it starts, and holds it until it has ended. `null`: it waits for no other run.
   */
  concurrencyKey: Schema.NullOr(Schema.String),
  /** `null` for a run without a key. */
  concurrency: Schema.NullOr(Schema.Int),
  createdAt: Timestamp,
  startedAt: Schema.NullOr(Timestamp),
  finishedAt: Schema.NullOr(Timestamp),
  /** One sentence: the first node that failed, and how many more. */
  error: Schema.NullOr(Schema.String),
  values: JsonObject,
  inputOverrides: InputOverrides,
  viewport: Schema.NullOr(Viewport),
  /** Where its events are sent. */
  webhook: Schema.NullOr(Webhook),
  output: Schema.NullOr(Json),
  /** The large values of `output`. */
  largeValues: PlacedValues,
  estimatedCredits: MicroCredits,
  /** The most that it may cost; `null`: its account's credits are the only bound. */
  maxCredits: Schema.NullOr(MicroCredits),
  /** What it still has reserved on its account; 0 once it has ended. */
  heldCredits: MicroCredits,
  actualCredits: MicroCredits,
  /** What its children have cost that have ended, with their own children. */
  childCredits: MicroCredits,
  /** Node runs that started. */
  nodeRunCount: Schema.Int,
  /** Attempts that started, of all nodes together. */
  attempts: Schema.Int,
  /** Attempts in progress; of an ended run, the attempts that its end interrupted. */
  active: Schema.Array(ActiveNode),
  /** Nodes that wait for a time, a message, or both. */
  waiting: Schema.Array(WaitingNode),
  /**
   * When a parked run goes on: it has no owner until then, or until a message wakes it.
   * {@link never} if only a message wakes it. `null` for a run that is not parked. A run that is
   * still QUEUED starts then; no message wakes it.
   */
  dueAt: Schema.NullOr(Timestamp),
  /** Number of the last event; events of a run are numbered from 1 without gaps. */
  sequence: Schema.Int,
  /** Number of commits so far; every commit moves it by one. */
  revision: Schema.Int,
  /** Raised by every claim; a write that carries an older fence is refused. */
  fence: Schema.Int,
  /** The owners that it has lost since its last progress, the latest last; see {@link Loss}. */
  losses: Schema.Array(Loss),
  owner: Schema.NullOr(RunnerId),
  /** The number of the last message in its inbox; 0 if none was sent. Only senders change it. */
  messages: Schema.Int,
})
export type Run = typeof Run.Type

/** The fields that all new runs have in common: nothing has happened, and there is no owner. */
export const notStarted = {
  status: "QUEUED",
  startedAt: null,
  finishedAt: null,
  error: null,
  output: null,
  largeValues: null,
  heldCredits: 0,
  actualCredits: 0,
  childCredits: 0,
  nodeRunCount: 0,
  attempts: 0,
  active: [],
  waiting: [],
  dueAt: null,
  sequence: 0,
  revision: 0,
  fence: 0,
  losses: [],
  owner: null,
  messages: 0,
} satisfies Partial<Run>

/** True for a new run that cannot start at once, whoever has room: it waits for its time or key. */
export const waitsToStart = ({ concurrencyKey, startAt }: Run): boolean =>
  startAt !== null || concurrencyKey !== null

/** True for a new run that has to wait until it is given its key. */
export const needsKey = ({ concurrencyKey, owner, status }: Run): boolean =>
  concurrencyKey !== null && status === "QUEUED" && owner === null

/**
 * What happened to one node in a run. Its row is stored when the node finishes, and whenever it has
 * to wait, so that logs and charges of earlier attempts survive the process. {@link nodeRunsOf}
 * derives the state of a node without a row from the run.
 */
export const NodeRun = Schema.Struct({
  nodeId: Schema.String,
  nodeType: Schema.String,
  /** The node's place in the run: topological, then by position on the canvas. */
  ordinal: Schema.Int,
  status: NodeRunStatus,
  /** Number of the current or last attempt, from 1; 0 when none started. */
  attempt: Schema.Int,
  input: Schema.NullOr(JsonObject),
  output: Schema.NullOr(JsonObject),
  /** The large values of `input` and `output`. */
  largeValues: PlacedValues,
  logs: Schema.NullOr(Schema.Array(LogLine)),
  error: Schema.NullOr(Schema.String),
  credits: MicroCredits,
  /** The number of the event of its end; `null` if there is none. */
  sequence: Schema.NullOr(Schema.Int),
  startedAt: Schema.NullOr(Timestamp),
  finishedAt: Schema.NullOr(Timestamp),
})
export type NodeRun = typeof NodeRun.Type

/** A run with its definition and node runs, for a detail view and for recovery. */
export interface RunRecord {
  readonly run: Run
  readonly definition: Definition
  /** In the order of `ordinal`; nodes that were not reached are absent. */
  readonly nodeRuns: ReadonlyArray<NodeRun>
  /** True if the payloads were left out because they are too large; see `RunPayload`. */
  readonly omitted?: boolean
}

/** The children of a run of whose ends it has not heard. */
export const childrenOf = ({
  active,
  waiting,
}: Pick<Run, "active" | "waiting">): ReadonlyArray<RunId> =>
  [...active, ...waiting].flatMap(({ children }) => children ?? [])

/**
 * True for a node whose output the start of its run gave, or took over from an earlier run: it has
 * completed without an attempt.
 */
export const isPinned = ({ attempt, status }: Pick<NodeRun, "attempt" | "status">): boolean =>
  status === "COMPLETED" && attempt === 0

/**
 * The number of a node's current attempt, or of its last one if it waits. If a process died during
 * an attempt, only the number of the next one is stored.
 */
const attemptOf = (
  { active, waiting }: Run,
  ordinal: number,
  row: NodeRun | undefined,
): (Pick<ActiveNode, "attempt" | "startedAt"> & { readonly status: NodeRunStatus }) | undefined => {
  const running = active.find((each) => each.ordinal === ordinal)
  if (running !== undefined) return { ...running, status: "RUNNING" }
  const next = waiting.find((each) => each.ordinal === ordinal)
  if (next === undefined) return undefined
  const attempt = next.attempt === row?.attempt ? row.attempt : next.attempt - 1
  return { attempt, startedAt: next.startedAt, status: "WAITING" }
}

/** The node run of a node that has not finished: in progress, waiting, not reached, or canceled. */
const unfinished = (record: RunRecord, ordinal: number, row: NodeRun | undefined): NodeRun => {
  const node = record.definition.nodes[ordinal]!
  const { finishedAt, status } = record.run
  const attempt = attemptOf(record.run, ordinal, row)
  const open = attempt?.status ?? row?.status ?? "PENDING"
  const known = {
    status: isTerminal(status) ? ("CANCELED" as const) : open,
    finishedAt: isTerminal(status) ? finishedAt : null,
  }
  if (row !== undefined) return { ...row, ...known, attempt: attempt?.attempt ?? row.attempt }
  return {
    ...known,
    nodeId: node.id,
    nodeType: node.type,
    ordinal,
    attempt: attempt?.attempt ?? 0,
    input: null,
    output: null,
    largeValues: null,
    logs: null,
    error: null,
    credits: 0,
    sequence: null,
    startedAt: attempt?.startedAt ?? null,
  }
}

/**
 * Every node of a run in order: topological, then by position on the canvas (a definition's nodes
 * are frozen in that order). Nodes in the body of a loop belong to the runs of its items. A node
 * that has not finished is RUNNING, WAITING or PENDING while the run is open, and CANCELED once it
 * has ended.
 */
export const nodeRunsOf = (record: RunRecord): ReadonlyArray<NodeRun> => {
  const rows = new Map(record.nodeRuns.map((row) => [row.nodeId, row]))
  return nodesOutsideLoops(record.definition).map(({ id }, ordinal) => {
    const row = rows.get(id)
    return row !== undefined && isNodeTerminal(row.status) ? row : unfinished(record, ordinal, row)
  })
}

/** When a WAITING node goes on; `null` for any other, and if only a message ends its wait. */
export const dueAtOf = (
  { waiting }: Pick<Run, "waiting">,
  { ordinal, status }: Pick<NodeRun, "ordinal" | "status">,
): Timestamp | null => {
  const due = waiting.find((each) => each.ordinal === ordinal)?.due
  return status !== "WAITING" || due === undefined || due === never ? null : due
}

/** Why a node was skipped, in one clause; `null` for any other node, and without its log. */
export const skipReasonOf = ({ logs, status }: Pick<NodeRun, "logs" | "status">): string | null =>
  status === "SKIPPED" ? (logs?.at(-1)?.message.replace(/^Skipped: /, "") ?? null) : null
