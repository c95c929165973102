/**
 * The stores against the model of the stores, over many more random scripts than the packages' own
 * tests play.
 */
import {
  deliveryModelOnRealClock,
  deliveryModelOnTestClock,
} from "@millrace/simulation/DeliveryModelSuite"
import { modelOnRealClock, modelOnTestClock } from "@millrace/simulation/ModelSuite"
import { Stores } from "@millrace/memory"
import * as TestPostgres from "../packages/postgres/test/TestPostgres.ts"

const timeoutMillis = 600_000

modelOnTestClock("the stores in memory", Stores.layer, { seeds: 5_000, timeoutMillis })

modelOnRealClock("the stores on Postgres", TestPostgres.layerStores, { seeds: 120, timeoutMillis })

deliveryModelOnTestClock("the stores in memory", Stores.layer, { seeds: 1_000, timeoutMillis })

deliveryModelOnRealClock("the stores on Postgres", TestPostgres.layerStores, {
  seeds: 40,
  timeoutMillis,
})
