/**
 * What becomes of a time of a schedule while another run of the schedule goes on. Pure.
 *
 * Guarantees: the answer is right, too, if whoever took the schedule before has started some of its
 * times and could not note that: a time that has a run starts nothing else, cancels nothing and is
 * never skipped; one without a run, behind which a later one has one, was given up before.
 */
import type { RunId } from "../../domain/Id.ts"
import type { Run } from "../../domain/Run.ts"
import { isTerminal } from "../../domain/Run.ts"
import type { Schedule } from "../../domain/Trigger.ts"

/** What to do for a time. */
export type OverlapDecision =
  | { readonly _tag: "Start" }
  /** The time starts no run, because of this one. */
  | { readonly _tag: "Skip"; readonly runId: RunId }
  /** The time waits for the end of this run. */
  | { readonly _tag: "Wait"; readonly runId: RunId }
  /** These runs are canceled first. */
  | { readonly _tag: "Cancel"; readonly runIds: ReadonlyArray<RunId> }

const start: OverlapDecision = { _tag: "Start" }

/** The runs of a schedule that the decision about one of its times looks at. */
export const runsToCheck = (
  { lastRunId, overlap }: Schedule,
  runId: RunId,
  runIds: ReadonlyArray<RunId>,
): ReadonlyArray<RunId> => {
  if (overlap === "allow") return []
  const ids = new Set(lastRunId === null ? runIds : [lastRunId, ...runIds])
  return ids.size === 1 && ids.has(runId) ? [] : [...ids]
}

/**
 * Decides about the time that has the run `runId`, one of `runIds`, which are in the order of their
 * times. `runs` are those of {@link runsToCheck} that there are.
 */
export const decideOverlap = (
  { lastRunId, overlap }: Schedule,
  runId: RunId,
  { runIds, runs }: { readonly runIds: ReadonlyArray<RunId>; readonly runs: ReadonlyArray<Run> },
): OverlapDecision => {
  if (overlap === "allow" || runs.some(({ id }) => id === runId)) return start
  const open = runs.filter(({ status }) => !isTerminal(status)).map(({ id }) => id)
  const later = runIds.slice(runIds.indexOf(runId) + 1)
  const isGivenUp = runs.some(({ id }) => later.includes(id))
  if (isGivenUp) return { _tag: "Skip", runId: open[0] ?? lastRunId ?? runs[0]!.id }
  const [first] = open
  if (first === undefined) return start
  if (overlap === "queue") return { _tag: "Wait", runId: first }
  return overlap === "skip" ? { _tag: "Skip", runId: first } : { _tag: "Cancel", runIds: open }
}
