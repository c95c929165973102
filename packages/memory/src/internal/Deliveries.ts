/**
 * All deliveries of the stores in memory: the run store puts them in with its commits, the webhook
 * store takes them out.
 *
 * Guarantees: every method is one synchronous step. Leaves out: signing secrets.
 */
import type {
  Delivery,
  DeliveryAttempt,
  DeliveryItem,
  DeliveryRecord,
} from "@millrace/core/domain/Delivery"
import type { DeliveryId } from "@millrace/core/domain/Id"
import type { Page } from "@millrace/core/domain/Page"
import type { Timestamp } from "@millrace/core/domain/Timestamp"
import type {
  Claim,
  DeliveryQuery,
  DueRequest,
  Scope,
  AttemptRecord,
} from "@millrace/core/ports/WebhookStore"
import { Context, Layer } from "effect"
import * as Timeline from "./Timeline.ts"

interface Entry {
  readonly id: DeliveryId
  readonly createdAt: Timestamp
  readonly delivery: Delivery
  readonly log: Array<DeliveryAttempt>
  item: DeliveryItem
  earlier: number
  fence: number
  isGone: boolean
  /** When its attempt was claimed that nobody has recorded yet; `undefined`: there is none. */
  claimedAt: Timestamp | undefined
  /** Its place among those that are due; `undefined` once it has ended. */
  due: Due | undefined
}

/** A place in the order in which deliveries are due. */
interface Due {
  readonly id: DeliveryId
  readonly createdAt: Timestamp
  readonly entry: Entry
}

/** A claim and its delivery, without the account's secrets, which are kept elsewhere. */
export interface Taken extends Omit<Claim, "secrets"> {
  readonly delivery: Delivery
}

const itemOf = ({
  accountId,
  createdAt,
  id,
  runId,
  sequence,
  type,
  url,
}: Delivery): DeliveryItem => ({
  id,
  accountId,
  runId,
  sequence,
  type,
  url,
  createdAt,
  state: "PENDING",
  attempts: 0,
  nextAttemptAt: createdAt,
  settledAt: null,
})

/** Counts against a bound, beginning with what is in hand already. */
class Room {
  readonly #counts = new Map<string, number>()
  readonly #bound: number

  constructor(bound: number) {
    this.#bound = bound
  }

  add(key: string, count: number): void {
    this.#counts.set(key, (this.#counts.get(key) ?? 0) + count)
  }

  has(key: string): boolean {
    return (this.#counts.get(key) ?? 0) < this.#bound
  }
}

export class Deliveries extends Context.Service<Deliveries, Outbox>()(
  "@millrace/memory/Deliveries",
) {
  /** None yet. */
  static readonly layer: Layer.Layer<Deliveries> = Layer.sync(Deliveries, () => new Outbox())
}

/** The deliveries of one store. Mutable. */
export class Outbox {
  readonly #entries = new Map<DeliveryId, Entry>()
  readonly #all = Timeline.make<Entry>()
  readonly #due = Timeline.make<Due>()
  readonly #byRun = new Map<string, Array<Entry>>()

  /** Puts new deliveries in; one that is there already stays as it is. */
  insert(deliveries: ReadonlyArray<Delivery>, now: Timestamp): void {
    for (const delivery of deliveries) {
      const { createdAt, id, runId } = delivery
      if (this.#entries.has(id)) continue
      const entry: Entry = {
        id,
        createdAt,
        delivery,
        log: [],
        item: itemOf(delivery),
        earlier: 0,
        fence: 0,
        isGone: false,
        claimedAt: undefined,
        due: undefined,
      }
      this.#entries.set(id, entry)
      this.#all.add(entry)
      this.#setDue(entry, now)
      if (runId === null) continue
      const siblings = this.#byRun.get(runId)
      if (siblings === undefined) this.#byRun.set(runId, [entry])
      else siblings.push(entry)
    }
  }

  claimDue(request: DueRequest, now: Timestamp): ReadonlyArray<Taken> {
    const origins = new Room(request.perOrigin)
    const accounts = new Room(request.perAccount)
    for (const { accountId, count, origin } of request.busy) {
      origins.add(origin, count)
      accounts.add(accountId, count)
    }
    const chosen: Array<Entry> = []
    for (const { createdAt, entry } of this.#due.items) {
      if (createdAt > now || chosen.length >= request.limit) break
      const { accountId, origin } = entry.delivery
      if (!origins.has(origin) || !accounts.has(accountId)) continue
      origins.add(origin, 1)
      accounts.add(accountId, 1)
      chosen.push(entry)
    }
    return chosen.map((entry) => this.#take(entry, now, request.visibilityMillis))
  }

  claim(
    ids: ReadonlyArray<DeliveryId>,
    visibilityMillis: number,
    now: Timestamp,
  ): ReadonlyArray<Taken> {
    return [...new Set(ids)].flatMap((id) => {
      const entry = this.#entries.get(id)
      const at = entry?.due?.createdAt
      if (entry === undefined || at === undefined || at > now) return []
      return [this.#take(entry, now, visibilityMillis)]
    })
  }

  record(record: AttemptRecord, now: Timestamp): boolean {
    const { attempt, fence, id, next } = record
    const entry = this.#entries.get(id)
    if (entry === undefined) return false
    if (entry.fence !== fence || entry.claimedAt === undefined) {
      return this.#settleLate(entry, record, now)
    }
    const nextAt = next._tag === "Retry" ? now + next.delayMillis : null
    const number = entry.item.attempts
    if (attempt === null) this.#update(entry, { attempts: number - 1 })
    else entry.log.push({ ...attempt, number, nextAt })
    entry.claimedAt = undefined
    if (nextAt !== null) this.#setDue(entry, nextAt)
    else {
      this.#setDue(entry, undefined)
      this.#update(entry, {
        state: next._tag === "Delivered" ? "DELIVERED" : "FAILED",
        settledAt: now,
      })
    }
    if (next._tag === "Failed" && next.isGone) this.#markGone(entry, now)
    return true
  }

  find(account: Scope, id: DeliveryId): DeliveryRecord | undefined {
    const entry = this.#own(account, id)
    if (entry === undefined) return undefined
    return { item: entry.item, body: entry.delivery.body, attempts: [...entry.log] }
  }

  list(query: DeliveryQuery): Page<DeliveryItem> {
    const { account, runId, state } = query
    return this.#all.page(query, ({ item }) =>
      (account === null || item.accountId === account) &&
      (runId === undefined || item.runId === runId) &&
      (state === undefined || item.state === state)
        ? item
        : undefined,
    )
  }

