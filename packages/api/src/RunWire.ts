/**
 * Runs on the wire (specification 2.4 to 2.6, 2.9 and 4.5 to 4.7): the fields of the domain's
 * schemas that the specification names, under its names.
 *
 * A time or error that is not known yet is `null`. Only a run of a single node has `singleNodeId`.
 */
import { Amount } from "@millrace/core/domain/Credits"
import { Json, JsonObject } from "@millrace/core/domain/Json"
import { PlacedValue } from "@millrace/core/domain/LargeValue"
import {
  itemsPerPage,
  problemsListed,
  runsPerBatch,
  searchLength,
} from "@millrace/core/domain/Limits"
import { Priority } from "@millrace/core/domain/Priority"
import {
  InputOverrides,
  NodeRun as StoredNodeRun,
  PinnedOutputs,
  ParentRun as StoredParent,
  RunBefore as StoredBefore,
  Run as StoredRun,
  StartSource,
  Viewport,
} from "@millrace/core/domain/Run"
import { WebhookConfig } from "@millrace/core/domain/Webhook"
import { isAtMost } from "@millrace/core/domain/TextLength"
import { Timestamp } from "@millrace/core/domain/Timestamp"
import {
  ConcurrencyKey,
  DrawnNode,
  Edge,
  Node,
  WorkflowSettings,
} from "@millrace/core/domain/Workflow"
import { VersionChoice } from "@millrace/core/domain/WorkflowVersion"
import { Schema, Struct } from "effect"
import { body, object, optional } from "./internal/Words.ts"
import { InputPort, OutputPort } from "./NodeTypeWire.ts"
import { defaultPageSize } from "./PageQuery.ts"
import { CorrelationText, Identifier, isStorable } from "./Text.ts"
import { StartVersion } from "./VersionWire.ts"

const run = StoredRun.fields

/** Which node of which run started a run. */
export const ParentRun = object("ParentRun", {
  runId: StoredParent.fields.runId,
  nodeId: StoredParent.fields.nodeId,
  index: StoredParent.fields.index.annotate({
    description: "Which of the node's children it is, from 0.",
  }),
  rootRunId: StoredParent.fields.rootRunId.annotate({
    description: "The first run of the tree; it has no parent.",
  }),
  depth: StoredParent.fields.depth.annotate({ description: "1 for a child of the root." }),
})

/** The run whose end started a run. */
export const RunBefore = object("RunBefore", {
  runId: StoredBefore.fields.runId,
  depth: StoredBefore.fields.depth.annotate({
    description:
      "How many runs have followed each other: 1 for the first that a run's end started.",
  }),
})

/** A run in a listing (specification 2.4). */
export const RunItem = object("RunItem", {
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
  singleNodeId: Schema.optionalKey(Schema.String),
  rerunOf: optional(Schema.String, "The run of which it is a rerun."),
  parent: optional(ParentRun, "The node that started it; absent if no run did."),
  childCredits: optional(
    run.actualCredits,
    "What its child runs have cost that have ended, with their own; absent if nothing. It is no " +
      "part of `actualCredits`.",
  ),
  source: run.source,
  triggerId: optional(Schema.String, "The trigger that started it; absent if none did."),
  workflowVersion: optional(
    Schema.Int,
    "The published version that it was started from; absent if it was started from the draft.",
  ),
  after: optional(RunBefore, "The run whose end it follows; absent if it follows none."),
  priority: optional(run.priority, "Its priority among the waiting runs; absent if it is 0."),
  startAt: optional(Timestamp, "When it starts, or started; absent if that was not put off."),
  concurrencyKey: optional(
    Schema.String,
    "It waits, or waited, until fewer than `concurrency` runs of its workflow had this key.",
  ),
  concurrency: optional(Schema.Int, "Present beside `concurrencyKey`."),
})
export type RunItem = typeof RunItem.Type

const largeValues = optional(
  Schema.Array(PlacedValue),
  "Values that are stored beside the run because they are large. `at` is a JSON Pointer: there, " +
    "this object has the value, or null if the answer would be too large with it. Read it at " +
    "`/runs/{id}/values/{valueId}`.",
)

