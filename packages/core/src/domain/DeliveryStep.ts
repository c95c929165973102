/**
 * What a delivery does next: the rules for every step of it, from its insert to its end
 * (specification 6.2).
 *
 * Guarantees: data and pure functions, which all stores and dispatchers share; a store writes what
 * these return, under the condition that they name, and has no rules of its own. Leaves out: clocks
 * and random numbers, which are arguments; which deliveries are claimed first; sending.
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

/** How far a delivery is, as a store keeps it. */
export interface DeliveryStanding {
  readonly state: DeliveryState
  /** Attempts that have begun. */
  readonly attempts: number
  /** How many of them began before it was last asked for by hand. */
  readonly earlier: number
  /** Rises with every claim; only the last claim may record. */
  readonly fence: number
  /** From when on it may be claimed; `null` once it has ended. */
  readonly dueAt: Timestamp | null
  /** When the attempt was claimed that nobody has recorded yet. */
  readonly claimedAt: Timestamp | null
  /** Until when nobody else may claim it. */
  readonly heldUntil: Timestamp | null
  /** When it ended. */
  readonly settledAt: Timestamp | null
  /** Its receiver has answered that it wants nothing more of the run. */
  readonly isGone: boolean
}

/** What was attempted, but for its number and what follows. */
export type Attempted = Omit<DeliveryAttempt, "number" | "nextAt">

/** What came of a claim. Where nothing was sent, nothing was delivered. */
export type DeliveryOutcome =
  | { readonly attempt: Attempted; readonly next: Next }
  | { readonly attempt: null; readonly next: Exclude<Next, { readonly _tag: "Delivered" }> }

/** An outcome, and the claim it came of: its number and the number of its attempt. */
export type RecordedOutcome = DeliveryOutcome & { readonly fence: number; readonly number: number }

/** What the record of an outcome writes, under the condition {@link isHeld}. */
export interface DeliveryChange {
  readonly state: DeliveryState
  readonly attempts: number
  /** When it is due again, from now; `null` where it has ended. */
  readonly delayMillis: number | null
  /** Its receiver is gone, so the others of its run are {@link dueNow}. */
  readonly isGone: boolean
}

/** What a late record writes: the standing, and rows of the log that are added or replaced. */
export interface LateChange {
  readonly standing: DeliveryStanding
  readonly log: ReadonlyArray<DeliveryAttempt>
}

/** One that has just been stored. */
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

/** From when on it can be claimed; `null`: no more. */
export const nextAttemptAt = ({ dueAt, heldUntil }: DeliveryStanding): Timestamp | null =>
  heldUntil ?? dueAt

/** It is due and in nobody's hand, or no longer in time. */
export const isFree = (standing: DeliveryStanding, now: Timestamp): boolean => {
  const at = nextAttemptAt(standing)
  return at !== null && at <= now
}

/**
 * A claim of one that is free. Where an earlier claim was never recorded, this one is for recording
 * its attempt, which began at `claimedAt`, and no further attempt.
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

/** Whoever has claimed it records an attempt that it does not know the end of. */
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

/** A claim, as far as what follows depends on it. */
export interface ClaimProgress extends DeliveryProgress {
  /** When the attempt began that nobody has recorded; `null`: one is to be made now. */
  readonly lostAt: Timestamp | null
}

/**
 * What is recorded of a claim without an attempt: a lost one, or that none is to be made any more.
 * `undefined`: the attempt is to be made.
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

/** What an attempt that is over makes of its claim. */
export const outcomeOf = (
  schedule: DeliverySchedule,
  claim: ClaimProgress,
  { answer, attempt }: { readonly answer: DeliveryAnswer; readonly attempt: Attempted },
  now: Timestamp,
  random: number,
): DeliveryOutcome => ({ attempt, next: nextOf(schedule, claim, answer, now, random) })

/** A claim whose attempt was not made is given back; it may be claimed again after a while. */
export const givenBack = (delayMillis: number): DeliveryOutcome => ({
  attempt: null,
  next: { _tag: "Retry", delayMillis },
})

/** The claim is the last one, and its attempt is not recorded: then an outcome may be. */
export const isHeld = (
  { attempts, claimedAt, fence }: DeliveryStanding,
  record: RecordedOutcome,
): boolean => claimedAt !== null && fence === record.fence && attempts === record.number

const states = { Retry: "PENDING", Delivered: "DELIVERED", Failed: "FAILED" } as const

/** What is written where {@link isHeld}. A claim without an attempt gives its number back. */
export const changeOf = ({ attempt, next, number }: RecordedOutcome): DeliveryChange => ({
  state: states[next._tag],
  attempts: attempt === null ? number - 1 : number,
  delayMillis: next._tag === "Retry" ? next.delayMillis : null,
  isGone: next._tag === "Failed" && next.isGone,
})

/** The standing after a change. */
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
 * What is written where not {@link isHeld}: that the receiver took the delivery is a fact, however
 * late it is told. `logged` is the error that the log has of that attempt, `null` where that
 * delivered, `undefined` where the log has no such attempt.
 * `undefined`: nothing is written.
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

/** Somebody asks for it, or for another one of its run, by hand: the receiver counts as there. */
export const notGone = (standing: DeliveryStanding): DeliveryStanding =>
  standing.isGone ? { ...standing, isGone: false } : standing

/** Somebody asks for it by hand. It is due, unless it is in somebody's hand. */
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

/** The receiver of its run is gone: what waits is due, so that it is ended soon. */
export const dueNow = (standing: DeliveryStanding, now: Timestamp): DeliveryStanding =>
  standing.dueAt === null || standing.claimedAt !== null ? standing : { ...standing, dueAt: now }
