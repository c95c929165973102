/**
 * The stores against the model of the stores, over many more random scripts than the packages' own
 * tests play; and the model against the suite of every store.
 */
import { conformance } from "@millrace/conformance"
import {
  deliveryModelOnRealClock,
  deliveryModelOnTestClock,
} from "@millrace/simulation/DeliveryModelSuite"
import { modelOnRealClock, modelOnTestClock } from "@millrace/simulation/ModelSuite"
import * as StoreModel from "@millrace/simulation/StoreModel"
import { Stores } from "@millrace/memory"
import * as TestPostgres from "../packages/postgres/test/TestPostgres.ts"

const timeoutMillis = 600_000

const manifest = { name: "the model of the stores", ports: ["keys", "ledger"] } as const

conformance(manifest.name, StoreModel.layer, { crowd: 100, manifest })

modelOnTestClock("the stores in memory", Stores.layer, { seeds: 5_000, timeoutMillis })

modelOnRealClock("the stores on Postgres", TestPostgres.layerStores, { seeds: 120, timeoutMillis })

deliveryModelOnTestClock("the stores in memory", Stores.layer, { seeds: 1_000, timeoutMillis })

deliveryModelOnRealClock("the stores on Postgres", TestPostgres.layerStores, {
  seeds: 40,
  timeoutMillis,
})
