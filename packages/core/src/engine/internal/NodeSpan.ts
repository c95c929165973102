/**
 * The span of an attempt: what the tracing of an application sees of a node.
 *
 * Guarantees: the spans of a run are in one trace, whose id is that of the run without its prefix
 * and dashes, whatever process they are from. A handler's own spans are below the attempt's.
 * Without a tracer in the context of the node types, nothing is added to an attempt. Leaves out:
 * what happens between the attempts; the record of the run tells that.
 */
import type { Context } from "effect"
import { Cause, Effect, Exit, Result, Tracer } from "effect"
import type { JsonObject } from "../../domain/Json.ts"
import { Suspension } from "../CurrentNode.ts"
import type { AttemptRequest } from "./Attempt.ts"

type Handling = Effect.Effect<JsonObject, unknown, unknown>

/** The trace of a run as a span that nobody sends; none where the id has not the length of one. */
const parentOf = (runId: string): Tracer.ExternalSpan | undefined => {
  const traceId = runId.slice(runId.indexOf("_") + 1).replaceAll("-", "")
  if (!/^[0-9a-f]{32}$/.test(traceId)) return undefined
  return Tracer.externalSpan({ traceId, spanId: traceId.slice(16) })
}

/** A handler that leaves its node until later has not failed. */
const endOf = (exit: Exit.Exit<JsonObject, unknown>): Exit.Exit<unknown, unknown> => {
  if (Exit.isSuccess(exit)) return exit
  const defect = Cause.findDefect(exit.cause)
  return Result.isSuccess(defect) && defect.success instanceof Suspension ? Exit.void : exit
}

/** Calls a handler within a span, if the context of the node types has a tracer. */
export const inSpan = (
  context: Context.Context<unknown>,
  { attempt, node, run }: AttemptRequest,
  call: () => Handling,
): Handling => {
  if (!context.mapUnsafe.has(Tracer.TracerKey)) return call()
  const attributes = {
    "millrace.account.id": run.accountId,
    "millrace.workflow.id": run.workflowId,
    "millrace.workflow.name": run.workflowName,
    "millrace.run.id": run.id,
    "millrace.node.id": node.id,
    "millrace.node.type": node.type.key,
    "millrace.attempt": attempt,
  }
  const span = Effect.makeSpan(node.type.key, { parent: parentOf(run.id), attributes })
  return Effect.flatMap(span, (made) =>
    Effect.onExit(Effect.withParentSpan(Effect.suspend(call), made), (exit) =>
      Effect.clockWith((clock) =>
        Effect.sync(() => made.end(clock.currentTimeNanosUnsafe(), endOf(exit))),
      ),
    ),
  )
}
