/**
 * Validation on the wire: problems and warnings, each with its place in the graph.
 *
 * Guarantees: problems come in the order in which a start would name them.
 */
import { MicroCredits } from "@millrace/core/domain/Credits"
import { problemsListed } from "@millrace/core/domain/Limits"
import { Schema, Struct } from "effect"
import { object } from "./internal/Words.ts"
import { StartRun } from "./RunWire.ts"

/** Body of a validation: the overrides of a start. A start's other fields are ignored. */
export const ValidateWorkflow = StartRun.mapFields(
  Struct.pick(["values", "graphInputOverrides", "nodeOverrides"]),
).annotate({ identifier: "ValidateWorkflow", closed: Object.keys(StartRun.fields) })
export type ValidateWorkflow = typeof ValidateWorkflow.Type

/** One problem or warning, and its place in the graph. */
export const Problem = object("Problem", {
  message: Schema.String.annotate({ description: "One sentence that names node, edge and port." }),
  nodeId: Schema.optionalKey(Schema.String),
  edgeId: Schema.optionalKey(Schema.String),
  port: Schema.optionalKey(Schema.String),
})

/** The outcome of a validation. */
export const Validation = object("Validation", {
  valid: Schema.Boolean.annotate({ description: "True if a start would be accepted." }),
  problems: Schema.Array(Problem).annotate({
    description: `Why a start would be refused; at most ${problemsListed} are listed.`,
  }),
  warnings: Schema.Array(Problem).annotate({
    description:
      "Likely mistakes that a start accepts. Also texts that look like expressions, which are " +
      "among the problems, too.",
  }),
  estimatedCredits: Schema.NullOr(MicroCredits).annotate({
    description: "What a run is expected to cost; null if there are problems.",
  }),
})
