/**
 * The webhook store on Postgres.
 *
 * Guarantees: records that arrive together go out together. Leaves out: the statements, which
 * are next door, and storing the deliveries of runs, which the commit of a run does.
 */
import type { DeliveryId } from "@millrace/core/domain/Id"
import type { Scope, AttemptRecord } from "@millrace/core/ports/WebhookStore"
import { WebhookStore } from "@millrace/core/ports/WebhookStore"
import { Effect, Layer, Option } from "effect"
import { SqlClient } from "effect/sql/SqlClient"
import * as DeliveryClaims from "./DeliveryClaims.ts"
import * as DeliveryRecords from "./DeliveryRecords.ts"
import { orStorageError } from "./DatabaseError.ts"
import * as SigningSecrets from "./SigningSecrets.ts"
import * as Statements from "./Statements.ts"

/** How many records one statement applies at most. */
const recordsPerFlush = 256

const redeliver = Effect.fnUntraced(function* (sql: SqlClient, account: Scope, id: DeliveryId) {
  if (!(yield* DeliveryRecords.redeliver(sql, account, id))) return Option.none()
  const found = yield* DeliveryRecords.find(sql, account, id)
  return Option.map(Option.fromUndefinedOr(found), ({ item }) => item)
})

const make = Effect.gen(function* () {
  const sql = (yield* SqlClient).withoutTransforms()
  const write = yield* Statements.gather<AttemptRecord, boolean>(sql, {
    keyOf: ({ id }) => id,
    flush: (records) => DeliveryClaims.record(sql, records),
    maxMembers: recordsPerFlush,
    // No receiver waits for a record, so fewer and larger statements are better.
    flushesAtOnce: 1,
  })
  return WebhookStore.of({
    claimDue: (request) =>
      orStorageError("WebhookStore.claimDue")(DeliveryClaims.claimDue(sql, request)),
    claim: (ids, visibilityMillis) =>
      orStorageError("WebhookStore.claim")(DeliveryClaims.claim(sql, ids, visibilityMillis)),
    record: (record) => orStorageError("WebhookStore.record")(write(record)),
    insert: (delivery) =>
      orStorageError("WebhookStore.insert")(DeliveryRecords.insert(sql, delivery)),
    list: (query) => orStorageError("WebhookStore.list")(DeliveryRecords.list(sql, query)),
    find: (account, id) =>
      orStorageError("WebhookStore.find")(
        Effect.map(DeliveryRecords.find(sql, account, id), Option.fromUndefinedOr),
      ),
    redeliver: (account, id) =>
      orStorageError("WebhookStore.redeliver")(redeliver(sql, account, id)),
    redeliverFailed: (account, since) =>
      orStorageError("WebhookStore.redeliverFailed")(
        DeliveryRecords.redeliverFailed(sql, account, since),
      ),
    forget: (endedMillis, limit) =>
      orStorageError("WebhookStore.forget")(DeliveryRecords.forget(sql, endedMillis, limit)),
    secrets: (account) => orStorageError("WebhookStore.secrets")(SigningSecrets.live(sql, account)),
    secretOfEachKey: orStorageError("WebhookStore.secretOfEachKey")(SigningSecrets.ofEachKey(sql)),
    ensureSecret: (secret) =>
      orStorageError("WebhookStore.ensureSecret")(SigningSecrets.ensure(sql, secret)),
    rotateSecret: (secret, overlapMillis) =>
      orStorageError("WebhookStore.rotateSecret")(
        SigningSecrets.rotate(sql, secret, overlapMillis),
      ),
  })
})

/** The webhook store over an existing client; the tables must be there. */
export const layer: Layer.Layer<WebhookStore, never, SqlClient> = Layer.effect(WebhookStore, make)
