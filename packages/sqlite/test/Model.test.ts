/**
 * The stores in SQLite against the models of the stores and of deliveries, and the whole engine on
 * them in simulated time. Each play begins with an empty database in memory.
 */
import { deliveryModelOnTestClock } from "@millrace/simulation/DeliveryModelSuite"
import { modelOnTestClock } from "@millrace/simulation/ModelSuite"
import { simulation } from "@millrace/simulation/SimSuite"
import { Stores } from "@millrace/sqlite"
import { Layer } from "effect"

const stores = Layer.orDie(Stores.layerMemory)

modelOnTestClock("the stores in SQLite", stores, { seeds: 40 })

deliveryModelOnTestClock("the stores in SQLite", stores, { seeds: 40 })

simulation("the stores in SQLite", stores, { seeds: 8 })
