/**
 * Signals to workflows that are edited and published meanwhile, on the stores in memory: three
 * servers in simulated time. The long suites show that faulty stores are told from good ones.
 */
import { orderSimulation } from "@millrace/simulation/OrderSuite"
import { Stores } from "@millrace/memory"

orderSimulation("the stores in memory", Stores.layer, 60)
