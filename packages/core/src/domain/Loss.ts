/**
 * The losses of a run, and the error of a run that fails because of them.
 *
 * A run has a loss for each owner that died while attempts of the run were in progress, and for
 * each owner whose event loop the run blocked. It is no loss if the owner gave the run back, ended
 * its lease without naming the run, or turns out to be alive. A run with losses is a suspect: one
 * of its nodes may crash the process. See decision 0054.
 *
 * Leaves out: recording losses; a store does that with claims, heartbeats and ends of leases.
 */
import { Schema } from "effect"
import type { RunId } from "./Id.ts"
import { RunnerId } from "./Id.ts"
import { Timestamp } from "./Timestamp.ts"

const lost = {
  runner: RunnerId,
  /** When the owner's lease ran out, or when the owner ended it, by the store's clock. */
  lostAt: Timestamp,
  /** The nodes that had an attempt in progress, by their ordinals. */
  nodes: Schema.Array(Schema.Int),
}

/** An owner that a run has lost: its process died, or this run blocked the process's event loop. */
export const Loss = Schema.Union([
  Schema.Struct({ ...lost, cause: Schema.Literal("died") }),
  Schema.Struct({ ...lost, cause: Schema.Literal("blocked"), millis: Schema.Int }),
])
export type Loss = typeof Loss.Type

/** A block of a runner's event loop: which run blocked it, and for how long. */
export interface Blocked {
  readonly run: RunId
  readonly millis: number
}

const timesOf = (count: number): string => (count === 1 ? "once" : `${count} times`)

/** With one decimal below 10 s and none above, because the measurement is not more exact. */
const secondsOf = (millis: number): string =>
  `${millis < 10_000 ? Math.round(millis / 100) / 10 : Math.round(millis / 1_000)} s`

const listOf = (parts: ReadonlyArray<string>): string =>
  parts.length < 3 ? parts.join(" and ") : `${parts.slice(0, -1).join(", ")} and ${parts.at(-1)}`

/** How often the process died or was blocked, and for how long at most: `died twice`. */
const eventsOf = (losses: ReadonlyArray<Loss>): string => {
  const deaths = losses.filter(({ cause }) => cause === "died").length
  const blocks = losses.flatMap((loss) => (loss.cause === "blocked" ? [loss.millis] : []))
  const upTo = blocks.length > 1 ? "up to " : ""
  return listOf([
    ...(deaths === 0 ? [] : [`died ${timesOf(deaths)}`]),
    ...(blocks.length === 0
      ? []
      : [`was blocked for ${upTo}${secondsOf(Math.max(...blocks))} ${timesOf(blocks.length)}`]),
  ])
}

/**
 * What happened to the owners of a run, how often, and which nodes were in progress each time, such
 * as `its process died 4 times and was blocked for 12 s once while node "resize" was in progress`.
 */
export const sentenceOf = (
  losses: ReadonlyArray<Loss>,
  nodes: ReadonlyArray<{ readonly id: string }>,
): string => {
  const byNodes = new Map<string, Array<Loss>>()
  for (const loss of losses) {
    const names = loss.nodes.map((place) => `"${nodes[place]?.id ?? place}"`)
    const were = names.length === 1 ? "was" : "were"
    const all = `node${names.length === 1 ? "" : "s"} ${listOf(names)} ${were} in progress`
    byNodes.set(all, [...(byNodes.get(all) ?? []), loss])
  }
  const clauses = [...byNodes].map(([all, group]) => `${eventsOf(group)} while ${all}`)
  return `its process ${clauses.join("; it ")}`
}
