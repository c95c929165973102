/**
 * Numbers about runs and deliveries, each in the registry of a context.
 *
 * Guarantees: no attribute has more values than there are statuses, sources or outcomes.
 */
import type { Run } from "@millrace/core/domain/Run"
import { type Context, Metric } from "effect"

type Registry = Context.Context<never>

const seconds = { unit: "s" }

const started = Metric.counter("millrace.runs.started", {
  description: "Runs that were stored",
  incremental: true,
})
const ended = Metric.counter("millrace.runs.ended", {
  description: "Runs that have ended",
  incremental: true,
})
const waits = Metric.histogram("millrace.run.wait", {
  description: "How long runs were queued before their first node, in seconds",
  boundaries: [0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60, 300, 900, 3_600],
  attributes: seconds,
})
const durations = Metric.histogram("millrace.run.duration", {
  description: "How long runs took from their start to their end, in seconds",
  boundaries: [0.01, 0.05, 0.1, 0.5, 1, 5, 10, 60, 300, 1_800, 3_600, 86_400],
  attributes: seconds,
})
const attempts = Metric.counter("millrace.webhook.attempts", {
  description: "Attempts to deliver a webhook",
  incremental: true,
})
const answers = Metric.histogram("millrace.webhook.duration", {
  description: "How long receivers of webhooks took to answer, in seconds",
  boundaries: [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30],
  attributes: seconds,
})
const inProgress = Metric.gauge("millrace.runs.active", {
  description: "Runs that this process executes now",
})
const queued = Metric.gauge("millrace.runs.queued", {
  description: "Runs in the store that wait for a process to execute them",
})
const sending = Metric.gauge("millrace.webhooks.active", {
  description: "Webhooks that this process sends now",
})

/** A run was stored. */
export const countStart = (registry: Registry, { source }: Pick<Run, "source">): void =>
  Metric.withAttributes(started, { "millrace.run.source": source }).updateUnsafe(1, registry)

/** A run has left the queue. */
export const countWait = (registry: Registry, millis: number): void =>
  waits.updateUnsafe(millis / 1_000, registry)

/** A run has ended. */
export const countEnd = (registry: Registry, run: Run): void => {
  const of = { "millrace.run.status": run.status }
  Metric.withAttributes(ended, of).updateUnsafe(1, registry)
  const millis = (run.finishedAt ?? run.createdAt) - (run.startedAt ?? run.createdAt)
  Metric.withAttributes(durations, of).updateUnsafe(millis / 1_000, registry)
}

/** An attempt to deliver a webhook was recorded. */
export const countAttempt = (registry: Registry, outcome: string, millis: number | null): void => {
  const of = { "millrace.webhook.outcome": outcome.toLowerCase() }
  Metric.withAttributes(attempts, of).updateUnsafe(1, registry)
  if (millis !== null) answers.updateUnsafe(millis / 1_000, registry)
}

/** The length of the queue. */
export const tellQueue = (registry: Registry, length: number): void =>
  queued.updateUnsafe(length, registry)

const ask = (registry: Registry, gauge: Metric.Gauge<number>, now: () => number) =>
  Metric.registerUnsafe(gauge, registry, {
    get: () => ({ value: now() }),
    update: () => {},
    modify: () => {},
  })

/** What is in progress is asked for when the numbers are sent; until the result is called. */
export const watch = (registry: Registry, runs: () => number, webhooks: () => number) => {
  const all = [ask(registry, inProgress, runs), ask(registry, sending, webhooks)]
  return () => all.forEach((each) => each.remove())
}
