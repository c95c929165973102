/**
 * What must hold of runs that follow the ends of others, from outside of the engine: each end has
 * started one run for each trigger that follows it, and nothing else has started any.
 */
import type { Run } from "@millrace/core/domain/Run"
import type { RunEndTrigger } from "@millrace/core/domain/RunEndTrigger"

/** What is to be judged. All triggers were there, and switched on, before the first run. */
export interface Followed {
  readonly triggers: ReadonlyArray<RunEndTrigger>
  readonly runs: ReadonlyArray<Run>
  /** By how much servers may be mistaken about the time. */
  readonly slackMillis: number
}

/** The ends that no run follows yet, as texts. */
export const unfollowedOf = ({ runs, triggers }: Followed): ReadonlyArray<string> => {
  const known = new Set(runs.map(({ after, triggerId }) => `${triggerId} ${after?.runId}`))
  return triggers.flatMap(({ id, watch }) =>
    runs
      .filter(({ workflowId }) => workflowId === watch)
      .map((run) => `${id} ${run.id}`)
      .filter((end) => !known.has(end)),
  )
}

const brokenFollower = (
  run: Run,
  { workflowId, watch }: RunEndTrigger,
  ended: Run | undefined,
  slackMillis: number,
): string | undefined => {
  const what = `${run.id}, after ${run.after?.runId}`
  if (ended === undefined || ended.workflowId !== watch) return `a run follows an end: ${what}`
  const depth = (ended.after?.depth ?? 0) + 1
  const isRight =
    run.workflowId === workflowId &&
    run.source === "run_end" &&
    run.after?.depth === depth &&
    run.values["runId"] === ended.id &&
    run.values["status"] === ended.status
  if (!isRight) return `a run says what it follows: ${what}`
  return run.createdAt + slackMillis < ended.finishedAt!
    ? `no run is started before the end that it follows: ${what}`
    : undefined
}

/** The first broken rule, with what breaks it. */
export const brokenFollowingOf = (followed: Followed): string | undefined => {
  const { runs, slackMillis, triggers } = followed
  const byId = new Map(runs.map((run) => [run.id, run]))
  const seen = new Set<string>()
  for (const run of runs) {
    const trigger = triggers.find(({ id }) => id === run.triggerId)
    if (trigger === undefined) continue
    const end = `${trigger.id} ${run.after?.runId}`
    if (seen.has(end)) return `an end starts one run: ${run.id} is another one of ${end}`
    seen.add(end)
    const ended = run.after === null ? undefined : byId.get(run.after.runId)
    const broken = brokenFollower(run, trigger, ended, slackMillis)
    if (broken !== undefined) return broken
  }
  const [missing] = unfollowedOf(followed)
  return missing === undefined ? undefined : `an end starts a run: none for ${missing}`
}
