/**
 * Runs that have lost owners: the losses that a claim adds, the suspects that it may take, and the
 * losses that are removed again. Pure. `RunStore.claim` of the ports has the rules.
 */
import type { RunnerId } from "./Id.ts"
import { lossesPerRun, suspectsAtOnce } from "./Limits.ts"
import type { Blocked, Loss } from "./Loss.ts"
import type { Run } from "./Run.ts"
import type { Timestamp } from "./Timestamp.ts"

/** What decides the losses of a run. */
type Owned = Pick<Run, "owner" | "losses" | "active">

const nodesOf = ({ active }: Pick<Run, "active">): ReadonlyArray<number> =>
  active.map(({ ordinal }) => ordinal)

/** The losses and one more; unchanged if the list is full. */
const withLoss = (losses: ReadonlyArray<Loss>, loss: Loss): ReadonlyArray<Loss> =>
  losses.length < lossesPerRun ? [...losses, loss] : losses

/** The losses of a run after this runner has claimed it. `lostAt`: when its owner's lease ended. */
export const lossesWith = (
  run: Owned,
  claimer: RunnerId,
  lostAt: Timestamp | undefined,
): ReadonlyArray<Loss> => {
  const { losses, owner } = run
  const isLoss = owner !== null && owner !== claimer && lostAt !== undefined
  if (!isLoss || run.active.length === 0) return losses
  return withLoss(losses, { runner: owner, lostAt, nodes: nodesOf(run), cause: "died" })
}

/** Decides for the suspects, one after the other, whether a claim of a runner may take them. */
export const lineGate = (owned: Iterable<Pick<Run, "losses">>) => {
  let single = 0
  let several = 0
  let isOver = false
  const add = (losses: number) => {
    if (losses === 1) single += 1
    if (losses > 1) several += 1
  }
  for (const { losses } of owned) add(losses.length)
  /** True if the next suspect, with so many losses, may be taken. Then it counts as taken. */
  return (losses: number): boolean => {
    const isFree = losses > 1 ? single + several === 0 : several === 0 && single < suspectsAtOnce
    isOver ||= !isFree
    if (!isOver) add(losses)
    return !isOver
  }
}

/** The losses of a run without the deaths of a runner that is alive. */
export const takenBack = (
  { id, losses }: Pick<Run, "id" | "losses">,
  runner: RunnerId,
  blocked: Blocked | undefined,
): ReadonlyArray<Loss> =>
  losses.flatMap((loss): ReadonlyArray<Loss> => {
    if (loss.runner !== runner || loss.cause !== "died") return [loss]
    return blocked?.run === id ? [{ ...loss, cause: "blocked", millis: blocked.millis }] : []
  })

/** The losses of a run whose owner ends its lease because the run blocks it. */
export const lossesWithBlock = (
  run: Owned,
  owner: RunnerId,
  { millis }: Blocked,
  lostAt: Timestamp,
): ReadonlyArray<Loss> =>
  run.active.length === 0
    ? run.losses
    : withLoss(run.losses, { runner: owner, lostAt, nodes: nodesOf(run), cause: "blocked", millis })