const bytes = (what: string) =>
  Schema.Int.annotate({ description: `Bytes of JSON text of ${what}; 0 for null.` })

/** What happened to one node (specification 2.6). */
export const NodeRun = object("NodeRun", {
  ...Struct.pick(StoredNodeRun.fields, [
    "nodeId",
    "nodeType",
    "status",
    "input",
    "output",
    "logs",
    "error",
    "startedAt",
    "finishedAt",
    "attempt",
    "credits",
  ]),
  dueAt: Schema.NullOr(Timestamp).annotate({
    description: "When a WAITING node goes on; null if only a message ends its wait.",
  }),
  skipReason: Schema.NullOr(Schema.String).annotate({
    description: "Why a SKIPPED node was skipped; null for any other, and beside `omitted`.",
  }),
  pinned: optional(
    Schema.Literal(true),
    "Present if the start of the run gave the output: the node was not executed and cost " +
      "nothing. Its log says which key or session gave it.",
  ),
  largeValues,
  sizes: optional(
    Schema.Struct({
      input: bytes("its input"),
      output: bytes("its output"),
      logs: bytes("its logs"),
    }),
    "Present in a summary, which has null for `input`, `output` and `logs`.",
  ),
})
export type NodeRun = typeof NodeRun.Type

/** What became of one item of a loop: the run that executed it. */
export const LoopItem = object("LoopItem", {
  index: StoredParent.fields.index.annotate({
    description: "The number of the item, or of the batch, from 0.",
  }),
  runId: run.id,
  status: run.status,
  output: run.output.annotate({ description: "Its result; null until it has COMPLETED." }),
  largeValues,
  error: run.error,
  startedAt: run.startedAt,
  finishedAt: run.finishedAt,
})
export type LoopItem = typeof LoopItem.Type

/** A run's input and output. */
export const RunContext = object("RunContext", {
  values: run.values,
  output: run.output,
  largeValues,
  viewport: run.viewport,
  workflowRevision: run.workflowRevision,
  workflowVersion: Schema.optionalKey(Schema.Int),
})

/** A run with its nodes (specification 2.5). */
export const RunDetail = object("RunDetail", {
  id: run.id,
  status: run.status,
  workflowId: run.workflowId,
  triggerRunId: run.executionId,
  createdAt: run.createdAt,
  startedAt: run.startedAt,
  finishedAt: run.finishedAt,
  error: run.error,
  context: Schema.NullOr(RunContext),
  nodeRuns: Schema.Array(NodeRun),
  omitted: optional(
    Schema.Literal(true),
    "Present if the answer to a batch would have been too large: `context` and each node's " +
      "`input`, `output` and `logs` are null. Read the run by itself to get them.",
  ),
})
export type RunDetail = typeof RunDetail.Type

/** The answer to reading one run: its detail, and the fields of a listing. */
export const RunRead = object("RunRead", {
  ...Struct.omit(RunDetail.fields, ["omitted"]),
  ...RunItem.fields,
  sizes: optional(
    Schema.Struct({ values: bytes("its values"), output: bytes("its output") }),
    "Present in a summary, where `context` is null.",
  ),
})
export type RunRead = typeof RunRead.Type

/** The graph that a run executes, as it was when the run was started. */
export const RunDefinition = object("RunDefinition", {
  workflowId: run.workflowId,
  workflowName: run.workflowName,
  workflowRevision: run.workflowRevision,
  workflowVersion: Schema.optionalKey(Schema.Int),
  viewport: run.viewport,
  nodes: Schema.Array(Node).annotate({
    description: "In the order of execution; without what an editor adds to nodes.",
  }),
  edges: Schema.Array(Edge),
  settings: WorkflowSettings,
  ports: Schema.Array(
    Schema.Struct({
      nodeId: Schema.String,
      inputPorts: Schema.Array(InputPort),
      outputPorts: Schema.Array(OutputPort),
    }),
  ).annotate({
    description: "The ports of each node after mode and literals; none for types unknown now.",
  }),
})
export type RunDefinition = typeof RunDefinition.Type

