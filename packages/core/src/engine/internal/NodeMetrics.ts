/**
 * Numbers about attempts: how many there were of a node type, how they ended, and how long they
 * took.
 */
import { type Context, Metric } from "effect"

/** How an attempt ended; `waiting`: its handler left the node until later. */
export type AttemptOutcome = "completed" | "failed" | "canceled" | "waiting"

const attempts = Metric.counter("millrace.node.attempts", {
  description: "Attempts of nodes that have ended",
  incremental: true,
})

const durations = Metric.histogram("millrace.node.duration", {
  description: "How long attempts of nodes took, in seconds",
  boundaries: [0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60, 300, 900],
  attributes: { unit: "s" },
})

/** Counts an attempt, in the registry of the context. */
export const count = (
  context: Context.Context<never>,
  type: string,
  outcome: AttemptOutcome,
  millis: number,
): void => {
  const of = { "millrace.node.type": type, "millrace.node.outcome": outcome }
  Metric.withAttributes(attempts, of).updateUnsafe(1, context)
  Metric.withAttributes(durations, of).updateUnsafe(millis / 1_000, context)
}
