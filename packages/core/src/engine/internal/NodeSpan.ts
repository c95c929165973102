/**
 * The span of an attempt, and its numbers: what the telemetry of an application sees of a node.
 *
 * Guarantees: the spans of a run are in one trace ({@link traceOf}), whatever process they are
 * from. A handler's own spans are below the attempt's. Without a tracer or a registry of metrics in
 * the context of the node types, nothing is added to an attempt. Leaves out: what happens between
 * the attempts; the record of the run tells that.
 */
import type { Context } from "effect"
import { Cause, Clock, Effect, Exit, Metric, Result, Tracer } from "effect"
import type { JsonObject } from "../../domain/Json.ts"
import { Suspension } from "../CurrentNode.ts"
import { traceOf } from "../RunTrace.ts"
import { monotonicMillis } from "../StoreClock.ts"
import type { AttemptRequest } from "./AttemptRequest.ts"
import type { AttemptOutcome } from "./NodeMetrics.ts"
import { count } from "./NodeMetrics.ts"

type Handling = Effect.Effect<JsonObject, unknown, unknown>
type HandlerExit = Exit.Exit<JsonObject, unknown>

const hasLeft = (cause: Cause.Cause<unknown>): boolean => {
  const defect = Cause.findDefect(cause)
  return Result.isSuccess(defect) && defect.success instanceof Suspension
}

/** A handler that leaves its node until later has not failed. */
const endOf = (exit: HandlerExit): Exit.Exit<unknown, unknown> =>
  Exit.isFailure(exit) && hasLeft(exit.cause) ? Exit.void : exit

const outcomeOf = (exit: HandlerExit): AttemptOutcome => {
  if (Exit.isSuccess(exit)) return "completed"
  if (hasLeft(exit.cause)) return "waiting"
  return Cause.hasInterruptsOnly(exit.cause) ? "canceled" : "failed"
}

const spanned = ({ node, run, started }: AttemptRequest, call: () => Handling): Handling => {
  const attributes = {
    "millrace.account.id": run.accountId,
    "millrace.workflow.id": run.workflowId,
    "millrace.workflow.name": run.workflowName,
    "millrace.run.id": run.id,
    "millrace.node.id": node.id,
    "millrace.node.type": node.type.key,
    "millrace.attempt": started.attempt,
  }
  const span = Effect.makeSpan(node.type.key, { parent: traceOf(run.id), attributes })
  return Effect.flatMap(span, (made) =>
    Effect.onExit(Effect.withParentSpan(Effect.suspend(call), made), (exit) =>
      Effect.clockWith((clock) =>
        Effect.sync(() => made.end(clock.currentTimeNanosUnsafe(), endOf(exit))),
      ),
    ),
  )
}

const counted = (
  context: Context.Context<never>,
  { node }: AttemptRequest,
  call: () => Handling,
): Handling =>
  Effect.flatMap(Clock.Clock, (clock) => {
    const begun = monotonicMillis(clock)
    return Effect.onExit(Effect.suspend(call), (exit) =>
      Effect.sync(() =>
        count(context, node.type.key, outcomeOf(exit), monotonicMillis(clock) - begun),
      ),
    )
  })

/** Calls a handler within a span, and counts it, as far as the context of the node types asks. */
export const inSpan = (
  context: Context.Context<unknown>,
  request: AttemptRequest,
  call: () => Handling,
): Handling => {
  const has = (key: string) => context.mapUnsafe.has(key)
  const seen = has(Tracer.TracerKey) ? () => spanned(request, call) : call
  return has(Metric.MetricRegistry.key) ? counted(context, request, seen) : seen()
}
