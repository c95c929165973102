/**
 * The webhook store.
 *
 * Guarantees: every method is one read or one write; due times and expiry follow Effect's clock.
 * Leaves out: sending anything.
 */
import type { Timestamp } from "@millrace/core/domain/Timestamp"
import type { Claim, ClaimedDelivery } from "@millrace/core/ports/WebhookStore"
import { WebhookStore } from "@millrace/core/ports/WebhookStore"
import { Effect, Layer, Option } from "effect"
import type { Connection } from "./SqliteConnection.ts"
import { Database } from "./SqliteConnection.ts"
import * as Deliveries from "./Deliveries.ts"
import * as SigningSecrets from "./SigningSecrets.ts"

const make = (db: Connection): WebhookStore["Service"] => {
  const write = <A>(method: string, step: (now: Timestamp) => A) =>
    db.write(`WebhookStore.${method}`, step)
  const read = <A>(method: string, step: (now: Timestamp) => A) =>
    db.read(`WebhookStore.${method}`, step)

  const claimOf = ({ delivery, ...taken }: Deliveries.Taken, now: Timestamp): Claim => ({
    ...taken,
    secrets: SigningSecrets.live(db, delivery.accountId, now).map(({ sealed }) => sealed),
  })
  const withDelivery = (taken: Deliveries.Taken, now: Timestamp): ClaimedDelivery => {
    const { delivery } = taken
    return { ...claimOf(taken, now), delivery, createdAt: delivery.createdAt }
  }

  return WebhookStore.of({
    claimDue: (request) =>
      write("claimDue", (now) =>
        Deliveries.claimDue(db, request, now).map((each) => withDelivery(each, now)),
      ),
    claim: (ids, visibilityMillis) =>
      write("claim", (now) =>
        Deliveries.claim(db, ids, visibilityMillis, now).map((each) => claimOf(each, now)),
      ),
    record: (record) => write("record", (now) => Deliveries.record(db, record, now)),
    insert: (delivery) => write("insert", (now) => Deliveries.insert(db, [delivery], now)),
    list: (query) => read("list", () => Deliveries.list(db, query)),
    find: (account, id) =>
      read("find", () => Option.fromUndefinedOr(Deliveries.find(db, account, id))),
    redeliver: (account, id) =>
      write("redeliver", (now) =>
        Option.fromUndefinedOr(Deliveries.redeliver(db, account, id, now)),
      ),
    redeliverFailed: (account, since, workflows) =>
      write("redeliverFailed", (now) =>
        Deliveries.redeliverFailed(db, { account, workflows }, since, now),
      ),
    forget: (endedMillis, limit) =>
      write("forget", (now) => Deliveries.forget(db, now - endedMillis, limit)),
    secrets: (account) => read("secrets", (now) => SigningSecrets.live(db, account, now)),
    secretOfEachKey: read("secretOfEachKey", (now) => SigningSecrets.ofEachKey(db, now)),
    sealedOtherwise: (keyName, limit) =>
      read("sealedOtherwise", (now) => SigningSecrets.sealedOtherwise(db, keyName, limit, now)),
    reseal: (secret, sealed) => write("reseal", () => SigningSecrets.reseal(db, secret, sealed)),
    ensureSecret: (secret) =>
      write("ensureSecret", (now) => SigningSecrets.ensure(db, secret, now)),
    rotateSecret: (secret, overlapMillis) =>
      write("rotateSecret", (now) => SigningSecrets.rotate(db, secret, now + overlapMillis, now)),
  })
}

/** The webhook store of a database. */
export const layer: Layer.Layer<WebhookStore, never, Database> = Layer.effect(
  WebhookStore,
  Effect.map(Database, make),
)
