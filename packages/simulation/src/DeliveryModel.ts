/**
 * What a webhook store means for deliveries: plain lists to which the steps of `DeliveryStep` are
 * applied one by one. Real stores are compared with it.
 *
 * Guarantees: shares nothing with any store but those steps. Leaves out: signing secrets, paging,
 * and which of several deliveries a look takes; that is checked instead.
 */
import type { Delivery, DeliveryAttempt, DeliveryItem } from "@millrace/core/domain/Delivery"
import type { DeliveryStanding } from "@millrace/core/domain/DeliveryStep"
import * as Step from "@millrace/core/domain/DeliveryStep"
import type { AccountId, DeliveryId } from "@millrace/core/domain/Id"
import type { Timestamp } from "@millrace/core/domain/Timestamp"
import type { AttemptRecord, Claim, DueRequest } from "@millrace/core/ports/WebhookStore"

interface Entry {
  readonly delivery: Delivery
  standing: DeliveryStanding
  log: ReadonlyArray<DeliveryAttempt>
}

/** A claim, without what it is signed with. */
export type ModelClaim = Omit<Claim, "secrets">

const byId = (a: { readonly id: string }, b: { readonly id: string }) => (a.id < b.id ? -1 : 1)

const itemOf = ({ delivery, standing }: Entry): DeliveryItem => {
  const { accountId, createdAt, id, runId, sequence, type, url } = delivery
  const { attempts, settledAt, state } = standing
  const head = { id, accountId, runId, sequence, type, url, createdAt }
  return { ...head, state, attempts, nextAttemptAt: Step.nextAttemptAt(standing), settledAt }
}

/** Deliveries and what became of them. Mutable. */
export class DeliveryModel {
  #entries: ReadonlyArray<Entry> = []

  insert(delivery: Delivery, now: Timestamp): void {
    this.#entries = [...this.#entries, { delivery, standing: Step.inserted(now), log: [] }]
  }

