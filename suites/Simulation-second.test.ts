// The other half of the seeds of `Simulation.test.ts`.
import { simulation } from "@millrace/simulation/SimSuite"
import { Stores } from "@millrace/memory"

simulation("the stores in memory", Stores.layer, {
  seeds: 3_000,
  part: 1,
  parts: 2,
  timeoutMillis: 1_200_000,
})
