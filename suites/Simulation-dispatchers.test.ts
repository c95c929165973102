/**
 * The simulation of dispatchers, over many more stories than the package's own tests play.
 */
import { dispatchSimulation } from "@millrace/simulation/DispatchSuite"
import { Stores } from "@millrace/memory"

dispatchSimulation("the stores in memory", Stores.layer, {
  seeds: 4_000,
  crashed: 30,
  timeoutMillis: 1_200_000,
})
