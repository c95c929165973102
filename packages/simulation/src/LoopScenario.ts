/**
 * What a seed draws for a simulation of loops, as plain data: workflows with loops in loops, which
 * call each other, the roots, and what goes wrong.
 */
import type { Dice } from "./ModelDice.ts"
import { diceFor } from "./SimBehavior.ts"
import { setupOf } from "./SimScenario.ts"
import { contentOf } from "./SimContents.ts"
import { actionsOf, rootsOf, spread, type Trouble } from "./TreeScenario.ts"

/** How a loop treats its items. */
interface Items {
  readonly count: number
  readonly concurrency: number
  readonly onError: "stop" | "continue" | "drop"
  /** How many items are worked on together; `null`: each alone. */
  readonly batch: number | null
}

/** A node of a level that has children. */
export type LoopStep =
  | (Items & { readonly _tag: "Each"; readonly id: string; readonly body: Level })
  | {
      readonly _tag: "While"
      readonly id: string
      readonly mostIterations: number
      readonly body: Level
    }
  | (Items & { readonly _tag: "EachRun"; readonly id: string; readonly workflow: number })
  | { readonly _tag: "Call"; readonly id: string; readonly workflow: number }

/** The nodes of a workflow, or of the body of a loop: one leaf, and steps behind it. */
export interface Level {
  /** What the ids of its nodes begin with. */
  readonly prefix: string
  /** True if its leaf only computes. */
  readonly isPure: boolean
  /** True if the leaf reads its item by an expression, not by an edge. */
  readonly byExpression: boolean
  /** True if its output is what a response says. */
  readonly hasResponse: boolean
  readonly steps: ReadonlyArray<LoopStep>
}

/** A workflow: its outermost level, and its settings. */
export interface LoopWorkflow {
  readonly level: Level
  readonly settings: {
    readonly onFailure?: "stop" | "abort"
    readonly timeoutMillis?: number
  }
}

/** What one seed draws. */
export interface LoopScenario extends Trouble {
  /** The first one calls no other. */
  readonly workflows: ReadonlyArray<LoopWorkflow>
}

const itemsOf = (dice: Dice, isDeep: boolean): Items => ({
  count: dice.of(isDeep ? [0, 1, 2, 5] : [0, 1, 2, 3, 4, 7]),
  concurrency: dice.of([1, 2, 5]),
  onError: dice.of(["stop", "continue", "drop"]),
  batch: dice.of([null, null, 1, 2, 3]),
})

const stepOf = (dice: Dice, id: string, depth: number, workflow: number): LoopStep => {
  const isDeep = depth > 0
  if (workflow > 0 && dice.chance(30)) {
    const called = { id, workflow: dice.below(workflow) }
    return dice.chance(50)
      ? { _tag: "Call", ...called }
      : { _tag: "EachRun", ...called, ...itemsOf(dice, isDeep) }
  }
  const body = levelOf(dice, `${id}_`, depth + 1, workflow)
  return dice.chance(35)
    ? { _tag: "While", id, mostIterations: dice.of([1, 2, 3, 6]), body }
    : { _tag: "Each", id, body, ...itemsOf(dice, isDeep) }
}

const levelOf = (dice: Dice, prefix: string, depth: number, workflow: number): Level => {
  const least = depth === 0 && workflow > 0 ? 1 : 0
  const count = depth >= 3 ? 0 : least + dice.below(depth === 0 ? 2 : dice.of([1, 2, 2]))
  return {
    prefix,
    isPure: dice.chance(depth === 0 ? 50 : 65),
    byExpression: dice.chance(40),
    hasResponse: depth === 0 || dice.chance(30),
    steps: Array.from({ length: count }, (_, at) =>
      stepOf(dice, `${prefix}s${at}`, depth, workflow),
    ),
  }
}

const settingsOf = (dice: Dice): LoopWorkflow["settings"] => {
  const onFailure = dice.of(["continue", "continue", "stop", "abort"] as const)
  return {
    ...(onFailure === "continue" ? {} : { onFailure }),
    ...(dice.chance(15) ? { timeoutMillis: dice.of([1_000, 4_000, 15_000]) } : {}),
  }
}

/** The scenario of a seed. */
export const loopScenarioOf = (seed: number): LoopScenario => {
  const dice = diceFor(seed, "loops")
  const isFaultFree = dice.chance(10)
  const workflows = Array.from({ length: 2 + dice.below(2) }, (_, workflow) => ({
    level: levelOf(dice, "", 0, workflow),
    settings: settingsOf(dice),
  }))
  const roots = rootsOf(dice, workflows.length)
  const actions = actionsOf(dice, isFaultFree ? 0 : dice.below(9), roots.length)
  // With most of these an item of a body that only computes ends with its first step, and a turn of
  // a loop is over after a few of them.
  const nodesPerStep = dice.of([1, 3, 4, 5, 9, 1_000])
  const usual = { offsets: [0, 0, 0, 0], attemptsPerRun: 1_000, nodesPerStep }
  const setup = { ...setupOf(dice, isFaultFree), ...usual }
  const content = contentOf(seed)
  return { seed, setup, content, workflows, roots, actions, healedAt: spread + 5_000 }
}
