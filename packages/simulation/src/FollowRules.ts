/**
 * What must hold of runs that follow the ends of others, from outside of the engine: each end has
 * started one run for each trigger that follows it, unless a pause of all triggers came before, and
 * nothing else has started any.
 */
import type { Run } from "@millrace/core/domain/Run"
import type { RunEndTrigger } from "@millrace/core/domain/RunEndTrigger"
import { isDropped, isStopped, mayBeDropped, mayBeGivenUp, type Pause } from "./SchedulePauses.ts"

/** What is to be judged. All triggers were there, and switched on, before the first run. */
export interface Followed {
  readonly triggers: ReadonlyArray<RunEndTrigger>
  readonly runs: ReadonlyArray<Run>
  readonly pauses: ReadonlyArray<Pause>
  /** By how much servers may be mistaken about the time. */
  readonly slackMillis: number
}

/** The ends of a trigger that no run follows. */
const ownUnfollowed = (runs: ReadonlyArray<Run>, { id, watch }: RunEndTrigger) => {
  const own = runs.filter(({ triggerId }) => triggerId === id)
  const known = new Set(own.map(({ after }) => after?.runId))
  return runs.filter((run) => run.workflowId === watch && !known.has(run.id))
}

/** The ends that no run follows yet, and that are not counted as missed either, as texts. */
export const unfollowedOf = ({ pauses, runs, triggers }: Followed): ReadonlyArray<string> =>
  triggers.flatMap((trigger) => {
    const ends = ownUnfollowed(runs, trigger).filter(
      ({ finishedAt }) => !mayBeDropped(pauses, finishedAt!),
    )
    const early = ends.filter(({ finishedAt }) => mayBeGivenUp(pauses, finishedAt!))
    const open = early.length > trigger.missed ? ends : ends.filter((run) => !early.includes(run))
    return open.map((run) => `${trigger.id} ${run.id}`)
  })

/** Of a trigger that has counted more ends than have started no run. */
const miscounted = ({ pauses, runs, triggers }: Followed): RunEndTrigger | undefined =>
  triggers.find((trigger) => {
    const ends = ownUnfollowed(runs, trigger)
    const most = ends.filter(({ finishedAt }) => !isDropped(pauses, finishedAt!)).length
    return trigger.missed > most
  })

const brokenFollower = (
  run: Run,
  { watch, webhook, workflowId }: RunEndTrigger,
  ended: Run | undefined,
  { pauses, slackMillis }: Followed,
): string | undefined => {
  const what = `${run.id}, after ${run.after?.runId}`
  if (ended === undefined || ended.workflowId !== watch) return `a run follows an end: ${what}`
  const depth = (ended.after?.depth ?? 0) + 1
  const isRight =
    run.workflowId === workflowId &&
    run.source === "run_end" &&
    JSON.stringify(run.webhook) === JSON.stringify(webhook) &&
    run.after?.depth === depth &&
    run.values["runId"] === ended.id &&
    run.values["status"] === ended.status
  if (!isRight) return `a run says what it follows: ${what}`
  if (isStopped(pauses, ended.finishedAt!)) return `no end in a pause starts a run: ${what}`
  return run.createdAt + slackMillis < ended.finishedAt!
    ? `no run is started before the end that it follows: ${what}`
    : undefined
}

/** The first broken rule, with what breaks it. */
export const brokenFollowingOf = (followed: Followed): string | undefined => {
  const { runs, triggers } = followed
  const byId = new Map(runs.map((run) => [run.id, run]))
  const seen = new Set<string>()
  for (const run of runs) {
    const trigger = triggers.find(({ id }) => id === run.triggerId)
    if (trigger === undefined) continue
    const end = `${trigger.id} ${run.after?.runId}`
    if (seen.has(end)) return `an end starts one run: ${run.id} is another one of ${end}`
    seen.add(end)
    const ended = run.after === null ? undefined : byId.get(run.after.runId)
    const broken = brokenFollower(run, trigger, ended, followed)
    if (broken !== undefined) return broken
  }
  const wrong = miscounted(followed)
  if (wrong !== undefined) return `what is missed started no run: ${wrong.id}, ${wrong.missed}`
  const [missing] = unfollowedOf(followed)
  return missing === undefined ? undefined : `an end starts a run: none for ${missing}`
}
