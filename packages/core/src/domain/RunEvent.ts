/**
 * Events of a run, numbered from 1 without gaps (specification, part 6).
 *
 * Guarantees: an event is written in the same atomic step as its change, so none is lost and none
 * is invented. The row of a node stands for the event of its end and has the event's number. Only
 * the events of the run itself are stored as events. Leaves out: sending events.
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

/** What the event of a node's end tells of its row. */
export type NodeEnd = Pick<
  NodeRun,
  "attempt" | "error" | "finishedAt" | "nodeId" | "nodeType" | "sequence" | "status"
>

/** The event of a node's end, from the node's row; `undefined` if there is no such event. */
export const ofNode = (
  run: Pick<Run, "id" | "workflowId">,
  { attempt, error, finishedAt, nodeId, nodeType, sequence, status }: NodeEnd,
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

/** The events of a run after a number, in order: those of the run itself and of its nodes. */
export const merged = (
  run: Pick<Run, "id" | "workflowId">,
  own: ReadonlyArray<RunEvent>,
  nodeRuns: Iterable<NodeEnd>,
  after: number,
): ReadonlyArray<RunEvent> => {
  const ofNodes = [...nodeRuns].flatMap((row) => ofNode(run, row) ?? [])
  return [...own, ...ofNodes]
    .filter(({ sequence }) => sequence > after)
    .toSorted((left, right) => left.sequence - right.sequence)
}
