/**
 * How late something may come, which is all that these tests promise about speed: they find what
 * hangs, and not that a machine is busy.
 *
 * `KILL_LATE_MILLIS` sets it. On a machine of its own 1,000 must hold.
 */
export const lateMillis = Number(process.env["KILL_LATE_MILLIS"] ?? 10_000)
