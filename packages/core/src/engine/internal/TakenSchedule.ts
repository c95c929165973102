/**
 * A schedule that a process has claimed, while it looks after its times: what became of them, and
 * the advance that says so.
 */
import { triggerLeaseMillis, triggerPollMillis } from "../../domain/Limits.ts"
import { missedDeliveryOf } from "../../domain/Payload.ts"
import type { Timestamp } from "../../domain/Timestamp.ts"
import type { Schedule } from "../../domain/Trigger.ts"
import { dueAtOf, runIdAt } from "../../domain/Trigger.ts"
import type { TriggerAdvance } from "../../ports/TriggerStore.ts"

/** Mutable. */
export class TakenSchedule {
  readonly #claimed: Schedule
  readonly #nextAt: Timestamp | null
  /** The schedule as it is by now. */
  schedule: Schedule
  /** The time that waits for the end of a run. */
  waitingAt: Timestamp | null = null

  /** `nextAt` is the next time behind those that are looked at now. */
  constructor(claimed: Schedule, nextAt: Timestamp | null) {
    this.#claimed = claimed
    this.#nextAt = nextAt
    this.schedule = claimed
  }

  /** A time has its run. A later one may have one already. */
  started(at: Timestamp): void {
    const { id, lastAt } = this.schedule
    if (lastAt !== null && lastAt >= at) return
    this.schedule = { ...this.schedule, lastAt: at, lastRunId: runIdAt(id, at) }
  }

  /** So many times have started no run; `at` is the last one. */
  missed(at: Timestamp, why: string, count = 1): void {
    const missed = this.schedule.missed + count
    const { lastMissedAt } = this.schedule
    const isLast = lastMissedAt === null || at >= lastMissedAt
    const last = isLast ? { lastMissedAt: at, lastError: why } : {}
    this.schedule = { ...this.schedule, ...last, missed }
  }

  /** What is known of this time and of those from `following` on is found out by the next claim. */
  again(at: Timestamp, following: Timestamp | undefined, now: Timestamp): TriggerAdvance {
    const isWaiting = at === this.#claimed.waitingAt
    const nextAt = isWaiting ? (following ?? this.#nextAt) : at
    const waitingAt = isWaiting ? at : null
    return this.#advance({ nextAt, waitingAt, dueAt: now + triggerLeaseMillis }, now)
  }

  /** All times were looked at. While one waits, somebody looks after the run that it waits for. */
  advance(now: Timestamp): TriggerAdvance {
    const { waitingAt } = this
    const nextAt = this.#nextAt
    const nextDueAt = dueAtOf(this.#claimed, nextAt)
    const dueAt =
      waitingAt === null ? nextDueAt : Math.min(nextDueAt ?? Infinity, now + triggerPollMillis)
    return this.#advance({ nextAt, waitingAt, dueAt }, now)
  }

  #advance(
    times: Pick<TriggerAdvance, "nextAt" | "waitingAt" | "dueAt">,
    now: Timestamp,
  ): TriggerAdvance {
    const { fence, id, lastAt, lastError, lastMissedAt, lastRunId } = this.schedule
    const facts = { lastAt, lastRunId, lastMissedAt, lastError }
    const missed = this.schedule.missed - this.#claimed.missed
    const delivery = missedDeliveryOf(this.schedule, missed, now)
    return { id, fence, ...times, missed, ...facts, delivery }
  }
}
