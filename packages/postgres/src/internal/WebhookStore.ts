/**
 * The webhook store on Postgres.
 *
 * Guarantees: records that arrive at the same time share a statement. Leaves out: the statements,
 * which other modules of this folder have, and storing a run's deliveries, which its commit does.
 */
import type { AttemptRecord } from "@millrace/core/ports/WebhookStore"
import { WebhookStore } from "@millrace/core/ports/WebhookStore"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql/SqlClient"
import * as DeliveryClaims from "./DeliveryClaims.ts"
import * as DeliveryRecords from "./DeliveryRecords.ts"
import { databasePort } from "./DatabaseError.ts"
import * as SigningSecrets from "./SigningSecrets.ts"
import * as Statements from "./Statements.ts"

/** How many records one statement applies at most. */
const recordsPerFlush = 256

const make = Effect.gen(function* () {
  const sql = (yield* SqlClient).withoutTransforms()
  const record = yield* Statements.gather<AttemptRecord, boolean>(sql, {
    keyOf: ({ id }) => id,
    flush: (records) => DeliveryClaims.record(sql, records),
    maxMembers: recordsPerFlush,
    // No receiver waits for a record, so fewer and larger statements are better.
    flushesAtOnce: 1,
  })
  return databasePort<WebhookStore["Service"]>("WebhookStore", {
    ...DeliveryClaims.make(sql),
    ...DeliveryRecords.make(sql),
    ...SigningSecrets.make(sql),
    record,
  })
})

/** The webhook store over an existing client. The tables must exist. */
export const layer: Layer.Layer<WebhookStore, never, SqlClient> = Layer.effect(WebhookStore, make)
