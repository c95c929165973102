/**
 * What must always hold of dispatchers, said from outside: by what their receivers, their store and
 * the calls between them can see.
 *
 * Guarantees: shares no rule with the code that it judges; the schedule is a list of numbers.
 * Leaves out: making anything happen.
 */
import type { Delivery, DeliveryRecord } from "@millrace/core/domain/Delivery"
import type { Claim } from "@millrace/core/ports/WebhookStore"
import type { DispatcherOptions } from "@millrace/webhooks/DispatcherOptions"

/** A rule that was broken. */
export class BrokenRule extends Error {}

const broken = (rule: string, id: string): never => {
  throw new BrokenRule(`${rule}: ${id}`)
}

interface Request {
  readonly server: number
  readonly delivery: Delivery
}

/** What is known of one delivery. */
interface Story {
  readonly delivery: Delivery
  /** Requests in each row of attempts, by how many attempts were before it. */
  readonly requests: Map<number, number>
  /** A receiver took it, and its server lived to hear of it. */
  taken: number
  /** When the last attempt ended. */
  lastEnd: number
}

/** A claim in a server's hands that nothing was done for yet. */
const keyOf = ({ fence, id }: Claim): string => `${id} ${fence}`

const partitionOf = (server: number, { accountId, origin }: Delivery): string =>
  `${server} ${accountId} ${origin}`

/** Watches everything that happens, and throws at the first rule that is broken. */
export class DispatchRules {
  readonly #options: DispatcherOptions
  readonly #stories = new Map<string, Story>()
  readonly #open = new Map<string, Request>()
  readonly #waiting = new Map<string, Array<string>>()
  readonly #claimedAt = new Map<string, number>()
  readonly #goneAt = new Map<string, number>()
  #redeliveries = 0
  /** Nothing happened that can make an outcome unknown. */
  isFaultFree = true
  requests = 0

  constructor(options: DispatcherOptions) {
    this.#options = options
  }

  get stories(): Iterable<Story> {
    return this.#stories.values()
  }

