/**
 * The simulation of the whole engine, over many more seeds than the packages' own tests play. Two
 * files share them, because a file has one core to itself.
 */
import { simulation } from "@millrace/simulation/SimSuite"
import { Stores } from "@millrace/memory"

simulation("the stores in memory", Stores.layer, {
  seeds: 3_000,
  part: 0,
  parts: 2,
  timeoutMillis: 1_200_000,
})