/** Body of a start (specification 4.5). */
export const StartRun = Schema.Struct({
  workflowId: Identifier,
  version: Schema.optionalKey(StartVersion),
  values: optional(JsonObject, "Win over the defaults of the request node."),
  graphInputOverrides: optional(InputOverrides, "Node id, then input port, then value."),
  viewport: Schema.optionalKey(Viewport),
  webhook: Schema.optionalKey(WebhookConfig),
  nodeOverrides: optional(Schema.Array(DrawnNode), "Replace whole nodes by id, for this run only."),
  pinnedOutputs: optional(
    PinnedOutputs,
    "Node id, then output port, then value: these nodes complete at once with these outputs, are " +
      "not executed, and cost nothing. In a run of a single node, they stand for what the nodes " +
      "before it put out last.",
  ),
  source: Schema.optionalKey(StartSource),
  maxCredits: optional(
    Amount,
    "The most that this run may cost. It fails before it would cost more.",
  ),
  singleNodeId: optional(
    Schema.String,
    "Run this node alone, with the last stored outputs of the nodes before it.",
  ),
  priority: optional(
    Priority,
    "From -10 to 10; 0 by default. Of the waiting runs of an account, one is started as if it " +
      "had waited a minute longer for each step of its priority. Child runs have that of their " +
      "parent.",
  ),
  startAt: optional(
    Timestamp,
    "When to start, at most a year ahead; a time that has passed is now. Until then the run is " +
      "QUEUED. Its credits are reserved when it starts; if they are not covered, it is FAILED.",
  ),
  whenFull: optional(
    Schema.Literals(["wait", "refuse"]),
    "`refuse`: answer 429 with the code `runs_full` and start nothing where the run would have " +
      "to wait, because as many as may are at work, or have its concurrency key. `wait`, by " +
      "default: it is QUEUED. Of starts at the same moment, one may wait all the same.",
  ),
  concurrencyKey: optional(
    ConcurrencyKey,
    "Wait while another run of the workflow has this key. A text, which may have plain paths of " +
      "the values: `{{ values.customer }}`. The setting of the workflow by default; its " +
      "`concurrency` says how many runs may have a key at once.",
  ),
}).annotate({ identifier: "StartRun", closed: true })
export type StartRun = typeof StartRun.Type

/** Body of a rerun. */
export const RerunRun = Schema.Struct({
  from: optional(
    Schema.Array(Schema.String),
    "Nodes to execute anew, with all that follows them, beside those that have not completed.",
  ),
  definition: optional(
    Schema.Literals(["same", "current"]),
    "`same`, the default: the graph of the earlier run. `current`: what a start would take now.",
  ),
  version: optional(
    VersionChoice,
    "With `current`: the draft, or the version of this number, as at a start.",
  ),
  ...Struct.pick(StartRun.fields, ["nodeOverrides", "pinnedOutputs", "maxCredits"]),
  priority: optional(Priority, "As for a start; that of the earlier run by default."),
  startAt: StartRun.fields.startAt,
}).annotate({ identifier: "RerunRun", closed: true })
export type RerunRun = typeof RerunRun.Type

/** One problem or warning, and its place in the graph. */
export const Problem = object("Problem", {
  message: Schema.String.annotate({ description: "One sentence that names node, edge and port." }),
  nodeId: Schema.optionalKey(Schema.String),
  edgeId: Schema.optionalKey(Schema.String),
  port: Schema.optionalKey(Schema.String),
  line: optional(Schema.Int, "Of JavaScript in several lines: its line, from 1."),
  column: optional(Schema.Int, "Of an expression: where in its text, or line, from 1."),
})

/** What a start would cost, and why it would be refused. */
export const RunEstimate = object("RunEstimate", {
  problems: Schema.Array(Problem).annotate({
    description: `Why the start would be refused; at most ${problemsListed} are listed.`,
  }),
  estimatedCredits: run.estimatedCredits,
  nodes: Schema.Array(
    Schema.Struct({
      nodeId: Schema.String,
      nodeType: Schema.String,
      credits: run.estimatedCredits,
    }),
  ).annotate({ description: "Every node that may execute, with its cost." }),
})
export type RunEstimate = typeof RunEstimate.Type

