/**
 * The bounds of what a start says of its order among runs.
 *
 * A part of `Limits.ts`, which gives them to everybody else.
 */

/** The highest priority of a run; the lowest is its negative. */
export const highestPriority = 10

/** How many milliseconds of waiting one step of priority stands for: a minute. */
export const priorityMillis = 60_000

/** How far ahead a start may be put off: a year. */
export const startAheadMillis = 31_536_000_000

/** Characters of a concurrency key, and of the text that it is made of. */
export const concurrencyKeyLength = 255

/** How many runs of one concurrency key a workflow may allow at once. */
export const mostConcurrency = 1_000