  stored(delivery: Delivery): void {
    this.#stories.set(delivery.id, {
      delivery,
      requests: new Map(),
      taken: 0,
      lastEnd: Number.NEGATIVE_INFINITY,
    })
  }

  redelivered(delivery: Delivery): void {
    this.#redeliveries += 1
    this.#goneAt.delete(delivery.runId ?? "")
    // The others of the run, too: they were due at once to be ended, and are sent instead.
    for (const story of this.#stories.values()) {
      if (story.delivery.runId === delivery.runId) story.lastEnd = Number.NEGATIVE_INFINITY
    }
  }

  /** The store has handed out a claim. */
  claimed(claim: Claim, now: number): void {
    this.#claimedAt.set(keyOf(claim), now)
  }

  /** A server hears of its claims, in this order. */
  heard(server: number, claims: ReadonlyArray<Claim>): void {
    for (const claim of claims) {
      if (claim.lostAt !== null) continue
      const key = partitionOf(server, this.#of(claim.id).delivery)
      this.#waiting.set(key, [...(this.#waiting.get(key) ?? []), keyOf(claim)])
    }
  }

  /** A server does something for a claim: `isSent`, or it records without an attempt. */
  handled(server: number, claim: Claim, isSent: boolean): void {
    const key = partitionOf(server, this.#of(claim.id).delivery)
    const waiting = this.#waiting.get(key) ?? []
    if (isSent && waiting[0] !== keyOf(claim)) broken("a partition is sent in its order", claim.id)
    this.#waiting.set(
      key,
      waiting.filter((each) => each !== keyOf(claim)),
    )
  }

  /** A request begins. */
  sent(server: number, claim: Claim, now: number): void {
    const story = this.#of(claim.id)
    const { delivery } = story
    const { delaysMillis } = this.#options.schedule
    const { attempt, earlier, id } = claim
    this.requests += 1
    if (this.#open.has(id)) broken("a delivery is sent by one server at a time", id)
    if (claim.lostAt !== null) broken("a lost attempt is recorded, and nothing is sent for it", id)
    const claimedAt = this.#claimedAt.get(keyOf(claim)) ?? now
    if (now - claimedAt > this.#options.freshMillis) broken("an attempt begins soon", id)
    if ((this.#goneAt.get(delivery.runId ?? "") ?? now) < claimedAt) {
      broken("nothing is sent to a receiver that is gone", id)
    }
    const count = (story.requests.get(earlier) ?? 0) + 1
    story.requests.set(earlier, count)
    const most = delaysMillis.length + 1
    if (count > most || attempt - earlier > most) {
      broken("no more attempts are made than allowed", id)
    }
    const pause = delaysMillis[Math.min(attempt - earlier - 2, delaysMillis.length - 1)] ?? 0
    if (now < story.lastEnd + 0.89 * pause) broken("an attempt waits for its pause", id)
    this.#open.set(id, { server, delivery })
    this.#countOpen(server, id)
  }

  /** A request is over, and its server knows how: by a status, or by its own limit of time. */
  answered(claim: Claim, status: number | undefined, now: number): void {
    const story = this.#of(claim.id)
    this.#open.delete(claim.id)
    story.lastEnd = now
    if (status !== undefined && status < 300) story.taken += 1
  }

  /** A request is over, and nobody knows how. */
  unknown(claim: Claim, now: number): void {
    const story = this.#of(claim.id)
    this.#open.delete(claim.id)
    story.lastEnd = now
    this.isFaultFree = false
  }

  /** The store has recorded that a receiver is gone. */
  gone(claim: Claim, now: number): void {
    this.#goneAt.set(this.#of(claim.id).delivery.runId ?? "", now)
  }

  /** A server is dead, and every request of it with it; what it did not record is unknown. */
  died(server: number, now: number): void {
    this.isFaultFree = false
    for (const [id, request] of this.#open) {
      if (request.server !== server) continue
      const story = this.#of(id)
      this.#open.delete(id)
      story.lastEnd = now
    }
    for (const key of this.#waiting.keys()) {
      if (key.startsWith(`${server} `)) this.#waiting.delete(key)
    }
  }

  /** Everything has come to rest: what the store has of a delivery is judged. */
  ended(record: DeliveryRecord, now: number): void {
    const { attempts, item } = record
    const story = this.#of(item.id)
    const { lifeMillis, delaysMillis } = this.#options.schedule
    const sum = [...story.requests.values()].reduce((total, count) => total + count, 0)
    const known = attempts.filter(({ error }) => error !== "unknown").length
    if (item.state === "PENDING") broken("no delivery is lost", item.id)
    if (attempts.some(({ number }, index) => number !== index + 1)) {
      broken("the log has no gaps", item.id)
    }
    if (attempts.length !== item.attempts) broken("a claim given back is no attempt", item.id)
    if (known > sum) broken("nothing is logged that was not sent", item.id)
    if (this.isFaultFree && known !== sum) broken("each request is logged", item.id)
    if (this.isFaultFree && known !== attempts.length)
      broken("nothing is unknown where no server fails", item.id)
    const isTaken = attempts.some(({ error }) => error === null)
    if (isTaken && story.taken === 0) broken("nothing is delivered that nobody took", item.id)
    if (item.state === "DELIVERED" && !isTaken) broken("what is delivered was taken", item.id)
    if (this.#redeliveries > 0) return
    if (this.isFaultFree && story.taken > 0 && item.state !== "DELIVERED") {
      broken("what was taken is delivered", item.id)
    }
    const isUsedUp = item.attempts > delaysMillis.length
    const isGone = this.#goneAt.has(story.delivery.runId ?? "")
    const isOld = now > item.createdAt + lifeMillis - 2 * Math.max(...delaysMillis)
    if (item.state === "FAILED" && !isUsedUp && !isGone && !isOld) {
      broken("nothing is given up early", item.id)
    }
  }

  #of(id: string): Story {
    return this.#stories.get(id) ?? broken("nothing is sent that was not stored", id)
  }

  #countOpen(server: number, id: string): void {
    const { accountId, origin } = this.#of(id).delivery
    const own = [...this.#open.values()].filter((each) => each.server === server)
    const { atOnce, perAccount, perOrigin } = this.#options
    if (own.length > atOnce) broken("no more are in hand than allowed", id)
    if (own.filter((each) => each.delivery.origin === origin).length > perOrigin) {
      broken("an origin has no more than its share", id)
    }
    if (own.filter((each) => each.delivery.accountId === accountId).length > perAccount) {
      broken("an account has no more than its share", id)
    }
  }
}
