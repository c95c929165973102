/**
 * What a commit of a run leaves as it is: part of the model of the stores.
 */
import type { Run } from "@millrace/core/domain/Run"
import { Struct } from "effect"

/** The parts of a run that a commit never changes: how it was started, and its fence. */
const kept = [
  ...([
    "id",
    "accountId",
    "workflowId",
    "workflowName",
    "workflowRevision",
    "workflowVersion",
  ] as const),
  ...(["definitionId", "executionId", "mode", "source", "singleNodeId", "rerunOf"] as const),
  ...(["parent", "priority", "startAt", "createdAt", "estimatedCredits", "maxCredits"] as const),
  ...(["keyId", "triggerId", "after", "webhook", "values", "inputOverrides"] as const),
  ...(["viewport", "concurrencyKey", "concurrency", "fence", "messages"] as const),
] as const

/** These parts of a run. */
export const keptOf = (run: Run) => Struct.pick(run, kept)
