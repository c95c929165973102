/**
 * Ending a run from outside, whatever its nodes are doing: it is canceled, or given up.
 *
 * Guarantees: pure; what the attempts in progress have charged is paid for once, and the children
 * of the run are canceled with it.
 */
import type { MicroCredits } from "../../domain/Credits.ts"
import type { ActiveNode, NodeRun, Run, RunRecord } from "../../domain/Run.ts"
import type { Timestamp } from "../../domain/Timestamp.ts"
import type { RunCommit } from "../../ports/RunStore.ts"
import { CommitBuilder } from "./CommitBuilder.ts"

const countOf = (rows: ReadonlyArray<NodeRun>, status: NodeRun["status"]): number =>
  rows.filter((row) => row.status === status).length

/**
 * What an attempt in progress has charged so far, as far as it is known. An attempt that somebody
 * else has begun anew is another one, whatever is still in progress here.
 */
export type ChargedSoFar = (ordinal: number, attempt: number) => MicroCredits

/** Records what an attempt has cost that the end of its run breaks off. */
const payBroken = (
  { definition, nodeRuns }: RunRecord,
  change: CommitBuilder,
  { attempt, ordinal, startedAt }: ActiveNode,
  spent: MicroCredits,
  now: Timestamp,
): void => {
  if (spent === 0) return
  const node = definition.nodes[ordinal]!
  const row = nodeRuns.find((each) => each.ordinal === ordinal)
  const paid = { status: "CANCELED" as const, attempt, startedAt, finishedAt: now, error: null }
  const credits = (row?.credits ?? 0) + spent
  change.charge(node, spent)
  change.setNode(
    { id: node.id, node, index: ordinal },
    { ...row, ...paid, credits },
    row !== undefined,
  )
}

/** The commit that ends a run from outside, whatever its nodes are doing. */
const breakOff = (
  record: RunRecord,
  status: Extract<Run["status"], "FAILED" | "CANCELED">,
  error: string | null,
  now: Timestamp,
  spent: ChargedSoFar,
): RunCommit => {
  const { nodeRuns, run } = record
  const change = new CommitBuilder(run, now)
  for (const active of run.active) {
    payBroken(record, change, active, spent(active.ordinal, active.attempt), now)
  }
  const completed = countOf(nodeRuns, "COMPLETED")
  change.end(status, error, null, { completed, failed: countOf(nodeRuns, "FAILED") })
  return change.commit()
}

/** The commit that gives up a run which cannot be executed. */
export const giveUp = (record: RunRecord, error: string, now: Timestamp): RunCommit =>
  breakOff(record, "FAILED", error, now, () => 0)

/** The commit that cancels a run; what its attempts have charged so far is paid for. */
export const cancel = (record: RunRecord, now: Timestamp, spent: ChargedSoFar): RunCommit =>
  breakOff(record, "CANCELED", null, now, spent)
