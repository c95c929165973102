/**
 * What a start would say, as it travels: problems and warnings, each with its place in the graph.
 *
 * Leaves out: an order of importance; problems come as a start would name them.
 */
import { MicroCredits } from "@millrace/core/domain/Credits"
import { Schema, Struct } from "effect"
import { StartRun } from "./RunWire.ts"

/** At most so many problems are listed. */
export const problemsListed = 1_000

/** Body of a validation: what a start would lay over the workflow; a start's other fields too. */
export const ValidateWorkflow = StartRun.mapFields(
  Struct.pick(["values", "graphInputOverrides", "nodeOverrides"]),
).annotate({ identifier: "ValidateWorkflow", closed: Object.keys(StartRun.fields) })
export type ValidateWorkflow = typeof ValidateWorkflow.Type

/** One thing about a graph, and where it is. */
export const Problem = Schema.Struct({
  message: Schema.String.annotate({ description: "One sentence that names node, edge and port." }),
  nodeId: Schema.optionalKey(Schema.String),
  edgeId: Schema.optionalKey(Schema.String),
  port: Schema.optionalKey(Schema.String),
}).annotate({ identifier: "Problem" })

/** The outcome of a validation. */
export const Validation = Schema.Struct({
  valid: Schema.Boolean.annotate({ description: "True where a start would be accepted." }),
  problems: Schema.Array(Problem).annotate({
    description: `What stands against a start; at most ${problemsListed} are listed.`,
  }),
  warnings: Schema.Array(Problem).annotate({
    description:
      "What may not have been meant: what a start accepts all the same, and texts that look like " +
      "expressions, which are among the problems, too.",
  }),
  estimatedCredits: Schema.NullOr(MicroCredits).annotate({
    description: "What a run is expected to cost; null where there are problems.",
  }),
}).annotate({ identifier: "Validation" })
