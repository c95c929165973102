/**
 * The simulation of schedules as a test: servers crash, pause and stop, also for minutes, requests
 * and answers get lost, and schedules are changed, switched off and removed.
 */
import { type ScheduleStores, playSchedules } from "./SchedulePlay.ts"
import { scheduleScenarioOf } from "./ScheduleScenario.ts"
import { brokenOf, seedSuite } from "./SeedSuite.ts"

const stories = { title: "Schedules", scenarioOf: scheduleScenarioOf, play: playSchedules }

/** What is told of the first seed that breaks a rule, or `undefined`. */
export const brokenScheduleSeedOf = (stores: ScheduleStores, seeds: ReadonlyArray<number>) =>
  brokenOf(stories, stores, seeds)

/** Registers the simulation; every seed builds its own stores. */
export const scheduleSimulation = (name: string, stores: ScheduleStores, seeds: number): void =>
  seedSuite(name, stories, stores, seeds)
