/**
 * A real Postgres against the model of the stores.
 */
import { modelOnRealClock } from "@millrace/simulation/ModelSuite"
import * as TestPostgres from "./TestPostgres.ts"

modelOnRealClock("the stores on Postgres", TestPostgres.layerStores, { seeds: 15 })
