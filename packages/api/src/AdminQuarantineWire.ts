/**
 * Runs in quarantine on the wire of the admin interface: with their accounts, the runners that
 * execute them, and the owners that they have lost.
 */
import { Loss as Stored } from "@millrace/core/domain/Loss"
import { Run, RunStatus } from "@millrace/core/domain/Run"
import { Schema, Struct } from "effect"
import { itemsOf, object } from "./internal/Words.ts"

/** An owner that the run has lost. */
export const RunLoss = object("RunLoss", {
  ...Struct.pick(Stored.members[0].fields, ["runner", "lostAt"]),
  cause: Schema.Literals(["died", "blocked"]).annotate({
    description: "Its process died, or the run blocked it.",
  }),
  millis: Schema.NullOr(Schema.Int).annotate({
    description: "For how long the run blocked its process; null if the process died.",
  }),
  nodes: Schema.Array(Schema.String).annotate({
    description: "The identifiers of the nodes that were in progress.",
  }),
})

/** A run in quarantine. */
export const QuarantinedRun = object("QuarantinedRun", {
  runId: Run.fields.id,
  ...Struct.pick(Run.fields, ["accountId", "workflowId", "workflowName", "status", "createdAt"]),
  holder: Schema.NullOr(Run.fields.owner).annotate({
    description: "The runner that executes it; null while it waits for one.",
  }),
  losses: Schema.Array(RunLoss).annotate({ description: "The latest last." }),
})
export type QuarantinedRun = typeof QuarantinedRun.Type

/** The runs in quarantine, oldest first: a thousand at most. */
export const QuarantinedRuns = itemsOf("QuarantinedRuns", QuarantinedRun)

/** A run that is in quarantine no longer. */
export const ReleasedRun = object("ReleasedRun", { runId: Run.fields.id })

/** A run that an operator has ended. */
export const EndedRun = object("EndedRun", {
  runId: Run.fields.id,
  status: RunStatus,
  error: Schema.NullOr(Schema.String),
})
export type EndedRun = typeof EndedRun.Type
