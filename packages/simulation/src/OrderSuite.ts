/**
 * The simulation of signals to a workflow as a test: servers crash, pause and stop, requests and
 * answers get lost, runs are canceled, and the workflow is edited, published and restored.
 */
import { playOrders } from "./OrderPlay.ts"
import { orderScenarioOf } from "./OrderScenario.ts"
import { brokenOf, seedSuite } from "./SeedSuite.ts"
import type { SimStores } from "./SimWorld.ts"

const stories = { title: "Signals to workflows", scenarioOf: orderScenarioOf, play: playOrders }

/** What is told of the first seed that breaks a rule, or `undefined`. */
export const brokenOrderSeedOf = (stores: SimStores, seeds: ReadonlyArray<number>) =>
  brokenOf(stories, stores, seeds)

/** Registers the simulation; every seed builds its own stores. */
export const orderSimulation = (name: string, stores: SimStores, seeds: number): void =>
  seedSuite(name, stories, stores, seeds)
