/**
 * Nodes without effects: a step computes them at once, as far as that leads, and one commit stores
 * all of them. They need not wait until what they depend on is stored, because after a crash they
 * are computed again.
 *
 * Guarantees: no more nodes and no more time than the limits say, and no node without a free slot;
 * no node that the credits set aside do not cover; each node gets its row, its times and its cost
 * as if it had waited. Leaves out: calling handlers.
 */
import type { Timestamp } from "../../domain/Timestamp.ts"
import type { AttemptOutcome } from "./Attempt.ts"
import { expectedOf } from "./Billing.ts"
import type { CommitBuilder } from "./CommitBuilder.ts"
import { applyOutcome } from "./NodeOutcome.ts"
import type { Ready, RunState, Started } from "./RunState.ts"
import { isHalted } from "./RunState.ts"

/**
 * Calls the handler of a node at a time. Its outcome, or `undefined` if the handler goes on: then
 * it is an attempt in progress like any other.
 */
export type Compute = (started: Started, now: Timestamp) => AttemptOutcome | undefined

/** What a step has computed. */
export interface Computed {
  /** How many attempts were made. */
  readonly attempts: number
  /** How many nodes began with that. */
  readonly nodes: number
  /** When the last attempt ended. */
  readonly until: Timestamp
}

export const nothingComputed = (now: Timestamp): Computed => ({ attempts: 0, nodes: 0, until: now })

/**
 * True if a step may compute this node. One that was suspended goes on like all others, and one
 * that has JavaScript to compute does not end at once.
 */
export const isComputable = ({ again, graph }: RunState, { given, index }: Ready): boolean => {
  if (graph.nodes[index]!.type.effects !== "none") return false
  if (given !== undefined && !("inputs" in given)) return false
  const before = again.get(index)
  return before === undefined || (before.message === undefined && before.state === undefined)
}

/** How the next attempt of a ready node begins. */
export const beginOf = ({ again }: RunState, ready: Ready, now: Timestamp): Started => {
  const { given, index, inputs } = ready
  const before = again.size === 0 ? undefined : again.get(index)
  if (before !== undefined) return { ...ready, ...before }
  return { index, inputs, given, attempt: 1, startedAt: now, ordinal: index }
}

/** Computes what is ready, and what that releases. The rest stays `computable`. */
export const computeNodes = (
  progress: RunState,
  change: CommitBuilder,
  begunAt: Timestamp,
  compute: Compute | undefined,
  release: (progress: RunState, change: CommitBuilder, now: Timestamp) => void,
): Computed => {
  if (compute === undefined || progress.computable.length === 0) return nothingComputed(begunAt)
  const { again, limits, running } = progress
  let [attempts, nodes, now] = [0, 0, begunAt]
  // A node needs a slot, because its handler may go on.
  const hasRoom = () =>
    attempts < limits.nodesPerStep &&
    now - begunAt < limits.millisPerStep &&
    running.size < limits.nodesAtOnce &&
    !isHalted(progress)
  while (progress.computable.length > 0 && hasRoom()) {
    const line = progress.computable
    progress.computable = []
    let done = 0
    for (; done < line.length && hasRoom(); done++) {
      const started = beginOf(progress, line[done]!, now)
      const { index } = started
      running.set(index, started)
      if (change.shortOf(expectedOf(progress)) > 0) {
        running.delete(index)
        progress.ready.push(line[done]!)
        continue
      }
      attempts += 1
      if (!again.delete(index)) nodes += 1
      const outcome = compute(started, now)
      if (outcome === undefined) continue
      now = Math.max(now, outcome.at)
      applyOutcome(progress, change, outcome)
    }
    change.passTo(now)
    release(progress, change, now)
    progress.computable.push(...line.slice(done))
  }
  return { attempts, nodes, until: now }
}
