/**
 * The simulation of child runs as a test: servers crash, pause and stop, requests and answers get
 * lost, and runs are canceled.
 */
import { brokenOf, seedSuite } from "./SeedSuite.ts"
import type { SimStores } from "./SimWorld.ts"
import { playTree } from "./TreePlay.ts"
import { treeScenarioOf } from "./TreeScenario.ts"

const stories = { title: "Trees of runs", scenarioOf: treeScenarioOf, play: playTree }

/** What is told of the first seed that breaks a rule, or `undefined`. */
export const brokenTreeOf = (stores: SimStores, seeds: ReadonlyArray<number>) =>
  brokenOf(stories, stores, seeds)

/** Registers the simulation; every seed builds its own stores. */
export const treeSimulation = (name: string, stores: SimStores, seeds: number): void =>
  seedSuite(name, stories, stores, seeds)
