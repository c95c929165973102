/**
 * What a seed draws for a simulation of schedules, as plain data: the schedules, what becomes of
 * them, and what goes wrong.
 */
import type { Schedule } from "@millrace/core/domain/Trigger"
import type { Dice } from "./ModelDice.ts"
import type { Blow } from "./SimActions.ts"
import { diceFor } from "./SimBehavior.ts"
import { type Content, contentOf } from "./SimContents.ts"
import { blowOf, serverCount, type Setup, setupOf } from "./SimScenario.ts"

/** A schedule that somebody makes. Times are milliseconds from the beginning. */
export interface PlannedSchedule extends Pick<Schedule, "catchUp" | "overlap" | "jitterSeconds"> {
  readonly at: number
  readonly server: number
  readonly everySeconds: number
  /** `null`: it begins when it is made. */
  readonly startAt: number | null
  readonly endAt: number
}

/** One thing that goes wrong, or that somebody asks for. */
export type ScheduleAction =
  | { readonly _tag: "Hit"; readonly at: number; readonly server: number; readonly blow: Blow }
  | { readonly _tag: "Leap"; readonly at: number; readonly millis: number }
  | {
      /** Switches a schedule off or on, gives it another interval, or removes it. */
      readonly _tag: "Change"
      readonly at: number
      readonly server: number
      readonly schedule: number
      readonly change: "off" | "on" | "remove" | number
    }
  | {
      /** Pauses all triggers, and resumes them after some time; `null`: they stay paused. */
      readonly _tag: "PauseAll"
      readonly at: number
      readonly server: number
      readonly millis: number | null
    }
  | {
      /** Hits a server in the middle of its so-manieth operation of a kind. */
      readonly _tag: "Strike"
      readonly operation: "claimdue" | "advance" | "commit" | "changetrigger"
      readonly count: number
      readonly place: "arriving" | "landed"
      readonly blow: Blow
    }

/** What one seed draws. */
export interface ScheduleScenario {
  readonly seed: number
  readonly isFaultFree: boolean
  readonly setup: Setup
  /** What is drafted and published of the workflows. */
  readonly content: Content
  readonly schedules: ReadonlyArray<PlannedSchedule>
  readonly actions: ReadonlyArray<ScheduleAction>
  /** From here on nothing more goes wrong. */
  readonly healedAt: number
}

const spread = 60_000

const scheduleOf = (dice: Dice): PlannedSchedule => {
  const at = dice.below(3_000)
  const everySeconds = dice.of([3, 5, 10, 20])
  const startAt = dice.chance(30) ? at + dice.below(20_000) : null
  return {
    at,
    server: dice.below(serverCount),
    everySeconds,
    startAt,
    endAt: (startAt ?? at) + everySeconds * 1_000 * (2 + dice.below(9)) + dice.of([0, 1, 500]),
    catchUp: dice.of(["none", "last", "all"]),
    overlap: dice.of(["allow", "skip", "queue", "cancelOther"]),
    jitterSeconds: dice.of([0, 0, 2, 7]),
  }
}

/** Something that befalls a server; also for so long that times are late then. */
const longBlowOf = (dice: Dice): Blow => {
  const blow = blowOf(dice)
  const millis = dice.of([20_000, 61_000, 90_000])
  if (!dice.chance(35)) return blow
  return blow._tag === "Pause" ? { ...blow, millis } : { ...blow, downMillis: millis }
}

const actionOf = (dice: Dice, schedules: number): ScheduleAction => {
  const at = dice.below(spread)
  const server = dice.below(serverCount)
  const schedule = dice.below(schedules)
  switch (dice.below(8)) {
    case 0:
      return { _tag: "Hit", at, server, blow: longBlowOf(dice) }
    case 1:
      return { _tag: "Leap", at, millis: dice.of([5_000, 16_000, 61_000, 300_000]) }
    case 2: {
      const change = dice.of(["off", "off", "on", "remove", 4, 15] as const)
      return { _tag: "Change", at, server, schedule, change }
    }
    case 3: {
      const millis = dice.of([500, 4_000, 12_000, 30_000, 90_000, null])
      return { _tag: "PauseAll", at, server, millis }
    }
    default: {
      const operation = dice.of(["claimdue", "advance", "advance", "commit", "commit"] as const)
      const isChange = dice.chance(10)
      return {
        _tag: "Strike",
        operation: isChange ? "changetrigger" : operation,
        count: 1 + dice.below(isChange ? 3 : operation === "claimdue" ? 60 : 20),
        place: dice.of(["arriving", "landed"]),
        blow: longBlowOf(dice),
      }
    }
  }
}

/** The scenario of a seed. */
export const scheduleScenarioOf = (seed: number): ScheduleScenario => {
  const dice = diceFor(seed, "schedules")
  const isFaultFree = dice.chance(10)
  const schedules = Array.from({ length: 1 + dice.below(3) }, () => scheduleOf(dice))
  const actions = Array.from({ length: isFaultFree ? 0 : dice.below(9) }, () =>
    actionOf(dice, schedules.length),
  )
  // A pause is no fault.
  if (isFaultFree && dice.chance(50)) {
    const at = dice.below(spread)
    actions.push({ _tag: "PauseAll", at, server: 0, millis: dice.of([500, 7_000, 20_000, null]) })
  }
  const setup = { ...setupOf(dice, isFaultFree), offsets: [0, 0, 0, 0], attemptsPerRun: 1_000 }
  const content = contentOf(seed)
  return { seed, isFaultFree, setup, content, schedules, actions, healedAt: spread + 5_000 }
}
