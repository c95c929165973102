// Starts of runs over HTTP, as fast as they are answered: the same requests for every server.
import { setTimeout as sleep } from "node:timers/promises"
import type { Ask } from "../../packages/server/test/Load.ts"
import { load } from "../../packages/server/test/Load.ts"
import type { Measured } from "./Contestant.ts"
import { timer } from "./Contestant.ts"

const connections = 50

/**
 * Posts for half of the time, and then asks again and again whether everything that was started has
 * ended.
 */
export const post = async (
  origin: string,
  asks: ReadonlyArray<Ask>,
  millis: number,
  hasEnded: () => Promise<boolean>,
): Promise<Measured> => {
  const begun = performance.now()
  const isOver = timer(millis / 2)
  const count = Number.POSITIVE_INFINITY
  const replies = await load({ origins: [origin], asks, count, connections, isOver })
  // A server that is too busy says so.
  const steps = replies.filter(({ status }) => status < 300).length
  const accepted = (steps * 1_000) / (performance.now() - begun)
  const bad = replies.find(({ status }) => status >= 300 && status !== 503)
  if (bad !== undefined) throw new Error(`A start was answered with ${bad.status}`)
  while (!(await hasEnded())) await sleep(20)
  return { steps, value: (steps * 1_000) / (performance.now() - begun), accepted }
}