/** What a rerun would do. */
export const RerunPlan = object("RerunPlan", {
  ...RunEstimate.fields,
  anew: Schema.Array(
    Schema.Struct({
      nodeId: Schema.String,
      reason: Schema.Literals(["asked", "unfinished", "new", "changed", "approval", "follows"]),
      because: optional(
        Schema.String,
        "Of `follows`: the node before it. Of `unfinished`: the status of the node.",
      ),
    }),
  ).annotate({ description: "Nodes that are executed anew or skipped, in their order, and why." }),
  takenOver: Schema.Array(Schema.String).annotate({
    description: "Nodes whose outputs are taken over.",
  }),
})
export type RerunPlan = typeof RerunPlan.Type

/** Body of reruns of runs that have failed. */
export const RerunFailed = body("RerunFailed", {
  workflowId: optional(Identifier, "Only runs of this workflow."),
  from: optional(Timestamp, "Only runs that were created then or later."),
  to: optional(Timestamp, "Only runs that were created before."),
  error: optional(
    Schema.String.check(Schema.isMinLength(1), isAtMost(searchLength), isStorable),
    "Only runs whose error has this part, in any case.",
  ),
  definition: RerunRun.fields.definition,
  limit: optional(
    Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: itemsPerPage })),
    `How many failed runs to look at, 1 to ${itemsPerPage}; ${defaultPageSize} by default.`,
  ),
  cursor: optional(
    Schema.String.check(Schema.isMinLength(1)),
    "The `nextCursor` of an answer, to go on behind it. It stands for its filter.",
  ),
})

/** What became of runs that have failed. */
export const RerunBatch = object("RerunBatch", {
  started: Schema.Array(Schema.Struct({ runId: run.id, rerunOf: run.id })).annotate({
    description: "The runs that were started, and of which run each is a rerun.",
  }),
  leftOut: Schema.Array(
    Schema.Struct({
      runId: run.id,
      reason: Schema.Literals(["rerun", "refused"]),
      rerunId: Schema.optionalKey(run.id),
      message: Schema.optionalKey(Schema.String),
    }),
  ).annotate({
    description:
      "The failed runs that were not started again. `rerun`: it has one, `rerunId`. `refused`: " +
      "`message` says why.",
  }),
  nextCursor: Schema.NullOr(Schema.String).annotate({
    description: "Goes on behind these runs; `null` at the end.",
  }),
})

/** The answer to a start. */
export const StartedRun = object("StartedRun", { runId: run.id })

/** Body of a batch read (specification 4.7). */
export const RunBatch = body("RunBatch", {
  ids: Schema.Array(Schema.String.check(isStorable)).check(
    Schema.isMaxLength(runsPerBatch, { expected: `at most ${runsPerBatch} ids` }),
  ),
})

/** The answer to a batch read: the known runs, in the order of the first mention of their ids. */
export const RunDetails = object("RunDetails", { runs: Schema.Array(RunDetail) })

/** Body of a signal to a run. */
export const SendSignal = body("SendSignal", {
  payload: optional(Json, "What the waiting node puts out; `null` by default."),
})

/** Body of a signal to a workflow. */
export const SendWorkflowSignal = body("SendWorkflowSignal", {
  correlation: CorrelationText.annotate({
    description: "A run gets the signal whose node waits with the same correlation.",
  }),
  payload: optional(Json, "What the waiting node puts out; `null` by default."),
})

/** The answer to a signal to a workflow. */
export const SentWorkflowSignal = object("SentWorkflowSignal", {
  runId: Schema.NullOr(run.id).annotate({
    description: "The run that has it; `null` while it is kept until a run waits for it.",
  }),
})

/** The answer to a signal. */
export const SentSignal = object("SentSignal", {
  runId: run.id,
  number: Schema.Int.annotate({ description: "Its place among what the run was sent, from 1." }),
})
