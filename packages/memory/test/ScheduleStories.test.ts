/**
 * Schedules on the stores in memory: three servers in simulated time. The long suites show that
 * stores with a fault are told from good ones.
 */
import { scheduleSimulation } from "@millrace/simulation/ScheduleSuite"
import { Stores } from "@millrace/memory"

scheduleSimulation("the stores in memory", Stores.layer, 60)
