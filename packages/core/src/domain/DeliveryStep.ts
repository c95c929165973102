/**
 * The rules for every step of a delivery, from its insert to its end (specification 6.2).
 *
 * Guarantees: data and pure functions, which all stores and dispatchers share. A store has no rules
 * of its own: it writes what these functions return, under the condition that they name. Leaves
 * out: clocks and random numbers, which are arguments; the order of claims; sending.
 */
import type { AttemptError, DeliveryAttempt, DeliveryState } from "./Delivery.ts"
import type {
  DeliveryAnswer,
  DeliveryProgress,
  DeliverySchedule,
  Next,
} from "./DeliverySchedule.ts"
import { nextOf, nextOfLost, withheld } from "./DeliverySchedule.ts"
import type { Timestamp } from "./Timestamp.ts"

/** The state of a delivery, as a store keeps it. */
export interface DeliveryStanding {
  readonly state: DeliveryState
  /** Attempts that have begun. */
  readonly attempts: number
  /** How many of them began before the last redelivery. */
  readonly earlier: number
  /** Rises with every claim; only the last claim may record. */
  readonly fence: number
  /** When it may be claimed; `null` once it has ended. */
  readonly dueAt: Timestamp | null
  /** When the attempt was claimed that is not recorded yet; `null` if there is none. */
  readonly claimedAt: Timestamp | null
  /** Until when no other dispatcher may claim it. */
  readonly heldUntil: Timestamp | null
  /** When it ended. */
  readonly settledAt: Timestamp | null
  /** The receiver has answered that it wants no further events of the run. */
  readonly isGone: boolean
}

/** An attempt without its number and without the time of the next one. */
export type Attempted = Omit<DeliveryAttempt, "number" | "nextAt">

/** The outcome of a claim. */
export type DeliveryOutcome =
  | { readonly attempt: Attempted; readonly next: Next }
  | { readonly attempt: null; readonly next: Exclude<Next, { readonly _tag: "Delivered" }> }

/** An outcome with the fence of its claim and the number of its attempt. */
export type RecordedOutcome = DeliveryOutcome & { readonly fence: number; readonly number: number }

/** What the record of an outcome writes, under the condition {@link isHeld}. */
export interface DeliveryChange {
  readonly state: DeliveryState
  readonly attempts: number
  /** In how many milliseconds it is due again; `null` if it has ended. */
  readonly delayMillis: number | null
  /** The receiver is gone, so {@link receiverGone} holds for the other deliveries of the run. */
  readonly isGone: boolean
}

/** What a late record writes: the new state, and rows of the log that are added or replaced. */
export interface LateChange {
  readonly standing: DeliveryStanding
  readonly log: ReadonlyArray<DeliveryAttempt>
}

/** The state of a new delivery. */
export const inserted = (now: Timestamp): DeliveryStanding => ({
  state: "PENDING",
  attempts: 0,
  earlier: 0,
  fence: 0,
  dueAt: now,
  claimedAt: null,
  heldUntil: null,
  settledAt: null,
  isGone: false,
})

/** When it can be claimed; `null` if it has ended. */
export const nextAttemptAt = ({ dueAt, heldUntil }: DeliveryStanding): Timestamp | null =>
  heldUntil ?? dueAt

/** True if it is due and no dispatcher holds it, or the holder has not recorded it in time. */
export const isFree = (standing: DeliveryStanding, now: Timestamp): boolean => {
  const at = nextAttemptAt(standing)
  return at !== null && at <= now
}

/**
 * The state after a claim of a free delivery. If an earlier claim was never recorded, the new claim
 * records that attempt, which began at `claimedAt`, and makes no further attempt.
 */
export const claimed = (
  standing: DeliveryStanding,
  visibilityMillis: number,
  now: Timestamp,
): DeliveryStanding => ({
  ...standing,
  fence: standing.fence + 1,
  attempts: standing.attempts + (standing.claimedAt === null ? 1 : 0),
  claimedAt: standing.claimedAt ?? now,
  heldUntil: now + visibilityMillis,
})

const unknown = { durationMillis: null, status: null, error: "unknown", answer: null } as const

/** The outcome that records an attempt with an unknown end. */
const lost = (
  schedule: DeliverySchedule,
  progress: DeliveryProgress,
  lostAt: Timestamp,
  now: Timestamp,
  random: number,
): DeliveryOutcome => ({
  attempt: { at: lostAt, ...unknown },
  next: nextOfLost(schedule, progress, now, random),
})

/** The facts about a claim on which its outcome depends. */
export interface ClaimProgress extends DeliveryProgress {
  /** When the lost attempt began that this claim records; `null` if it makes an attempt. */
  readonly lostAt: Timestamp | null
}

