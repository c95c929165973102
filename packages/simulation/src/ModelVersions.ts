/**
 * The commands of random scripts on published versions of workflows, and how a seed draws them.
 */
import type * as Dice from "./ModelDice.ts"
import { slots } from "./ModelSlots.ts"
import { names } from "./ModelTexts.ts"

interface OfWorkflow {
  readonly workflow: number
  /** Who asks; see `Asker`. */
  readonly as: "own" | number
}

/** A publication, of a draft and under a number so far from the right ones. */
export interface PublishCommand extends OfWorkflow {
  readonly _tag: "PublishWorkflow"
  readonly revision: number
  /** How far from the newest version. */
  readonly number: number
  readonly note: string | null
}

export type VersionCommand = PublishCommand | (OfWorkflow & { readonly _tag: "UnpublishWorkflow" })

/** How many versions are kept here: few, so that some are forgotten. */
export const mostVersions = 2

/** How far a new run is from what a start would take. */
export interface CurrentDistance {
  readonly isOwners: boolean
  readonly revision: number
  readonly version: number
}

export const drawCurrent = (
  dice: Dice.Dice,
  distance: (dice: Dice.Dice) => number,
): CurrentDistance => ({
  isOwners: dice.chance(80),
  revision: distance(dice),
  version: distance(dice),
})

/** Draws a publication of somebody, or the end of one. */
export const drawVersion = (dice: Dice.Dice, as: OfWorkflow["as"]): VersionCommand => {
  const workflow = dice.below(slots.workflows)
  if (dice.chance(30)) return { _tag: "UnpublishWorkflow", workflow, as }
  return {
    _tag: "PublishWorkflow",
    workflow,
    as,
    revision: dice.chance(85) ? 0 : dice.of([-1, 1, 2]),
    number: dice.chance(70) ? 1 : dice.of([0, 0, -1, 2]),
    note: dice.chance(50) ? null : dice.of(names),
  }
}
