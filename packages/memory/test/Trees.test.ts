/**
 * Child runs on the stores in memory: three servers in simulated time. The long suites show that
 * stores with a fault are told from good ones.
 */
import { treeSimulation } from "@millrace/simulation/TreeSuite"
import { Stores } from "@millrace/memory"

treeSimulation("the stores in memory", Stores.layer, 60)