/**
 * The outcome of a claim that makes no attempt: it records a lost one, or ends the delivery.
 * `undefined`: make the attempt.
 */
export const outcomeWithoutAttempt = (
  schedule: DeliverySchedule,
  claim: ClaimProgress,
  now: Timestamp,
  random: number,
): DeliveryOutcome | undefined => {
  if (claim.lostAt !== null) return lost(schedule, claim, claim.lostAt, now, random)
  const next = withheld(schedule, claim, now)
  return next === undefined ? undefined : { attempt: null, next }
}

/** The outcome of a claim whose attempt has ended. */
export const outcomeOf = (
  schedule: DeliverySchedule,
  claim: ClaimProgress,
  { answer, attempt }: { readonly answer: DeliveryAnswer; readonly attempt: Attempted },
  now: Timestamp,
  random: number,
): DeliveryOutcome => ({ attempt, next: nextOf(schedule, claim, answer, now, random) })

/** The outcome of a claim that is given back without an attempt. It is due after the delay. */
export const givenBack = (delayMillis: number): DeliveryOutcome => ({
  attempt: null,
  next: { _tag: "Retry", delayMillis },
})

/**
 * True if this is the latest claim and its attempt is not recorded. Then an outcome is recorded.
 */
export const isHeld = (
  { attempts, claimedAt, fence }: DeliveryStanding,
  record: RecordedOutcome,
): boolean => claimedAt !== null && fence === record.fence && attempts === record.number

const states = { Retry: "PENDING", Delivered: "DELIVERED", Failed: "FAILED" } as const

/** What is written if {@link isHeld}. If nothing was sent, the attempt's number is used again. */
export const changeOf = ({ attempt, next, number }: RecordedOutcome): DeliveryChange => ({
  state: states[next._tag],
  attempts: attempt === null ? number - 1 : number,
  delayMillis: next._tag === "Retry" ? next.delayMillis : null,
  isGone: next._tag === "Failed" && next.isGone,
})

/** The state after a change. */
export const changed = (
  standing: DeliveryStanding,
  { attempts, delayMillis, isGone, state }: DeliveryChange,
  now: Timestamp,
): DeliveryStanding => ({
  ...standing,
  state,
  attempts,
  isGone,
  dueAt: delayMillis === null ? null : now + delayMillis,
  claimedAt: null,
  heldUntil: null,
  settledAt: delayMillis === null ? now : null,
})

/**
 * What is written if not {@link isHeld}. A success is recorded however late it comes, because the
 * receiver has the delivery. `logged` is the error that the log has for that attempt: `null` if the
 * attempt delivered, `undefined` if the log does not have it. Returns `undefined` if nothing is
 * written.
 */
export const lateChangeOf = (
  standing: DeliveryStanding,
  { attempt, next, number }: RecordedOutcome,
  logged: AttemptError | null | undefined,
  now: Timestamp,
): LateChange | undefined => {
  if (attempt === null || next._tag !== "Delivered") return undefined
  const { attempts, claimedAt, dueAt, earlier } = standing
  const isUnrecorded = logged === undefined && claimedAt !== null && attempts === number
  if (logged !== "unknown" && !isUnrecorded) return undefined
  const made = { ...attempt, number, nextAt: null }
  // Somebody has asked for it since, so it is sent all the same.
  if (dueAt !== null && number <= earlier) return { standing, log: [made] }
  const isUnderWay = claimedAt !== null && attempts > number
  const other = { number: attempts, at: claimedAt ?? now, ...unknown, nextAt: null }
  return {
    standing: {
      ...standing,
      state: "DELIVERED",
      dueAt: null,
      claimedAt: null,
      heldUntil: null,
      settledAt: now,
    },
    log: isUnderWay ? [made, other] : [made],
  }
}

/**
 * The state after a redelivery of this or another delivery of the run: the receiver is not gone.
 */
export const notGone = (standing: DeliveryStanding): DeliveryStanding =>
  standing.isGone ? { ...standing, isGone: false } : standing

/** The state after a redelivery. It is due now, unless a dispatcher holds it. */
export const redelivered = (standing: DeliveryStanding, now: Timestamp): DeliveryStanding =>
  standing.claimedAt !== null
    ? notGone(standing)
    : {
        ...standing,
        state: "PENDING",
        earlier: standing.attempts,
        dueAt: now,
        settledAt: null,
        isGone: false,
      }

/** The state after the receiver of its run is gone. It is due now, so that it ends soon. */
export const receiverGone = (standing: DeliveryStanding, now: Timestamp): DeliveryStanding =>
  standing.dueAt === null || standing.claimedAt !== null ? standing : { ...standing, dueAt: now }
