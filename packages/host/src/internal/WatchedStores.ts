/**
 * Stores that tell telemetry what was written: a span for each run that has ended, and numbers; and
 * how many runs wait.
 *
 * Guarantees: only what a store has accepted is told, so every start and every end counts once over
 * all processes. Telemetry changes no answer of a store. Leaves out: attempts of nodes, which the
 * engine tells.
 */
import type { Run } from "@millrace/core/domain/Run"
import { queueCounted } from "@millrace/core/domain/Limits"
import { isTerminal } from "@millrace/core/domain/Run"
import { traceOf } from "@millrace/core/engine/RunTrace"
import type { RunCommit } from "@millrace/core/ports/RunStore"
import { RunStore } from "@millrace/core/ports/RunStore"
import { onSuccess } from "@millrace/core/ports/CallbackEffect"
import { WebhookStore } from "@millrace/core/ports/WebhookStore"
import { Context, Effect, Exit, Layer, Option, Schedule, Tracer } from "effect"
import { RunSpan } from "./RunSpan.ts"
import * as RunMetrics from "./RunMetrics.ts"

const nanos = (millis: number): bigint => BigInt(millis) * 1_000_000n

const exitOf = ({ error, status }: Run): Exit.Exit<unknown, unknown> => {
  if (status === "COMPLETED") return Exit.void
  return status === "CANCELED" ? Exit.interrupt() : Exit.fail(new Error(error ?? status))
}

/** Tells a tracer of a run that has ended: one span, from its creation to its end. */
const trace = (tracer: Tracer.Tracer, run: Run): void => {
  const ids = traceOf(run.id)
  if (ids === undefined) return
  const span = tracer.span({
    name: run.workflowName,
    parent: Option.some(ids),
    annotations: Context.make(RunSpan, ids),
    links: [],
    startTime: nanos(run.createdAt),
    kind: "internal",
    root: false,
    sampled: true,
  })
  const attributes = {
    "millrace.account.id": run.accountId,
    "millrace.workflow.id": run.workflowId,
    "millrace.workflow.name": run.workflowName,
    "millrace.run.id": run.id,
    "millrace.run.status": run.status,
    "millrace.run.source": run.source,
  }
  for (const [key, value] of Object.entries(attributes)) span.attribute(key, value)
  span.end(nanos(run.finishedAt ?? run.createdAt), exitOf(run))
}

/** What a commit of a run means, or a run that was stored with the commit of its parent. */
const observeRun = (
  telemetry: Context.Context<never>,
  { events = [], run }: Pick<RunCommit, "run"> & Partial<RunCommit>,
): void => {
  if (events.some(({ type }) => type === "run.started")) {
    RunMetrics.countWait(telemetry, (run.startedAt ?? run.createdAt) - run.createdAt)
  }
  if (!isTerminal(run.status)) return
  RunMetrics.countEnd(telemetry, run)
  trace(Context.get(telemetry, Tracer.Tracer), run)
}

/** What a commit that was stored means. */
const observe = (telemetry: Context.Context<never>, commit: RunCommit): void => {
  const { expected, starts = [] } = commit
  for (const each of expected._tag === "New" ? [commit, ...starts] : starts) {
    RunMetrics.countStart(telemetry, each.run)
  }
  for (const each of [commit, ...starts]) observeRun(telemetry, each)
}

/** Tells how many runs wait, as often as numbers are sent. */
const countQueue = (telemetry: Context.Context<never>, { queueLength }: RunStore["Service"]) =>
  queueLength(queueCounted).pipe(
    Effect.map((length) => RunMetrics.tellQueue(telemetry, length)),
    Effect.catch(({ message }) => Effect.logDebug(`the queue was not counted: ${message}`)),
    Effect.repeat(Schedule.spaced("10 seconds")),
  )

/** The stores of the context, watched with this tracer and registry. */
export const layer = (telemetry: Context.Context<never>) =>
  Layer.effectContext(
    Effect.gen(function* () {
      const runs = yield* RunStore
      const webhooks = yield* WebhookStore
      yield* Effect.forkScoped(countQueue(telemetry, runs))
      const watched = RunStore.of({
        ...runs,
        commit: (commit) => onSuccess(runs.commit(commit), () => observe(telemetry, commit)),
      })
      const delivering = WebhookStore.of({
        ...webhooks,
        record: (record) =>
          Effect.tap(webhooks.record(record), (isStored) =>
            Effect.sync(() => {
              const { attempt, next } = record
              if (!isStored || attempt === null) return
              RunMetrics.countAttempt(telemetry, next._tag, attempt.durationMillis)
            }),
          ),
      })
      return Context.make(RunStore, watched).pipe(Context.add(WebhookStore, delivering))
    }),
  )
