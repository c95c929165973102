/**
 * Events of a run, numbered from 1 without gaps (specification, part 6).
 *
 * Guarantees: written in the same atomic step as the change they tell of, so none is lost and none
 * is invented. The end of a node is told by its row, which carries the event's number; only what
 * the run itself goes through is written as an event of its own. Leaves out: sending them anywhere.
 */
import { Schema } from "effect"
import { RunEventType } from "./EventType.ts"
import { RunId, WorkflowId } from "./Id.ts"
import { JsonObject } from "./Json.ts"
import type { NodeRun, Run } from "./Run.ts"
import { Timestamp } from "./Timestamp.ts"

export { RunEventType } from "./EventType.ts"

/** One event. It tells of a success exactly when `error` is `null`. */
export const RunEvent = Schema.Struct({
  runId: RunId,
  workflowId: WorkflowId,
  sequence: Schema.Int,
  type: RunEventType,
  at: Timestamp,
  error: Schema.NullOr(Schema.String),
  /** `status` always; nodes add `nodeId`, `nodeType`, `attempt`; ends add counts and credits. */
  data: JsonObject,
})
export type RunEvent = typeof RunEvent.Type

/** What the row of a node tells of its end; `undefined` where there is nothing to tell. */
export const ofNode = (
  run: Pick<Run, "id" | "workflowId">,
  { attempt, error, finishedAt, nodeId, nodeType, sequence, status }: NodeRun,
): RunEvent | undefined =>
  sequence === null || finishedAt === null
    ? undefined
    : {
        runId: run.id,
        workflowId: run.workflowId,
        sequence,
        type: status === "COMPLETED" ? "node.completed" : "node.failed",
        at: finishedAt,
        error,
        data: { status, nodeId, nodeType, attempt, sequence },
      }

/** The events of a run behind a number, in order: its own, and those of its nodes. */
export const merged = (
  run: Pick<Run, "id" | "workflowId">,
  own: ReadonlyArray<RunEvent>,
  nodeRuns: Iterable<NodeRun>,
  after: number,
): ReadonlyArray<RunEvent> => {
  const ofNodes = [...nodeRuns].flatMap((row) => ofNode(run, row) ?? [])
  return [...own, ...ofNodes]
    .filter(({ sequence }) => sequence > after)
    .toSorted((left, right) => left.sequence - right.sequence)
}
