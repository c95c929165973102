/**
 * The stores on Postgres against the model of the stores, over more random scripts than the
 * package's own tests play; and the model against the suite of every store.
 */
import { conformance } from "@millrace/conformance"
import { deliveryModelOnRealClock } from "@millrace/simulation/DeliveryModelSuite"
import { modelOnRealClock } from "@millrace/simulation/ModelSuite"
import * as StoreModel from "@millrace/simulation/StoreModel"
import * as TestPostgres from "../packages/postgres/test/TestPostgres.ts"

const timeoutMillis = 1_200_000

const manifest = { name: "the model of the stores", ports: ["keys", "ledger"] } as const

conformance(manifest.name, StoreModel.layer, { crowd: 100, manifest })

modelOnRealClock("the stores on Postgres", TestPostgres.layerStores, { seeds: 120, timeoutMillis })

deliveryModelOnRealClock("the stores on Postgres", TestPostgres.layerStores, {
  seeds: 40,
  timeoutMillis,
})
