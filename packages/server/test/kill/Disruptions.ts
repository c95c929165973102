/**
 * What is done to a fleet and its database, when: drawn from a seed before anything begins.
 */
import { setTimeout as sleep } from "node:timers/promises"
import type { PostgresServer } from "../../../postgres/test/PostgresServer.ts"
import type { Dice } from "./Dice.ts"
import type { Fleet } from "./Fleet.ts"
import { sessionsOf, terminate } from "./Sql.ts"

/** How often what is done, and over how long. */
export interface DisruptionOptions {
  readonly kills: number
  readonly terminations: number
  readonly restarts: number
  readonly overMillis: number
}

interface Disruption {
  readonly at: number
  readonly name: keyof Omit<DisruptionOptions, "overMillis">
}

const operationsOf = (dice: Dice, options: DisruptionOptions): ReadonlyArray<Disruption> =>
  (["kills", "terminations", "restarts"] as const)
    .flatMap((name) =>
      dice.moments(options[name], 0, options.overMillis).map((at) => ({ at, name })),
    )
    .toSorted((a, b) => a.at - b.at)

/** Does all of it, and counts what was really hit: nobody can kill who is not there. */
export const disrupt = async (
  fleet: Fleet,
  postgres: PostgresServer,
  dice: Dice,
  options: DisruptionOptions,
): Promise<Record<Disruption["name"], number>> => {
  const done = { kills: 0, terminations: 0, restarts: 0 }
  const begun = Date.now()
  const acts: Record<Disruption["name"], () => Promise<boolean>> = {
    kills: async () => {
      const running = fleet.seats.filter(({ server }) => server.isRunning)
      if (running.length === 0) return false
      await dice.pick(running).server.end("SIGKILL")
      return true
    },
    terminations: async () => {
      const sessions = await sessionsOf(postgres.url)
      if (sessions.length === 0) return false
      await terminate(postgres.url, dice.pick(sessions))
      return true
    },
    restarts: async () => {
      await postgres.restart(dice.pick(["INT", "QUIT"]))
      return true
    },
  }
  for (const { at, name } of operationsOf(dice, options)) {
    await sleep(Math.max(0, begun + at - Date.now()))
    while (!(await acts[name]())) await sleep(50)
    done[name] += 1
  }
  return done
}
