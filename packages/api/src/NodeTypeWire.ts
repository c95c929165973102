/**
 * Node types on the wire: what a palette or an assistant needs to draw a node.
 *
 * The ports are those of a node in the type's default mode without literals. Some types have
 * further ports, which depend on mode and literals.
 */
import { MicroCredits } from "@millrace/core/domain/Credits"
import { JsonObject } from "@millrace/core/domain/Json"
import { Schema } from "effect"
import { itemsOf, object } from "./internal/Words.ts"

const PortSchema = JsonObject.annotate({ description: "JSON Schema of the value." })

/** A named input of a node. */
export const InputPort = object("InputPort", {
  name: Schema.String,
  required: Schema.Boolean,
  multiple: Schema.Boolean.annotate({ description: "True if several edges may lead here." }),
  takesSecrets: Schema.optionalKey(
    Schema.Boolean.annotate({ description: "True if literals here may name secrets." }),
  ),
  convertsTypes: Schema.optionalKey(
    Schema.Boolean.annotate({ description: "True if values of other types are converted." }),
  ),
  schema: PortSchema,
})

/** A named output of a node. */
export const OutputPort = object("OutputPort", {
  name: Schema.String,
  schema: PortSchema,
})

/** What the nodes in the body of a loop see of it. */
export const bodyPorts = Schema.optionalKey(
  Schema.Array(OutputPort).annotate({
    description:
      "Of a loop: what the nodes that lie in it see of it, by edges from it and in expressions. " +
      "Absent for other types.",
  }),
)

/** A node type. */
export const NodeType = object("NodeType", {
  key: Schema.String.annotate({ description: "What a node's `type` says." }),
  version: Schema.Int.annotate({
    description:
      "The versions of a type stand next to each other, the oldest first. A node has the one " +
      "that its `data.version` names, and else the oldest.",
  }),
  deprecated: Schema.NullOr(Schema.String).annotate({
    description: "What to use in its place, perhaps empty; null: it may be added.",
  }),
  name: Schema.String,
  description: Schema.String,
  category: Schema.String,
  icon: Schema.NullOr(Schema.String).annotate({
    description: "The name of its picture, one of lucide.dev; null: that of its category.",
  }),
  docs: Schema.NullOr(Schema.String).annotate({
    description:
      "More about it: the address of a page, or a text in Markdown. Whoever declared the type " +
      "wrote it; HTML in it is text.",
  }),
  origin: Schema.String.annotate({
    description:
      "Where it comes from: `built-in`; the module that the server was started with; or " +
      "`application`, for a type of the application that the engine is a part of.",
  }),
  modes: Schema.Array(Schema.String).annotate({
    description: "The default mode first; often none.",
  }),
  inputPorts: Schema.Array(InputPort),
  outputPorts: Schema.Array(OutputPort).annotate({
    description: "With `error`, by which every node that can fail may be left.",
  }),
  bodyPorts,
  effects: Schema.Literals(["none", "reads", "writes"]).annotate({
    description:
      "What it does to the outside world: `none`, it only computes; `reads`, it looks at " +
      "something; `writes`, it changes something.",
  }),
  example: Schema.NullOr(
    Schema.Struct({
      inputs: JsonObject,
      mode: Schema.optionalKey(Schema.String),
      outputs: JsonObject,
    }),
  ).annotate({ description: "What a node with some inputs puts out." }),
  creditEstimate: Schema.NullOr(MicroCredits).annotate({
    description:
      "What a node in the default mode is expected to cost; null if that depends on its literals.",
  }),
  creditsByMode: Schema.Record(Schema.String, Schema.NullOr(MicroCredits)).annotate({
    description: "The same for each mode; empty for a type without modes.",
  }),
})
export type NodeType = typeof NodeType.Type

/** All node types that the server can execute. */
export const NodeTypeList = itemsOf("NodeTypeList", NodeType)
