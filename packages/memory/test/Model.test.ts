/**
 * The in-memory stores against the model of the stores. The long suites show that the model passes
 * the suite of every store, and that stores with a fault are told from it.
 */
import { modelOnTestClock } from "@millrace/simulation/ModelSuite"
import { Stores } from "@millrace/memory"

modelOnTestClock("the stores in memory", Stores.layer, { seeds: 150 })
