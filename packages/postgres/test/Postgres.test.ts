/**
 * A real Postgres against the suite of every store.
 */
import { conformance, deliveryConformance } from "@millrace/conformance"
import { Stores } from "@millrace/postgres"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql/SqlClient"
import * as TestPostgres from "./TestPostgres.ts"

conformance("Postgres", Layer.provideMerge(Stores.layer, TestPostgres.layer), {
  transact: (calls) => Effect.flatMap(SqlClient, (sql) => sql.withTransaction(calls)),
})

deliveryConformance("Postgres", TestPostgres.layerStores)
