/**
 * Loops on the stores in memory: three servers in simulated time. The long suites show that engines
 * with a fault are told from good ones.
 */
import { loopSimulation } from "@millrace/simulation/LoopSuite"
import { Stores } from "@millrace/memory"

loopSimulation("the stores in memory", Stores.layer, 60)
