/**
 * The whole engine on the stores in memory: three servers in simulated time. The long suites show
 * that stores with a fault are told from good ones.
 */
import { simulation } from "@millrace/simulation/SimSuite"
import { Stores } from "@millrace/memory"

simulation("the stores in memory", Stores.layer, { seeds: 60 })
