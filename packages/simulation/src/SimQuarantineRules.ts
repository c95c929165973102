/**
 * What must hold of runs that lose their owners: who may execute them beside which others, and that
 * no run pays for another one whose nodes end the processes that call them.
 */
import type { RunnerId } from "@millrace/core/domain/Id"
import { lossesPerRun, suspectsAtOnce } from "@millrace/core/domain/Limits"
import type { Loss } from "@millrace/core/domain/Loss"
import type { Run } from "@millrace/core/domain/Run"
import { isTerminal } from "@millrace/core/domain/Run"
import type { Bench, Turned, Watched } from "./SimWatched.ts"
import { shown } from "./SimWatched.ts"

/** True for the run whose nodes end their processes. */
export const isGuilty = ({ guilty }: Bench, { record }: Watched): boolean =>
  guilty !== null && record.run.values["run"] === guilty

/** The losses of a run once this runner has claimed it. `lostAt`: when its owner's lease ended. */
export const lossesWith = (
  { active, losses, owner }: Run,
  claimer: RunnerId,
  lostAt: number | undefined,
): ReadonlyArray<Loss> => {
  if (owner === null || owner === claimer || lostAt === undefined) return losses
  if (active.length === 0 || losses.length >= lossesPerRun) return losses
  return [
    ...losses,
    { runner: owner, lostAt, nodes: active.map(({ ordinal }) => ordinal), cause: "died" },
  ]
}

/** After a claim: what was taken from others may be executed beside what the runner has. */
export const checkTaken = (
  { report }: Bench,
  runner: RunnerId,
  taken: ReadonlyArray<Run>,
  watched: Iterable<Watched>,
): void => {
  const suspects = [...watched]
    .map(({ record }) => record.run)
    .filter((run) => run.owner === runner && !isTerminal(run.status) && run.losses.length > 0)
  const several = suspects.filter(({ losses }) => losses.length > 1)
  for (const { id, losses } of taken) {
    if (losses.length === 0) continue
    const isRight =
      losses.length > 1
        ? suspects.length === 1
        : several.length === 0 && suspects.length <= suspectsAtOnce
    if (!isRight) report("suspects are set apart", `${runner} takes ${id}: ${shown(suspects)}`)
  }
}

/** A run gets two losses at most by another one that never made progress in between. */
export const checkPaid = (bench: Bench, { after, watched }: Turned): void => {
  if (isGuilty(bench, watched)) {
    if (after.run.losses.length === 0 && after.run.attempts > 0) bench.resets.count += 1
    return
  }
  const paid = after.run.losses.filter(({ runner }) => bench.poisoned.has(runner)).length
  if (paid <= 2 + bench.resets.count) return
  bench.report("no run pays for another one", `${after.run.id}: ${shown(after.run.losses)}`)
}
