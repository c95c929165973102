/**
 * The simulation of child runs, over many more seeds than the package's own test plays.
 */
import { treeSimulation } from "@millrace/simulation/TreeSuite"
import { Stores } from "@millrace/memory"

treeSimulation("the stores in memory", Stores.layer, 2_000)
