/**
 * The preconditions of new runs. A start would take what the run was started from: the published
 * version that it names; or, where none is published, the workflow in the run's revision. And the
 * trigger of the run, or the end of a run that it follows, has the fence of its claim. The commit's
 * statement has a part only if one of its new runs has such a precondition.
 *
 * Guarantees: a statement checks each precondition once, so all its parts refuse the same new runs.
 * Workflows are read in the snapshot of the whole statement, and not locked: a change that commits
 * while the statement runs counts as later. A trigger or an end is locked until the run is stored,
 * and nobody claims it meanwhile; one that somebody else is changing now counts as changed. Leaves
 * out: what happens to a refused run.
 */
import type { RunCommit } from "@millrace/core/ports/RunStore"
import * as Rows from "./Rows.ts"

/** True for a new run of which a start must take the same. */
export const requiresCurrent = ({ expected }: RunCommit): boolean =>
  expected._tag === "New" && expected.isCurrent === true

const claimFenceOf = ({ expected }: RunCommit): number | undefined =>
  expected._tag === "New" ? expected.claimFence : undefined

/** The preconditions as text. New runs with the same text are refused together or not at all. */
export const preconditionOf = (commit: RunCommit): string | undefined => {
  const { after, triggerId, workflowId, workflowRevision, workflowVersion } = commit.run
  const workflow = requiresCurrent(commit) ? [workflowId, workflowRevision, workflowVersion] : []
  const fence = claimFenceOf(commit)
  const all = fence === undefined ? workflow : [...workflow, triggerId, after?.runId, fence]
  return all.length === 0 ? undefined : all.join(" ")
}

type Commits = ReadonlyArray<{ readonly commit: RunCommit }>

/** The workflows that new runs name, each in one revision and version. */
export const current: Rows.Table<RunCommit["run"]> = [
  ...Rows.texts<RunCommit["run"]>("accountId", "workflowId"),
  ...Rows.int4s<RunCommit["run"]>("workflowRevision", "workflowVersion"),
]

/** One run for each of {@link current}. */
export const currentRuns = (commits: Commits): ReadonlyArray<RunCommit["run"]> =>
  Rows.distinct(
    commits.flatMap(({ commit }) => (requiresCurrent(commit) ? [commit.run] : [])),
    (run) => [run.accountId, run.workflowId, run.workflowRevision, run.workflowVersion].join(" "),
  )

/** The runs of claimed triggers, and of claimed ends of runs that they follow. */
export const claimed: Rows.Table<RunCommit> = [
  Rows.derived("run_id", "text", ({ run }) => run.id),
  Rows.derived("trigger_id", "text", ({ run }) => run.triggerId),
  Rows.derived("ended_id", "text", ({ run }) => run.after?.runId),
  Rows.derived("fence", "int4", claimFenceOf),
]

export const claimedRuns = (commits: Commits): ReadonlyArray<RunCommit> =>
  commits.flatMap(({ commit }) => (claimFenceOf(commit) === undefined ? [] : [commit]))

const ofWorkflow = ["account_id", "workflow_id", "workflow_revision", "workflow_version"] as const

// Many runs of a statement are of one workflow, so each workflow is looked up once, by key.
const outdatedWorkflows = (workflows: string, newRuns: string): string => `SELECT d.id AS run_id
  FROM (
    SELECT * FROM ${workflows}
    WHERE (
      SELECT w.published IS NOT DISTINCT FROM c.workflow_version
        AND (w.published IS NOT NULL OR w.revision = c.workflow_revision)
      FROM workflows w
      WHERE w.id = c.workflow_id AND ${Rows.isOf("w.account_id", "c.account_id")}
    ) IS NOT TRUE OFFSET 0
  ) c JOIN ${newRuns} ON d.is_current AND d.workflow_id = c.workflow_id
    AND d.account_id = c.account_id AND d.workflow_revision = c.workflow_revision
    AND d.workflow_version IS NOT DISTINCT FROM c.workflow_version`

// To skip what is locked means that two statements never wait for each other's triggers.
const held = (source: string): string => `held AS MATERIALIZED (
  SELECT d.run_id FROM ${source}
  CROSS JOIN LATERAL (
    SELECT FROM triggers t
    WHERE d.ended_id IS NULL AND t.id = d.trigger_id AND t.fence = d.fence
    FOR SHARE SKIP LOCKED
  ) t UNION ALL SELECT d.run_id FROM ${source}
  CROSS JOIN LATERAL (
    SELECT FROM run_ends e
    WHERE e.run_id = d.ended_id AND e.trigger_id = d.trigger_id AND e.fence = d.fence
    FOR SHARE SKIP LOCKED
  ) e
)`

/** Which preconditions the new runs of a statement have, and where their rows are. */
interface Shape {
  has(kind: "current" | "claimed"): boolean
  from(kind: "current" | "claimed", alias: string): string
  fromNewRuns(alias: string, ...names: ReadonlyArray<string>): string
}

/** The parts of the statement with the runs whose preconditions are not met. */
export const outdated = (shape: Shape): string => {
  const unmet: Array<string> = []
  if (shape.has("current")) {
    const newRuns = shape.fromNewRuns("d", "is_current", "id", ...ofWorkflow)
    unmet.push(outdatedWorkflows(shape.from("current", "c"), newRuns))
  }
  const parts: Array<string> = []
  if (shape.has("claimed")) {
    const claims = shape.from("claimed", "d")
    parts.push(held(claims))
    unmet.push(`SELECT d.run_id FROM ${claims} WHERE d.run_id NOT IN (SELECT run_id FROM held)`)
  }
  return [...parts, `outdated AS MATERIALIZED (${unmet.join(" UNION ALL ")})`].join(", ")
}

/** The condition that the run with this identifier has no unmet precondition. */
export const isMet = (id: string): string => `${id} NOT IN (SELECT run_id FROM outdated)`
