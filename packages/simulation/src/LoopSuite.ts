/**
 * The simulation of loops as a test: servers crash, pause and stop, requests and answers get lost,
 * runs and items are canceled, and the time of runs is over.
 */
import { loopDrawingOf } from "./LoopDrawing.ts"
import { loopTypesOf } from "./LoopNodes.ts"
import { brokenLoopRuleOf } from "./LoopRules.ts"
import { type LoopScenario, loopScenarioOf } from "./LoopScenario.ts"
import { brokenOf, seedSuite } from "./SeedSuite.ts"
import type { SimStores } from "./SimWorld.ts"
import { playTrees } from "./TreePlay.ts"

const play = playTrees<LoopScenario>({
  typesOf: loopTypesOf,
  drawingsOf: ({ content, workflows }) => workflows.map((each) => loopDrawingOf(each, content)),
  isFrozen: true,
  signalTo: () => undefined,
  brokenRuleOf: brokenLoopRuleOf,
})

const stories = { title: "Loops", scenarioOf: loopScenarioOf, play }

/** What is told of the first seed that breaks a rule, or `undefined`. */
export const brokenLoopOf = (stores: SimStores, seeds: ReadonlyArray<number>) =>
  brokenOf(stories, stores, seeds)

/** Registers the simulation; every seed builds its own stores. */
export const loopSimulation = (name: string, stores: SimStores, seeds: number): void =>
  seedSuite(name, stories, stores, seeds)