  redeliver(account: Scope, id: DeliveryId, now: Timestamp): DeliveryItem | undefined {
    const entry = this.#own(account, id)
    if (entry === undefined) return undefined
    this.#reopen(entry, now)
    return entry.item
  }

  redeliverFailed(account: Scope, since: Timestamp, now: Timestamp): number {
    const failed = this.#all.items.filter(
      ({ item }) =>
        item.state === "FAILED" &&
        item.createdAt >= since &&
        (account === null || item.accountId === account),
    )
    for (const entry of failed) this.#reopen(entry, now)
    return failed.length
  }

  forget(before: Timestamp, limit: number): number {
    const old = this.#all.items.filter(({ item }) => (item.settledAt ?? before) < before)
    const forgotten = old.slice(0, limit)
    for (const entry of forgotten) {
      this.#entries.delete(entry.id)
      this.#all.remove(entry)
      const siblings = this.#siblings(entry).filter((each) => each !== entry)
      if (siblings.length === 0) this.#byRun.delete(entry.delivery.runId ?? "")
      else this.#byRun.set(entry.delivery.runId ?? "", siblings)
    }
    return forgotten.length
  }

  #own(account: Scope, id: DeliveryId): Entry | undefined {
    const entry = this.#entries.get(id)
    return account === null || entry?.delivery.accountId === account ? entry : undefined
  }

  #siblings({ delivery }: Entry): ReadonlyArray<Entry> {
    return delivery.runId === null ? [] : (this.#byRun.get(delivery.runId) ?? [])
  }

  #update(entry: Entry, change: Partial<DeliveryItem>): void {
    entry.item = { ...entry.item, ...change }
  }

  #setDue(entry: Entry, at: Timestamp | undefined): void {
    if (entry.due !== undefined) this.#due.remove(entry.due)
    entry.due = at === undefined ? undefined : { id: entry.id, createdAt: at, entry }
    if (entry.due !== undefined) this.#due.add(entry.due)
    this.#update(entry, { nextAttemptAt: at ?? null })
  }

  /** Takes note of a delivery that was made, from somebody whose claim has run out. */
  #settleLate(entry: Entry, { attempt, next, number }: AttemptRecord, now: Timestamp): boolean {
    if (attempt === null || next._tag !== "Delivered") return false
    const place = entry.log.findIndex((row) => row.number === number && row.error === "unknown")
    const { attempts } = entry.item
    const isUnsettled = entry.claimedAt !== undefined && attempts === number
    if (place < 0 && !isUnsettled) return false
    entry.log.splice(place < 0 ? entry.log.length : place, 1, { ...attempt, number, nextAt: null })
    if (entry.due !== undefined && number <= entry.earlier) return true
    if (entry.claimedAt !== undefined && !isUnsettled) {
      // An attempt that is under way is known to have begun, and nothing else of it.
      const unknown = { durationMillis: null, status: null, error: "unknown" } as const
      const [at, nextAt, answer] = [entry.claimedAt, null, null]
      entry.log.push({ number: attempts, at, nextAt, answer, ...unknown })
    }
    entry.claimedAt = undefined
    this.#setDue(entry, undefined)
    this.#update(entry, { state: "DELIVERED", settledAt: now })
    return true
  }

  #take(entry: Entry, now: Timestamp, visibilityMillis: number): Taken {
    const lostAt = entry.claimedAt ?? null
    entry.claimedAt ??= now
    entry.fence += 1
    if (lostAt === null) this.#update(entry, { attempts: entry.item.attempts + 1 })
    this.#setDue(entry, now + visibilityMillis)
    const { delivery, earlier, fence, id, item } = entry
    const isGone = this.#siblings(entry).some((each) => each.isGone)
    return { id, delivery, fence, attempt: item.attempts, earlier, isGone, lostAt }
  }

  #markGone(entry: Entry, now: Timestamp): void {
    entry.isGone = true
    for (const each of this.#siblings(entry)) {
      if (each.due !== undefined && each.claimedAt === undefined) this.#setDue(each, now)
    }
  }

  #reopen(entry: Entry, now: Timestamp): void {
    for (const each of [entry, ...this.#siblings(entry)]) each.isGone = false
    if (entry.claimedAt !== undefined) return
    entry.earlier = entry.item.attempts
    this.#update(entry, { state: "PENDING", settledAt: null })
    this.#setDue(entry, now)
  }
}
