/**
 * Validation on the wire: problems and warnings, each with its place in the graph.
 *
 * Guarantees: problems come in the order in which a start would name them.
 */
import { MicroCredits } from "@millrace/core/domain/Credits"
import { Json } from "@millrace/core/domain/Json"
import { problemsListed } from "@millrace/core/domain/Limits"
import { DrawnEdge, Node, WorkflowSettings } from "@millrace/core/domain/Workflow"
import { Schema, Struct } from "effect"
import { body, object, optional } from "./internal/Words.ts"
import { bodyPorts, InputPort, OutputPort } from "./NodeTypeWire.ts"
import { Problem, StartRun } from "./RunWire.ts"
import { Identifier } from "./Text.ts"
import { CreateWorkflow } from "./WorkflowWire.ts"

/**
 * Body of a validation: the overrides of a start, and a draft to judge in place of what is stored.
 * The other fields of a start and of a workflow are ignored, so that either can be sent whole.
 */
export const ValidateWorkflow = Schema.Struct({
  ...Struct.pick(StartRun.fields, [
    "version",
    "values",
    "graphInputOverrides",
    "nodeOverrides",
    "pinnedOutputs",
  ]),
  nodes: optional(Schema.Array(Node), "Nodes of a draft; absent: those that are stored."),
  edges: optional(Schema.Array(DrawnEdge), "Edges of a draft; absent: those that are stored."),
  settings: optional(WorkflowSettings, "Settings of a draft."),
}).annotate({
  identifier: "ValidateWorkflow",
  closed: Object.keys({ ...StartRun.fields, ...CreateWorkflow.fields }),
})
export type ValidateWorkflow = typeof ValidateWorkflow.Type

/** What is known of a node. */
const NodeOutline = object("NodeOutline", {
  nodeId: Schema.String,
  inputPorts: Schema.Array(InputPort),
  outputPorts: Schema.Array(OutputPort),
  bodyPorts,
  estimatedCredits: Schema.NullOr(MicroCredits),
  names: Schema.Array(Schema.String).annotate({
    description:
      "What expressions in its inputs may begin with. A node's name stands for its outputs, " +
      "whose schemas are those of that node's ports.",
  }),
})

/** The outcome of a validation. */
export const Validation = object("Validation", {
  valid: Schema.Boolean.annotate({ description: "True if a start would be accepted." }),
  problems: Schema.Array(Problem).annotate({
    description: `Why a start would be refused; at most ${problemsListed} are listed.`,
  }),
  warnings: Schema.Array(Problem).annotate({
    description: "Likely mistakes that a start accepts.",
  }),
  estimatedCredits: Schema.NullOr(MicroCredits).annotate({
    description: "What a run is expected to cost; null if there are problems.",
  }),
  nodes: Schema.Array(NodeOutline).annotate({
    description: "Every node of a known type, with its ports after mode and literals.",
  }),
})

/** Body of computing an expression. */
export const EvaluateText = body("EvaluateText", {
  runId: Identifier.annotate({ description: "A run of the workflow, whose values are used." }),
  nodeId: Schema.String.annotate({ description: "The node at which the text would stand." }),
  port: optional(Schema.String, "The input at which it would stand; `input` cannot use itself."),
  text: Schema.String.annotate({ description: "A text with expressions: `{{ fetch.body.id }}`." }),
})
export type EvaluateText = typeof EvaluateText.Type

/** What an expression gives. */
export const TextValue = object("TextValue", {
  value: optional(Json, "Absent if there is none."),
  problems: Schema.Array(Problem).annotate({ description: "Why there is no value." }),
})
