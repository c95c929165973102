/**
 * What a seed draws for a simulation of runs that wait for signals to their workflow, while that
 * is edited, published and restored: as plain data.
 */
import type { Dice } from "./ModelDice.ts"
import type { Blow } from "./SimActions.ts"
import { diceFor } from "./SimBehavior.ts"
import { blowOf, serverCount, type Setup, setupOf } from "./SimScenario.ts"
import { spread } from "./TreeScenario.ts"

/** One thing that goes wrong, or that somebody asks for. */
export type OrderAction =
  | {
      readonly _tag: "Start"
      readonly at: number
      readonly server: number
      readonly order: string
      readonly limitMillis: number
    }
  | {
      /** Sends a signal, perhaps again after some time. */
      readonly _tag: "Signal"
      readonly at: number
      readonly server: number
      readonly order: string
      readonly amount: number
      readonly againMillis: number | null
    }
  | {
      /** Sends a signal of the same name to a run itself. */
      readonly _tag: "Direct"
      readonly at: number
      readonly server: number
      readonly start: number
      readonly amount: number
    }
  | {
      readonly _tag: "Change"
      readonly at: number
      readonly change: "edit" | "publish" | "unpublish" | "restore"
    }
  | {
      readonly _tag: "Cancel"
      readonly at: number
      readonly server: number
      readonly start: number
    }
  | { readonly _tag: "Hit"; readonly at: number; readonly server: number; readonly blow: Blow }
  | {
      /** Hits a server in the middle of the so-manieth operation of a kind. */
      readonly _tag: "Strike"
      readonly operation: "commit" | "signal"
      readonly count: number
      readonly place: "arriving" | "landed"
      readonly blow: Blow
    }

/** What one seed draws. */
export interface OrderScenario {
  readonly seed: number
  readonly setup: Setup
  /** Only signals with a larger amount are taken; `null`: all are. */
  readonly least: number | null
  readonly actions: ReadonlyArray<OrderAction>
  /** From here on nothing more goes wrong. */
  readonly healedAt: number
}

const actionOf = (dice: Dice, orders: number): OrderAction => {
  const at = dice.below(spread)
  const server = dice.below(serverCount)
  const order = `order ${dice.below(orders)}`
  switch (dice.below(15)) {
    case 0:
    case 1:
    case 2: {
      // Some waits are over when they begin.
      const limitMillis = dice.of([1, 500, 3_000, 3_000, 12_000])
      return { _tag: "Start", at, server, order, limitMillis }
    }
    case 3:
    case 4:
    case 5: {
      const againMillis = dice.of([null, null, 0, 700, 9_000])
      return { _tag: "Signal", at, server, order, amount: dice.below(3), againMillis }
    }
    case 6:
    case 7:
    case 8: {
      const change = dice.of([
        "edit",
        "edit",
        "publish",
        "publish",
        "unpublish",
        "restore",
      ] as const)
      return { _tag: "Change", at, change }
    }
    case 9:
      return { _tag: "Cancel", at, server, start: dice.below(6) }
    case 10:
    case 11:
      return { _tag: "Direct", at, server, start: dice.below(6), amount: dice.below(3) }
    case 12:
      return { _tag: "Hit", at, server, blow: blowOf(dice) }
    default: {
      const [operation, count] = dice.of([
        ["commit", 1 + dice.below(40)],
        ["signal", 1 + dice.below(6)],
      ] as const)
      const place = dice.of(["arriving", "landed"] as const)
      return { _tag: "Strike", operation, count, place, blow: blowOf(dice) }
    }
  }
}

const isTrouble = ({ _tag }: OrderAction): boolean => ["Hit", "Strike"].includes(_tag)

/** The scenario of a seed. */
export const orderScenarioOf = (seed: number): OrderScenario => {
  const dice = diceFor(seed, "orders")
  const isFaultFree = dice.chance(10)
  const orders = 1 + dice.below(3)
  const drawn = Array.from({ length: 6 + dice.below(16) }, () => actionOf(dice, orders))
  const actions = isFaultFree ? drawn.filter((action) => !isTrouble(action)) : drawn
  const setup = { ...setupOf(dice, isFaultFree), offsets: [0, 0, 0, 0], attemptsPerRun: 1_000 }
  const least = dice.chance(40) ? 0 : null
  return { seed, setup, least, actions, healedAt: spread + 5_000 }
}
