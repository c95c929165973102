/**
 * Lengths of time as callers write them.
 *
 * Leaves out: lengths of time in workflows; those are the engine's. Loads nothing of Effect.
 */
import { invalid } from "./MillraceError.ts"

const unitMillis = { milli: 1, second: 1_000, minute: 60_000, hour: 3_600_000, day: 86_400_000 }

type Unit = keyof typeof unitMillis

/** Milliseconds, or words: `"10 seconds"`, `"1 minute"`. */
export type Duration = number | `${number} ${Unit}` | `${number} ${Unit}s`

/** Milliseconds of a duration; `name` is what a sentence calls it where it is none. */
export const millisOf = (duration: Duration, name: string): number => {
  const text = typeof duration === "number" ? `${duration} millis` : duration
  const [, count, unit] = /^(\d+(?:\.\d+)?) (milli|second|minute|hour|day)s?$/.exec(text) ?? []
  if (unit === undefined)
    throw invalid(`${name}: expected milliseconds, or words such as "10 seconds"`)
  return Number(count) * unitMillis[unit as Unit]
}
