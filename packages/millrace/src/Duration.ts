/**
 * Lengths of time as callers write them.
 */
import * as Effect from "effect/Duration"

type Unit = "milli" | "second" | "minute" | "hour" | "day"

/** Milliseconds, or words: `"10 seconds"`, `"1 minute"`. */
export type Duration = number | `${number} ${Unit}` | `${number} ${Unit}s`

/** Milliseconds of a duration. */
export const millisOf = (duration: Duration): number =>
  Effect.toMillis(Effect.fromInputUnsafe(duration))

/** A duration in short: `1m 30s`. */
export const format = (duration: Duration): string =>
  Effect.format(Effect.fromInputUnsafe(duration))
