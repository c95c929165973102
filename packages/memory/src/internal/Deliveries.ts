/**
 * All deliveries of the stores in memory. Commits of the run store add them; the webhook store has
 * all other operations.
 *
 * Guarantees: every method is one synchronous step. Leaves out: signing secrets.
 */
import type {
  Delivery,
  DeliveryAttempt,
  DeliveryItem,
  DeliveryRecord,
} from "@millrace/core/domain/Delivery"
import type { DeliveryStanding } from "@millrace/core/domain/DeliveryStep"
import * as DeliveryStep from "@millrace/core/domain/DeliveryStep"
import type { DeliveryId, RunId, WorkflowId } from "@millrace/core/domain/Id"
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
  /** The finished attempts, in order. */
  log: ReadonlyArray<DeliveryAttempt>
  standing: DeliveryStanding
  /** Its place among the due deliveries; `undefined` once it has ended. */
  due: Due | undefined
}

/** A place in the order in which deliveries are due. */
interface Due {
  readonly id: DeliveryId
  readonly createdAt: Timestamp
  readonly entry: Entry
}

/** A claim and its delivery, without the account's secrets. */
export interface Taken extends Omit<Claim, "secrets"> {
  readonly delivery: Delivery
}

const itemOf = ({ delivery, standing }: Entry): DeliveryItem => {
  const { accountId, createdAt, id, runId, sequence, type, url } = delivery
  const { attempts, settledAt, state } = standing
  const nextAttemptAt = DeliveryStep.nextAttemptAt(standing)
  const head = { id, accountId, runId, sequence, type, url, createdAt }
  return { ...head, state, attempts, nextAttemptAt, settledAt }
}

/** Whose deliveries are meant. */
type Seen = Pick<DeliveryQuery, "account" | "workflows">

/** Counts deliveries by a key, up to a bound. */
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
  static readonly layer: Layer.Layer<Deliveries> = Layer.sync(Deliveries, () => new Outbox())
}

/** The deliveries of one store. Mutable. */
export class Outbox {
  readonly #entries = new Map<DeliveryId, Entry>()
  readonly #all = Timeline.make<Entry>()
  readonly #due = Timeline.make<Due>()
  readonly #byRun = new Map<string, Array<Entry>>()
  /** Says of which workflow a run is. The run store, which knows that, sets it. */
  workflowOf: (run: RunId) => WorkflowId | undefined = () => undefined

  /** Adds deliveries. One that exists stays unchanged. */
  insert(deliveries: ReadonlyArray<Delivery>, now: Timestamp): void {
    for (const delivery of deliveries) {
      const { createdAt, id, runId } = delivery
      if (this.#entries.has(id)) continue
      const standing = DeliveryStep.inserted(now)
      const entry: Entry = { id, createdAt, delivery, log: [], standing, due: undefined }
      this.#entries.set(id, entry)
      this.#all.add(entry)
      this.#write(entry, standing)
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
      if (entry === undefined || !DeliveryStep.isFree(entry.standing, now)) return []
      return [this.#take(entry, now, visibilityMillis)]
    })
  }

  record(record: AttemptRecord, now: Timestamp): boolean {
    const { attempt, id, number } = record
    const entry = this.#entries.get(id)
    if (entry === undefined) return false
    if (!DeliveryStep.isHeld(entry.standing, record)) return this.#recordLate(entry, record, now)
    const change = DeliveryStep.changeOf(record)
    this.#write(entry, DeliveryStep.changed(entry.standing, change, now))
    const nextAt = DeliveryStep.nextAttemptAt(entry.standing)
    if (attempt !== null) entry.log = [...entry.log, { ...attempt, number, nextAt }]
    if (!change.isGone) return true
    for (const each of this.#siblings(entry)) {
      this.#write(each, DeliveryStep.receiverGone(each.standing, now))
    }
    return true
  }

  find(account: Scope, id: DeliveryId): DeliveryRecord | undefined {
    const entry = this.#own(account, id)
    if (entry === undefined) return undefined
    return { item: itemOf(entry), body: entry.delivery.body, attempts: entry.log }
  }

  list(query: DeliveryQuery): Page<DeliveryItem> {
    const { runId, state } = query
    return this.#all.page(query, (entry) =>
      this.#isSeen(query, entry) &&
      (runId === undefined || entry.delivery.runId === runId) &&
      (state === undefined || entry.standing.state === state)
        ? itemOf(entry)
        : undefined,
    )
  }

  redeliver(account: Scope, id: DeliveryId, now: Timestamp): DeliveryItem | undefined {
    const entry = this.#own(account, id)
    if (entry === undefined) return undefined
    this.#reopen(entry, now)
    return itemOf(entry)
  }

  redeliverFailed(seen: Seen, since: Timestamp, now: Timestamp): number {
    const failed = this.#all.items.filter(
      (entry) =>
        entry.standing.state === "FAILED" && entry.createdAt >= since && this.#isSeen(seen, entry),
    )
    for (const entry of failed) this.#reopen(entry, now)
    return failed.length
  }

  forget(before: Timestamp, limit: number): number {
    const old = this.#all.items.filter(({ standing }) => (standing.settledAt ?? before) < before)
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

  #isSeen({ account, workflows }: Seen, { delivery: { accountId, runId } }: Entry): boolean {
    if (account !== null && accountId !== account) return false
    if (workflows === undefined) return true
    const workflow = runId === null ? undefined : this.workflowOf(runId)
    return workflow !== undefined && workflows.includes(workflow)
  }

  #siblings({ delivery }: Entry): ReadonlyArray<Entry> {
    return delivery.runId === null ? [] : (this.#byRun.get(delivery.runId) ?? [])
  }

  #write(entry: Entry, standing: DeliveryStanding): void {
    const at = DeliveryStep.nextAttemptAt(standing)
    entry.standing = standing
    if (entry.due?.createdAt === at) return
    if (entry.due !== undefined) this.#due.remove(entry.due)
    entry.due = at === null ? undefined : { id: entry.id, createdAt: at, entry }
    if (entry.due !== undefined) this.#due.add(entry.due)
  }

  #recordLate(entry: Entry, record: AttemptRecord, now: Timestamp): boolean {
    const logged = entry.log.find(({ number }) => number === record.number)
    const change = DeliveryStep.lateChangeOf(entry.standing, record, logged?.error, now)
    if (change === undefined) return false
    const rows = new Map([...entry.log, ...change.log].map((each) => [each.number, each]))
    entry.log = [...rows.values()]
    this.#write(entry, change.standing)
    return true
  }

  #take(entry: Entry, now: Timestamp, visibilityMillis: number): Taken {
    const { claimedAt: lostAt } = entry.standing
    this.#write(entry, DeliveryStep.claimed(entry.standing, visibilityMillis, now))
    const { delivery, id, standing } = entry
    const { attempts: attempt, earlier, fence } = standing
    const isGone = this.#siblings(entry).some((each) => each.standing.isGone)
    return { id, delivery, fence, attempt, earlier, isGone, lostAt }
  }

  #reopen(entry: Entry, now: Timestamp): void {
    for (const each of this.#siblings(entry)) {
      this.#write(each, DeliveryStep.notGone(each.standing))
    }
    this.#write(entry, DeliveryStep.redelivered(entry.standing, now))
  }
}
