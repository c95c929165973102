/**
 * The stores in memory against the model of the stores, over many more random scripts than the
 * packages' own tests play.
 */
import { deliveryModelOnTestClock } from "@millrace/simulation/DeliveryModelSuite"
import { modelOnTestClock } from "@millrace/simulation/ModelSuite"
import { Stores } from "@millrace/memory"

const timeoutMillis = 1_200_000

modelOnTestClock("the stores in memory", Stores.layer, { seeds: 3_000, timeoutMillis })

deliveryModelOnTestClock("the stores in memory", Stores.layer, { seeds: 1_000, timeoutMillis })
