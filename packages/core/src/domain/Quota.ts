/**
 * Request quotas of an API key: two fixed windows, a minute and a day in UTC. A request counts in
 * both or in none (specification, part 8).
 *
 * Guarantees: pure; a refused request counts in none. Leaves out: storing the usage.
 */
import { Schema } from "effect"
import { requestsPerDay, requestsPerMinute } from "./Limits.ts"
import { dayMillis, minuteMillis, type Timestamp } from "./Timestamp.ts"

const upTo = (maximum: number) =>
  Schema.Int.check(Schema.isBetween({ minimum: 1, maximum }, { expected: `1 to ${maximum}` }))

/** Requests per minute: 1 to 10,000, by default 60. */
export const PerMinute = upTo(requestsPerMinute)

/** Requests per day: 1 to 100,000, by default 1,000. */
export const PerDay = upTo(requestsPerDay)

/** The limits of a key. */
export const Quota = Schema.Struct({ perMinute: PerMinute, perDay: PerDay })
export type Quota = typeof Quota.Type

/** The default limits of a key (specification 2.8). */
export const defaultQuota: Quota = { perMinute: 60, perDay: 1_000 }

/** Requests taken so far in the window with this number (epoch divided by the window's length). */
export interface QuotaUsage {
  readonly minute: number
  readonly minuteUsed: number
  readonly day: number
  readonly dayUsed: number
}

/** The values of `X-RateLimit-Remaining` and `X-RateLimit-Reset`. */
export interface Window {
  readonly remaining: number
  readonly resetAt: Timestamp
}

/** The outcome of asking for one request. `window` is the tighter one, or the exceeded one. */
export interface Taken {
  readonly admitted: boolean
  readonly usage: QuotaUsage
  readonly window: Window
}

/** The usage of a key that was never used. */
export const unused: QuotaUsage = { minute: 0, minuteUsed: 0, day: 0, dayUsed: 0 }

/**
 * The window to report. For a refused request, the exceeded one; the day if both are. For an
 * admitted request, the window with less left; if they are equal, the one that resets later.
 */
export const windowOf = (quota: Quota, usage: QuotaUsage, admitted: boolean): Window => {
  const minute = {
    remaining: Math.max(0, quota.perMinute - usage.minuteUsed),
    resetAt: (usage.minute + 1) * minuteMillis,
  }
  const day = {
    remaining: Math.max(0, quota.perDay - usage.dayUsed),
    resetAt: (usage.day + 1) * dayMillis,
  }
  if (!admitted) return day.remaining === 0 ? day : minute
  return day.remaining <= minute.remaining ? day : minute
}

const plus = (usage: QuotaUsage, count: number): QuotaUsage => ({
  ...usage,
  minuteUsed: usage.minuteUsed + count,
  dayUsed: usage.dayUsed + count,
})

/** The usage in the windows of this time. If the clock goes back, the window stays. */
export const usageAt = (usage: QuotaUsage, now: Timestamp): QuotaUsage => {
  const minute = Math.max(usage.minute, Math.floor(now / minuteMillis))
  const day = Math.max(usage.day, Math.floor(now / dayMillis))
  return {
    minute,
    minuteUsed: minute > usage.minute ? 0 : usage.minuteUsed,
    day,
    dayUsed: day > usage.day ? 0 : usage.dayUsed,
  }
}

/** Counts one request in both windows, or in neither. */
export const take = (quota: Quota, usage: QuotaUsage, now: Timestamp): Taken => {
  const before = usageAt(usage, now)
  const admitted = before.minuteUsed < quota.perMinute && before.dayUsed < quota.perDay
  const next = plus(before, admitted ? 1 : 0)
  return { admitted, usage: next, window: windowOf(quota, next, admitted) }
}

/**
 * The answer to one of several requests that were counted together, as if they had come one after
 * the other. The first `granted` of them are admitted. `usage` is the usage after all of them.
 */
export const answerAt = (
  quota: Quota,
  usage: QuotaUsage,
  granted: number,
  position: number,
): Pick<Taken, "admitted" | "window"> => {
  const admitted = position < granted
  const then = admitted ? plus(usage, position + 1 - granted) : usage
  return { admitted, window: windowOf(quota, then, admitted) }
}
