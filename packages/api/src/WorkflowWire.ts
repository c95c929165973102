/**
 * Workflows on the wire (specification 2.1 to 2.3 and 2.7): the domain's schemas without the fields
 * that only the engine needs.
 *
 * Leaves out: validating a graph; the engine does that.
 */
import { JsonObject } from "@millrace/core/domain/Json"
import { failuresRead } from "@millrace/core/domain/Limits"
import {
  DrawnEdge,
  DrawnNode,
  Position,
  ThumbnailUrl,
  Workflow as StoredWorkflow,
  WorkflowDescription,
  WorkflowName,
  WorkflowSettings,
} from "@millrace/core/domain/Workflow"
import { Schema, Struct } from "effect"
import { body, object, optional } from "./internal/Words.ts"
import { RunItem } from "./RunWire.ts"
import { isStorable } from "./Text.ts"

/** A workflow (specification 2.1). */
export const Workflow = StoredWorkflow.mapFields(
  Struct.pick([
    ...(["id", "name", "description", "thumbnailUrl", "nodes", "edges"] as const),
    ...(["settings", "updatedAt"] as const),
  ]),
).annotate({ identifier: "Workflow" })
export type Workflow = typeof Workflow.Type

/** What has become of a workflow's runs lately. */
const WorkflowActivity = Schema.Struct({
  lastRun: Schema.NullOr(RunItem),
  runs7d: Schema.Int.annotate({ description: "Runs of today and of the six days before, in UTC." }),
  failed7d: Schema.Int.annotate({
    description: `How many of them have FAILED, among the account's last ${failuresRead} failures.`,
  }),
})

/** What of a workflow a small picture shows. */
const WorkflowOutline = Schema.Struct({
  nodes: Schema.Array(
    Schema.Struct({ id: Schema.String, type: Schema.String, x: Schema.Finite, y: Schema.Finite }),
  ),
  edges: Schema.Array(Schema.Struct({ source: Schema.String, target: Schema.String })),
})

/** A workflow in a listing: the number of its nodes in place of nodes and edges. */
export const WorkflowItem = object("WorkflowItem", {
  ...Struct.omit(Workflow.fields, ["nodes", "edges", "settings"]),
  nodeCount: Schema.Int,
  revision: Schema.Int.annotate({ description: "Rises by one whenever the content changes." }),
  activity: optional(WorkflowActivity, "With `activity=true`."),
  outline: optional(
    WorkflowOutline,
    "With `view=outline`; absent where the drawings of a page are too large together.",
  ),
})
export type WorkflowItem = typeof WorkflowItem.Type

const content = {
  name: WorkflowName.check(isStorable),
  description: WorkflowDescription.check(isStorable),
  thumbnailUrl: ThumbnailUrl.check(isStorable),
  nodes: Schema.Array(DrawnNode),
  edges: Schema.Array(DrawnEdge),
  settings: WorkflowSettings.annotate({
    description: "Settings of all its runs: what a failure stops, and how long a run may take.",
  }),
}

/** Body of a change: the fields to set (specification 4.2). `nodes` and `edges` replace whole. */
export const UpdateWorkflow = object("UpdateWorkflow", Struct.map(content, Schema.optionalKey))
export type UpdateWorkflow = typeof UpdateWorkflow.Type

/** Body of a creation: a name, and any other fields. */
export const CreateWorkflow = object("CreateWorkflow", {
  ...UpdateWorkflow.fields,
  name: content.name,
})
export type CreateWorkflow = typeof CreateWorkflow.Type

/** Body of adding a node (specification 4.4). */
export const AddNode = body("AddNode", {
  nodeType: Schema.String.check(Schema.isMinLength(1)).annotate({
    description: "Key of a node type.",
  }),
  position: optional(Position, "Place on the canvas; wins over column and row."),
  column: optional(
    Schema.Int.check(Schema.isGreaterThanOrEqualTo(1)),
    "Processing batch; 1 is the first one after the request node.",
  ),
  row: optional(
    Schema.Int.check(Schema.isGreaterThanOrEqualTo(0)),
    "Place within the column, from 0.",
  ),
  inputs: optional(JsonObject, "Literal values by input port."),
  mode: optional(Schema.String, "Mode of the node, if its type has modes."),
})
export type AddNode = typeof AddNode.Type

/** The added node (specification 2.7). */
export const AddedNode = object("AddedNode", {
  nodeId: Schema.String,
  type: Schema.String,
  position: Position,
  inputPorts: Schema.Array(Schema.String),
  outputPorts: Schema.Array(Schema.String),
  mode: Schema.optionalKey(Schema.String),
  inputsSet: Schema.optionalKey(Schema.Array(Schema.String)),
})
export type AddedNode = typeof AddedNode.Type
