/**
 * Triggers that start a run of a workflow when a run of another workflow ends.
 *
 * Guarantees: the run that follows a run's end has the same id wherever and however often it is
 * started. Leaves out: starting it.
 */
import { Schema } from "effect"
import { AccountId, RunId, TriggerId, WorkflowId } from "./Id.ts"
import { JsonObject } from "./Json.ts"
import { fieldsPerWebhook, placeLength } from "./Limits.ts"
import type { Run } from "./Run.ts"
import { isTerminal } from "./Run.ts"
import { isAtMost } from "./TextLength.ts"
import { Timestamp } from "./Timestamp.ts"
import { TriggerFacts } from "./TriggerFacts.ts"
import { Webhook } from "./Webhook.ts"
import { TriggerVersion } from "./WorkflowVersion.ts"

/** How a run ends. */
const EndStatus = Schema.Literals(["COMPLETED", "FAILED", "CANCELED"])

/** What a run that follows gets to know of the one that has ended. */
export const endFacts = [
  "runId",
  "workflowId",
  "workflowName",
  "status",
  "errorMessage",
  "finishedAt",
  "output",
] as const

/** Where a value of a run stands in the run that has ended: `status`, `output.order.id`. */
const EndPlace = Schema.String.check(
  isAtMost(placeLength),
  Schema.isPattern(new RegExp(`^(?:${endFacts.join("|")}(?:\\.[^.]+)*)$`), {
    expected:
      "runId, workflowId, workflowName, status, errorMessage, finishedAt, output or " +
      "output.a.b, of the run that has ended",
  }),
)

/** What its owner sets of a trigger that follows the runs of another workflow. */
export const RunEndSettings = Schema.Struct({
  /** The workflow whose runs it follows, of the same account. */
  watch: WorkflowId,
  /** The ends that start a run. */
  on: Schema.Array(EndStatus).check(
    Schema.isMinLength(1, { expected: "at least one status" }),
    Schema.isMaxLength(EndStatus.literals.length, { expected: "each status once" }),
  ),
  /** The place of each value, by field; `null`: the fields with the names of the facts. */
  into: Schema.NullOr(
    Schema.Record(Schema.String, EndPlace).check(
      Schema.isMaxProperties(fieldsPerWebhook, { expected: `at most ${fieldsPerWebhook} fields` }),
    ),
  ),
  /** The values of its runs; what the run that has ended brings goes before them. */
  values: JsonObject,
  version: TriggerVersion,
  enabled: Schema.Boolean,
})
export type RunEndSettings = typeof RunEndSettings.Type

/** A trigger that follows the runs of another workflow, with what became of their ends. */
export const RunEndTrigger = Schema.Struct({
  id: TriggerId,
  accountId: AccountId,
  workflowId: WorkflowId,
  type: Schema.Literal("run_end"),
  ...RunEndSettings.fields,
  /** The webhook of its runs; `null`: none. */
  webhook: Schema.NullOr(Webhook),
  createdAt: Timestamp,
  updatedAt: Timestamp,
  ...TriggerFacts.fields,
  /** Raised by every change; a write with an older one is refused. */
  fence: Schema.Int,
})
export type RunEndTrigger = typeof RunEndTrigger.Type

/** True for a run that triggers follow: it has ended, and was no child and no single node. */
export const isFollowed = ({
  mode,
  parent,
  status,
}: Pick<Run, "mode" | "parent" | "status">): boolean =>
  isTerminal(status) && mode !== "single" && parent === null

/** True if the trigger starts a run because of the end of this one, which {@link isFollowed}. */
export const follows = (
  { accountId, enabled, on, watch }: RunEndTrigger,
  run: Pick<Run, "accountId" | "workflowId" | "status">,
): boolean =>
  enabled &&
  watch === run.workflowId &&
  accountId === run.accountId &&
  on.some((status) => status === run.status)

/**
 * The id of the run that follows a run's end. It is always the same, so a store, which has an id
 * once only, cannot be made to start it twice. It sorts by time as every id does. `hash` is of
 * trigger and run, in hexadecimal.
 */
export const runIdAfter = (hash: string, at: Timestamp): RunId => {
  const time = at.toString(16).padStart(12, "0")
  const [a, b, c] = [hash.slice(0, 3), hash.slice(3, 6), hash.slice(6, 18)]
  return RunId.make(`run_${time.slice(0, 8)}-${time.slice(8)}-7${a}-8${b}-${c}`)
}
