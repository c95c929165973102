/**
 * Runs on the wire (specification 2.4 to 2.6, 2.9 and 4.5 to 4.7): the fields of the domain's
 * schemas that the specification names, under its names.
 *
 * A time or error that is not known yet is `null`. Only a run of a single node has `singleNodeId`.
 */
import { Amount } from "@millrace/core/domain/Credits"
import { JsonObject } from "@millrace/core/domain/Json"
import { runsPerBatch } from "@millrace/core/domain/Limits"
import {
  InputOverrides,
  NodeRun as StoredNodeRun,
  Run as StoredRun,
  RunSource,
  Viewport,
} from "@millrace/core/domain/Run"
import { WebhookConfig } from "@millrace/core/domain/Webhook"
import { Node } from "@millrace/core/domain/Workflow"
import { Schema, Struct } from "effect"
import { Identifier, isStorable } from "./Text.ts"

const run = StoredRun.fields

/** A run in a listing (specification 2.4). */
export const RunItem = Schema.Struct({
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
  source: run.source,
}).annotate({ identifier: "RunItem" })
export type RunItem = typeof RunItem.Type

/** What happened to one node (specification 2.6). */
export const NodeRun = Schema.Struct(
  Struct.pick(StoredNodeRun.fields, [
    "nodeId",
    "nodeType",
    "status",
    "input",
    "output",
    "logs",
    "error",
    "startedAt",
    "finishedAt",
  ]),
).annotate({ identifier: "NodeRun" })
export type NodeRun = typeof NodeRun.Type

/** A run's input and output. */
export const RunContext = Schema.Struct({
  values: run.values,
  output: run.output,
  viewport: run.viewport,
  workflowRevision: run.workflowRevision,
}).annotate({ identifier: "RunContext" })

/** A run with its nodes (specification 2.5). */
export const RunDetail = Schema.Struct({
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
  omitted: Schema.optionalKey(
    Schema.Literal(true).annotate({
      description:
        "Present if the answer to a batch would have been too large: `context` and each node's " +
        "`input`, `output` and `logs` are null. Read the run by itself to get them.",
    }),
  ),
}).annotate({ identifier: "RunDetail" })
export type RunDetail = typeof RunDetail.Type

/** The answer to reading one run: its detail, and the fields of a listing. */
export const RunRead = Schema.Struct({
  ...Struct.omit(RunDetail.fields, ["omitted"]),
  ...RunItem.fields,
}).annotate({
  identifier: "RunRead",
})
export type RunRead = typeof RunRead.Type

/** Body of a start (specification 4.5). */
export const StartRun = Schema.Struct({
  workflowId: Identifier,
  values: Schema.optionalKey(
    JsonObject.annotate({ description: "Win over the defaults of the request node." }),
  ),
  graphInputOverrides: Schema.optionalKey(
    InputOverrides.annotate({ description: "Node id, then input port, then value." }),
  ),
  viewport: Schema.optionalKey(Viewport),
  webhook: Schema.optionalKey(WebhookConfig),
  nodeOverrides: Schema.optionalKey(
    Schema.Array(Node).annotate({ description: "Replace whole nodes by id, for this run only." }),
  ),
  source: Schema.optionalKey(RunSource),
  maxCredits: Schema.optionalKey(
    Amount.annotate({
      description: "The most that this run may cost. It fails before it would cost more.",
    }),
  ),
  singleNodeId: Schema.optionalKey(
    Schema.String.annotate({
      description: "Run this node alone, with the last stored outputs of the nodes before it.",
    }),
  ),
}).annotate({ identifier: "StartRun", closed: true })
export type StartRun = typeof StartRun.Type

/** What a start would cost, and why it would be refused. */
export const RunEstimate = Schema.Struct({
  problems: Schema.Array(Schema.String).annotate({
    description: "Every reason why the start would be refused, one sentence each.",
  }),
  estimatedCredits: run.estimatedCredits,
  nodes: Schema.Array(
    Schema.Struct({
      nodeId: Schema.String,
      nodeType: Schema.String,
      credits: run.estimatedCredits,
    }),
  ).annotate({ description: "Every node that may execute, with its cost." }),
}).annotate({ identifier: "RunEstimate" })
export type RunEstimate = typeof RunEstimate.Type

/** The answer to a start. */
export const StartedRun = Schema.Struct({ runId: run.id }).annotate({ identifier: "StartedRun" })

/** Body of a batch read (specification 4.7). */
export const RunBatch = Schema.Struct({
  ids: Schema.Array(Schema.String.check(isStorable)).check(
    Schema.isMaxLength(runsPerBatch, { expected: `at most ${runsPerBatch} ids` }),
  ),
}).annotate({ identifier: "RunBatch" })

/** The answer to a batch read: the known runs, in the order of the first mention of their ids. */
export const RunDetails = Schema.Struct({ runs: Schema.Array(RunDetail) }).annotate({
  identifier: "RunDetails",
})
