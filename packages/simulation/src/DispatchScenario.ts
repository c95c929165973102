/**
 * Stories of dispatchers, drawn by a seed: receivers, floods, crashes, stops, and a store that is
 * away.
 *
 * Guarantees: the same seed draws the same story. Leaves out: playing it.
 */
import type { DispatcherOptions } from "@millrace/webhooks/DispatcherOptions"
import { defaultOptions } from "@millrace/webhooks/DispatcherOptions"
import * as Dice from "./ModelDice.ts"

const second = 1_000
const minute = 60 * second

/** How a receiver behaves: how long it takes, and how often in a hundred times it refuses. */
export interface Receiver {
  readonly tookMillis: readonly [number, number]
  readonly refuses: number
  /** It takes ten seconds or more from some time on. */
  readonly slowAt: number
  /** It answers 410 from some time on. */
  readonly goneAt: number
}

/** What happens at some time. Servers are numbered. */
export type DispatchAction =
  | {
      readonly _tag: "Store"
      readonly at: number
      readonly server: number
      readonly count: number
      readonly origin: number
      readonly account: number
      readonly isTold: boolean
    }
  | {
      readonly _tag: "Crash"
      readonly at: number
      readonly server: number
      readonly forMillis: number
    }
  | {
      readonly _tag: "Stop"
      readonly at: number
      readonly server: number
      readonly forMillis: number
    }
  | { readonly _tag: "Away"; readonly at: number; readonly forMillis: number }
  | { readonly _tag: "Redeliver"; readonly at: number; readonly nth: number }

/** A story. */
export interface DispatchScenario {
  readonly seed: number
  readonly servers: number
  readonly options: DispatcherOptions
  readonly receivers: ReadonlyArray<Receiver>
  readonly latencyMillis: number
  /** How often in a thousand times an attempt ends by a defect, or cannot be signed. */
  readonly defects: number
  /** Crashes the first server right before its nth call; -1 for none. */
  readonly crashAt: number
  readonly actions: ReadonlyArray<DispatchAction>
}

const receiverOf = (dice: Dice.Dice): Receiver => {
  const never = Number.POSITIVE_INFINITY
  return dice.of<Receiver>([
    { tookMillis: [1, 40], refuses: 0, slowAt: never, goneAt: never },
    { tookMillis: [1, 40], refuses: 0, slowAt: dice.below(2 * minute), goneAt: never },
    { tookMillis: [1, 200], refuses: 30, slowAt: never, goneAt: never },
    { tookMillis: [5 * second, 40 * second], refuses: 10, slowAt: never, goneAt: never },
    { tookMillis: [10, 100], refuses: 100, slowAt: never, goneAt: never },
    { tookMillis: [10, 2 * second], refuses: 60, slowAt: never, goneAt: dice.below(2 * minute) },
  ])
}

const optionsOf = (dice: Dice.Dice): DispatcherOptions => ({
  ...defaultOptions,
  schedule: {
    delaysMillis: [5, 30, 60, 120, 240].map((seconds) => seconds * second),
    jitter: 0.1,
    lifeMillis: dice.of([10 * minute, 60 * minute, 60 * minute]),
  },
  atOnce: dice.of([4, 8, 16, 64]),
  perOrigin: dice.of([1, 2, 4, 8]),
  perAccount: dice.of([2, 4, 16]),
  prefetchPerOrigin: dice.of([0, 4, 16]),
})

const actionOf = (dice: Dice.Dice, servers: number): DispatchAction => {
  const at = dice.below(3 * minute)
  const server = dice.below(servers)
  const forMillis = dice.of([1, second, 20 * second, 2 * minute])
  switch (dice.below(10)) {
    case 0:
    case 1:
      return { _tag: "Crash", at, server, forMillis }
    case 2:
      return { _tag: "Stop", at, server, forMillis }
    case 3:
      return { _tag: "Away", at, forMillis: dice.of([second, 6 * second, 50 * second]) }
    case 4:
      return { _tag: "Redeliver", at: at + dice.below(10 * minute), nth: dice.below(50) }
    default: {
      const count = dice.of([1, 1, 3, 10, 60])
      const [origin, account] = [dice.below(4), dice.below(3)]
      return { _tag: "Store", at, server, count, origin, account, isTold: dice.chance(70) }
    }
  }
}

/** The story of a seed. */
export const scenarioOf = (seed: number): DispatchScenario => {
  const dice = Dice.make(seed)
  const servers = 1 + dice.below(3)
  return {
    seed,
    servers,
    options: optionsOf(dice),
    receivers: Array.from({ length: 4 }, () => receiverOf(dice)),
    latencyMillis: dice.of([1, 5, 50]),
    defects: dice.of([0, 0, 20]),
    crashAt: -1,
    actions: Array.from({ length: 3 + dice.below(15) }, () => actionOf(dice, servers)),
  }
}

/** A short story in which one server crashes right before its nth call, whichever that is. */
export const crashAtCall = (seed: number, crashAt: number): DispatchScenario => {
  const scenario = scenarioOf(seed)
  const some = { _tag: "Store", server: 0, count: 6, account: 0, isTold: true } as const
  const actions = [0, 1].map((origin) => ({ ...some, at: 10 * origin, origin }))
  return { ...scenario, servers: 2, crashAt, actions }
}
