/**
 * The webhook store in memory.
 *
 * Guarantees: every method is one synchronous step; due times and expiry follow Effect's clock.
 * Leaves out: durability.
 */
import type { AccountId } from "@millrace/core/domain/Id"
import { sealedBy } from "@millrace/core/domain/Secret"
import type { Timestamp } from "@millrace/core/domain/Timestamp"
import type { Claim, ClaimedDelivery, StoredSecret } from "@millrace/core/ports/WebhookStore"
import { WebhookStore } from "@millrace/core/ports/WebhookStore"
import { Clock, Effect, Layer, Option } from "effect"
import type { Taken } from "./Deliveries.ts"
import { Deliveries } from "./Deliveries.ts"
import { compare } from "./Timeline.ts"

/** All signing secrets of one store. Mutable. */
class Secrets {
  readonly #byAccount = new Map<AccountId, ReadonlyArray<StoredSecret>>()

  live(account: AccountId, now: Timestamp): ReadonlyArray<StoredSecret> {
    const secrets = this.#byAccount.get(account) ?? []
    const live = secrets.filter(({ expiresAt }) => expiresAt === null || expiresAt > now)
    return live.toSorted(compare)
  }

  ofEachKey(now: Timestamp): ReadonlyArray<StoredSecret> {
    const live = [...this.#byAccount.keys()].flatMap((account) => this.live(account, now))
    return [...new Map(live.map((each) => [sealedBy(each.sealed), each])).values()]
  }

  sealedOtherwise(keyName: string, limit: number, now: Timestamp): ReadonlyArray<StoredSecret> {
    const live = [...this.#byAccount.keys()].flatMap((account) => this.live(account, now))
    return live.filter((each) => sealedBy(each.sealed) !== keyName).slice(0, limit)
  }

  reseal({ accountId, id, sealed }: StoredSecret, next: string): void {
    const secrets = this.#byAccount.get(accountId) ?? []
    const resealed = secrets.map((each) =>
      each.id === id && each.sealed === sealed ? { ...each, sealed: next } : each,
    )
    this.#byAccount.set(accountId, resealed)
  }

  ensure(secret: StoredSecret, now: Timestamp): ReadonlyArray<StoredSecret> {
    const live = this.live(secret.accountId, now)
    return live.length > 0 ? live : this.#set(secret, [])
  }

  rotate(secret: StoredSecret, until: Timestamp, now: Timestamp): ReadonlyArray<StoredSecret> {
    const live = this.live(secret.accountId, now)
    const expiring = live.map((each) => ({
      ...each,
      expiresAt: Math.min(each.expiresAt ?? until, until),
    }))
    this.#set(secret, expiring)
    return this.live(secret.accountId, now)
  }

  #set(secret: StoredSecret, others: ReadonlyArray<StoredSecret>): ReadonlyArray<StoredSecret> {
    const all = [...others, secret]
    this.#byAccount.set(secret.accountId, all)
    return all
  }
}

const make = Effect.gen(function* () {
  const deliveries = yield* Deliveries
  const secrets = new Secrets()
  const at = <A>(step: (now: Timestamp) => A): Effect.Effect<A> =>
    Effect.map(Clock.currentTimeMillis, step)

  const claimOf = ({ delivery, ...taken }: Taken, now: Timestamp): Claim => ({
    ...taken,
    secrets: secrets.live(delivery.accountId, now).map(({ sealed }) => sealed),
  })
  const withDelivery = (taken: Taken, now: Timestamp): ClaimedDelivery => {
    const { delivery } = taken
    return { ...claimOf(taken, now), delivery, createdAt: delivery.createdAt }
  }

  return WebhookStore.of({
    claimDue: (request) =>
      at((now) => deliveries.claimDue(request, now).map((each) => withDelivery(each, now))),
    claim: (ids, visibilityMillis) =>
      at((now) => deliveries.claim(ids, visibilityMillis, now).map((each) => claimOf(each, now))),
    record: (record) => at((now) => deliveries.record(record, now)),
    insert: (delivery) => at((now) => deliveries.insert([delivery], now)),
    list: (query) => Effect.sync(() => deliveries.list(query)),
    find: (account, id) => Effect.sync(() => Option.fromUndefinedOr(deliveries.find(account, id))),
    redeliver: (account, id) =>
      at((now) => Option.fromUndefinedOr(deliveries.redeliver(account, id, now))),
    redeliverFailed: (account, since, workflows) =>
      at((now) => deliveries.redeliverFailed({ account, workflows }, since, now)),
    forget: (endedMillis, limit) => at((now) => deliveries.forget(now - endedMillis, limit)),
    secrets: (account) => at((now) => secrets.live(account, now)),
    secretOfEachKey: at((now) => secrets.ofEachKey(now)),
    sealedOtherwise: (keyName, limit) => at((now) => secrets.sealedOtherwise(keyName, limit, now)),
    reseal: (secret, sealed) => Effect.sync(() => secrets.reseal(secret, sealed)),
    ensureSecret: (secret) => at((now) => secrets.ensure(secret, now)),
    rotateSecret: (secret, overlapMillis) =>
      at((now) => secrets.rotate(secret, now + overlapMillis, now)),
  })
})

/** A webhook store. The run store adds to the same deliveries. */
export const layer: Layer.Layer<WebhookStore, never, Deliveries> = Layer.effect(WebhookStore, make)
