/**
 * When a delivery is tried again, and when it fails (specification 6.2, rules 7 and 8).
 *
 * Guarantees: data and pure functions, so every process decides alike, and a test needs no time to
 * pass. Leaves out: clocks and random numbers; both are arguments.
 */
import type { AttemptError } from "./Delivery.ts"
import type { Timestamp } from "./Timestamp.ts"

/** The delays between attempts. */
export interface DeliverySchedule {
  /**
   * The delays from the end of an attempt to the next one. There is one attempt more than delays.
   */
  readonly delaysMillis: ReadonlyArray<number>
  /** By which fraction a delay is randomly longer or shorter at most. */
  readonly jitter: number
  /** How long after its event a delivery is attempted, unless somebody redelivers it. */
  readonly lifeMillis: number
}

const minute = 60_000
const hour = 60 * minute

/** The schedule of the specification. */
export const defaultSchedule: DeliverySchedule = {
  delaysMillis: [5_000, 5 * minute, 30 * minute, 2 * hour, 8 * hour],
  jitter: 0.1,
  lifeMillis: 72 * hour,
}

/** How an attempt ended. */
export type DeliveryAnswer =
  | {
      readonly _tag: "Answered"
      readonly status: number
      /** The answer's own `Retry-After`. */
      readonly retryAfter: string | undefined
    }
  | { readonly _tag: "Unanswered"; readonly error: AttemptError }

/** The next state of a delivery. */
export type Next =
  | { readonly _tag: "Retry"; readonly delayMillis: number }
  | { readonly _tag: "Delivered" }
  /** `isGone`: the receiver wants no further events of this run. */
  | { readonly _tag: "Failed"; readonly isGone: boolean }

/** The facts about a claimed delivery on which the decisions depend. */
export interface DeliveryProgress {
  /** Number of the attempt that was claimed, from 1. */
  readonly attempt: number
  /** Attempts before the last redelivery; 0 without one. */
  readonly earlier: number
  readonly createdAt: Timestamp
  /** The receiver has answered that it wants no further events of this run. */
  readonly isGone: boolean
}

const ended = { _tag: "Failed", isGone: false } as const

const lost: DeliveryAnswer = { _tag: "Unanswered", error: "unknown" }

/**
 * The next state of a delivery that must not be attempted, because the receiver is gone, all
 * attempts are used up, or its time is over. `undefined`: attempt it. A redelivery may be attempted
 * at any time.
 */
export const withheld = (
  { delaysMillis, lifeMillis }: DeliverySchedule,
  { attempt, createdAt, earlier, isGone }: DeliveryProgress,
  now: Timestamp,
): typeof ended | undefined => {
  const current = attempt - earlier
  if (isGone || current > delaysMillis.length + 1) return ended
  const isAsked = earlier > 0 && current === 1
  return !isAsked && now > createdAt + lifeMillis ? ended : undefined
}

/** Milliseconds that a `Retry-After` asks for: seconds, or a date. */
const wishOf = (retryAfter: string | undefined, now: Timestamp): number => {
  if (retryAfter === undefined) return 0
  if (/^\d{1,9}$/.test(retryAfter.trim())) return Number(retryAfter) * 1_000
  const at = Date.parse(retryAfter)
  return Number.isNaN(at) ? 0 : Math.max(0, at - now)
}

const isGood = (status: number): boolean => status >= 200 && status < 300

/** True for the statuses with which a `Retry-After` counts. */
const isBusy = (status: number): boolean => status === 429 || status === 503

/**
 * The next state of a delivery after an answer. `random` is from -1 to 1 and scales the jitter. The
 * `Retry-After` of a busy receiver makes the delay longer, up to twice the delay.
 */
export const nextOf = (
  { delaysMillis, jitter, lifeMillis }: DeliverySchedule,
  { attempt, createdAt, earlier }: DeliveryProgress,
  answer: DeliveryAnswer,
  now: Timestamp,
  random: number,
): Next => {
  if (answer._tag === "Answered" && isGood(answer.status)) return { _tag: "Delivered" }
  if (answer._tag === "Answered" && answer.status === 410) return { _tag: "Failed", isGone: true }
  const delay = delaysMillis[attempt - earlier - 1]
  if (delay === undefined) return ended
  const usual = delay * (1 + jitter * random)
  const wish =
    answer._tag === "Answered" && isBusy(answer.status) ? wishOf(answer.retryAfter, now) : 0
  const delayMillis = Math.round(Math.max(usual, Math.min(wish, 2 * delay)))
  return now + delayMillis > createdAt + lifeMillis ? ended : { _tag: "Retry", delayMillis }
}

/**
 * The next state of a delivery whose last attempt has an unknown end. The attempt counts as failed,
 * and the next one follows after the usual delay from `now` (decision 0063).
 */
export const nextOfLost = (
  schedule: DeliverySchedule,
  progress: DeliveryProgress,
  now: Timestamp,
  random: number,
): Next => (progress.isGone ? ended : nextOf(schedule, progress, lost, now, random))
