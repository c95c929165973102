/**
 * A real Postgres against the model of the stores.
 */
import { deliveryModelOnRealClock } from "@millrace/simulation/DeliveryModelSuite"
import { modelOnRealClock } from "@millrace/simulation/ModelSuite"
import * as TestPostgres from "./TestPostgres.ts"

modelOnRealClock("the stores on Postgres", TestPostgres.layerStores, { seeds: 15 })

deliveryModelOnRealClock("the stores on Postgres", TestPostgres.layerStores, { seeds: 8 })
