/**
 * What the nodes share that start runs of other workflows: their inputs, and the sentence of a
 * child that did not complete.
 */
import { JsonObject } from "@millrace/core/domain/Json"
import type { ChildEnd } from "@millrace/core/domain/Message"
import type { Run } from "@millrace/core/domain/Run"
import { VersionChoice } from "@millrace/core/domain/WorkflowVersion"
import { Schema } from "effect"

/** The workflow of the children. */
export const workflowId = Schema.String.annotate({
  description:
    "The id of a workflow of the same account. One that is drawn here is executed as it was when " +
    "the run was started; one that is computed, as it is then.",
})

/** Which content of that workflow the children execute. */
export const workflowVersion = Schema.optionalKey(
  VersionChoice.annotate({
    description:
      "`draft`, or the number of a published version. By default what a start takes: the " +
      "published version, or the draft where none is published.",
  }),
)

/** What the Request node of the child gets. */
export const values = Schema.optionalKey(
  JsonObject.annotate({ description: "Values for the Request node of that workflow." }),
)

/** Why a child has no output, in one sentence. */
export const sentenceOf = ({
  error,
  runId,
  status,
}: Pick<Run, "error" | "status"> & Pick<ChildEnd, "runId">): string =>
  status === "CANCELED"
    ? `Run ${runId} was canceled`
    : `Run ${runId} failed: ${error ?? "no reason is known"}`
