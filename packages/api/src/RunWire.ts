/**
 * Runs as they travel (specification 2.4 to 2.6, 2.9 and 4.5 to 4.7): the domain's schemas, renamed
 * and cut to what the specification names.
 *
 * Not yet known times and errors are `null`; `singleNodeId` is there only where it applies.
 */
import { Amount } from "@millrace/core/domain/Credits"
import { JsonObject } from "@millrace/core/domain/Json"
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

/** What a run was given and what it gave. */
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
        "There where the answer to a batch would have become too large: `context` and each " +
        "node's `input`, `output` and `logs` are null. Read the run by itself to get them.",
    }),
  ),
}).annotate({ identifier: "RunDetail" })
export type RunDetail = typeof RunDetail.Type

/** What reading one run gives: its detail and what a listing shows of it. */
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
    JsonObject.annotate({ description: "Over the stored defaults of the request node." }),
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
      description: "The most that this run may cost; it fails before it would cost more.",
    }),
  ),
  singleNodeId: Schema.optionalKey(
    Schema.String.annotate({
      description: "Run this node alone, on what the nodes before it last put out.",
    }),
  ),
}).annotate({ identifier: "StartRun", closed: true })
export type StartRun = typeof StartRun.Type

/** What a start would cost, and what stands against it. */
export const RunEstimate = Schema.Struct({
  problems: Schema.Array(Schema.String).annotate({
    description: "Everything that stands against the start, a sentence each.",
  }),
  estimatedCredits: run.estimatedCredits,
  nodes: Schema.Array(
    Schema.Struct({
      nodeId: Schema.String,
      nodeType: Schema.String,
      credits: run.estimatedCredits,
    }),
  ).annotate({ description: "Of each node that may execute." }),
}).annotate({ identifier: "RunEstimate" })
export type RunEstimate = typeof RunEstimate.Type

/** What a start answers. */
export const StartedRun = Schema.Struct({ runId: run.id }).annotate({ identifier: "StartedRun" })

/** At most so many runs in one batch. */
export const batchLimit = 50

/** Body of a batch read (specification 4.7). */
export const RunBatch = Schema.Struct({
  ids: Schema.Array(Schema.String.check(isStorable)).check(
    Schema.isMaxLength(batchLimit, { expected: `at most ${batchLimit} ids` }),
  ),
}).annotate({ identifier: "RunBatch" })

/** What a batch read answers: known runs, in the order in which they were first asked for. */
export const RunDetails = Schema.Struct({ runs: Schema.Array(RunDetail) }).annotate({
  identifier: "RunDetails",
})