  /** Those of these that are free, claimed. */
  claim(ids: ReadonlyArray<DeliveryId>, visibilityMillis: number, now: Timestamp) {
    const free = this.#entries.filter(
      ({ delivery, standing }) => ids.includes(delivery.id) && Step.isFree(standing, now),
    )
    return free
      .map((entry): ModelClaim => {
        const { claimedAt: lostAt } = entry.standing
        entry.standing = Step.claimed(entry.standing, visibilityMillis, now)
        const { attempts: attempt, earlier, fence } = entry.standing
        const isGone = this.#siblings(entry).some(({ standing }) => standing.isGone)
        return { id: entry.delivery.id, fence, attempt, earlier, isGone, lostAt }
      })
      .toSorted(byId)
  }

  /** What is wrong with a look that took these, if anything. */
  problemOf(
    request: DueRequest,
    ids: ReadonlyArray<DeliveryId>,
    now: Timestamp,
    slackMillis: number,
  ): string | undefined {
    const { busy, limit, perAccount, perOrigin } = request
    const free = this.#entries.filter(({ standing }) => Step.isFree(standing, now))
    const taken = free.filter(({ delivery }) => ids.includes(delivery.id))
    const left = free.filter(({ delivery }) => !ids.includes(delivery.id))
    const count = (of: ReadonlyArray<Entry>, key: "origin" | "accountId", name: string) =>
      of.filter(({ delivery }) => delivery[key] === name).length +
      busy.filter((each) => each[key] === name).reduce((sum, each) => sum + each.count, 0)
    const has = (of: ReadonlyArray<Entry>, { accountId, origin }: Delivery, more: number) =>
      count(of, "origin", origin) + more <= perOrigin &&
      count(of, "accountId", accountId) + more <= perAccount
    if (taken.length !== ids.length) return "it took what was not due, or in somebody's hand"
    if (taken.length > limit) return "it took more than its limit"
    if (!taken.every(({ delivery }) => has(taken, delivery, 0))) return "it took more than a bound"
    const dueAt = ({ standing }: Entry) => Step.nextAttemptAt(standing) ?? 0
    const isPassed = (one: Entry, other: Entry) =>
      one.delivery.origin === other.delivery.origin &&
      one.delivery.accountId === other.delivery.accountId &&
      dueAt(one) + slackMillis < dueAt(other)
    if (left.some((one) => taken.some((other) => isPassed(one, other)))) {
      return "within a partition it took a later one before an earlier one"
    }
    if (taken.length === 0 && limit > 0 && left.some(({ delivery }) => has([], delivery, 1))) {
      return "it took nothing, though there was something to take"
    }
    // If all free deliveries fit into every bound, the claim must have taken all of them.
    const isLoose = free.length <= limit && free.every(({ delivery }) => has(free, delivery, 0))
    return isLoose && left.length > 0 ? "it left something, though there was room" : undefined
  }

  record(record: AttemptRecord, now: Timestamp): boolean {
    const { attempt, number } = record
    const entry = this.#entries.find(({ delivery }) => delivery.id === record.id)
    if (entry === undefined) return false
    if (Step.isHeld(entry.standing, record)) {
      const change = Step.changeOf(record)
      entry.standing = Step.changed(entry.standing, change, now)
      const nextAt = entry.standing.dueAt
      if (attempt !== null) entry.log = [...entry.log, { ...attempt, number, nextAt }]
      if (change.isGone) this.#each(entry, (standing) => Step.receiverGone(standing, now))
      return true
    }
    const logged = entry.log.find((each) => each.number === number)
    const late = Step.lateChangeOf(entry.standing, record, logged?.error, now)
    if (late === undefined) return false
    const others = entry.log.filter((each) => !late.log.some((row) => row.number === each.number))
    entry.log = [...others, ...late.log].toSorted((a, b) => a.number - b.number)
    entry.standing = late.standing
    return true
  }

  redeliver(account: AccountId | null, id: DeliveryId, now: Timestamp): DeliveryItem | null {
    const entry = this.#own(account).find(({ delivery }) => delivery.id === id)
    if (entry === undefined) return null
    this.#reopen(entry, now)
    return itemOf(entry)
  }

  redeliverFailed(account: AccountId | null, since: Timestamp, now: Timestamp): number {
    const failed = this.#own(account).filter(
      ({ delivery, standing }) => standing.state === "FAILED" && delivery.createdAt >= since,
    )
    for (const entry of failed) this.#reopen(entry, now)
    return failed.length
  }

  /** Removes all that have ended. */
  forget(): void {
    this.#entries = this.#entries.filter(({ standing }) => standing.state === "PENDING")
  }

  find(id: DeliveryId) {
    const entry = this.#entries.find(({ delivery }) => delivery.id === id)
    if (entry === undefined) return null
    return { item: itemOf(entry), body: entry.delivery.body, attempts: entry.log }
  }

  /** The identifiers of an account's deliveries in a state, in no order. */
  list(account: AccountId, state: DeliveryItem["state"]): ReadonlyArray<string> {
    const found = this.#own(account).filter(({ standing }) => standing.state === state)
    return found.map(({ delivery }) => delivery.id).toSorted()
  }

  #own(account: AccountId | null): ReadonlyArray<Entry> {
    return this.#entries.filter(
      ({ delivery }) => account === null || delivery.accountId === account,
    )
  }

  #siblings({ delivery: { runId } }: Entry): ReadonlyArray<Entry> {
    return this.#entries.filter(({ delivery }) => runId !== null && delivery.runId === runId)
  }

  #each(entry: Entry, step: (standing: DeliveryStanding) => DeliveryStanding): void {
    for (const each of this.#siblings(entry)) each.standing = step(each.standing)
  }

  #reopen(entry: Entry, now: Timestamp): void {
    this.#each(entry, Step.notGone)
    entry.standing = Step.redelivered(entry.standing, now)
  }
}
