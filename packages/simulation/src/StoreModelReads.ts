/**
 * What the reads of a run store mean that look at several runs, in the plainest way that is right:
 * part of the model of the stores.
 */
import type { AccountLoad, LoadQuery } from "@millrace/core/domain/AccountLoad"
import type { AccountId, WorkflowId } from "@millrace/core/domain/Id"
import type { NodeRun, Run } from "@millrace/core/domain/Run"
import type {
  ActivityQuery,
  ChildQuery,
  LatestOutput,
  RunQuery,
  WorkflowActivity,
} from "@millrace/core/ports/RunStore"
import type { KeyModel } from "./StoreModelKeys.ts"
import { contains, oldestFirst } from "./StoreModelPage.ts"

/** What the nodes of a workflow last put out. */
export const latestOutputs = (
  runs: ReadonlyArray<Run>,
  nodeRunsOf: (run: Run) => ReadonlyArray<NodeRun>,
  account: AccountId,
  workflowId: WorkflowId,
  nodeIds: ReadonlyArray<string>,
): ReadonlyMap<string, LatestOutput> => {
  const own = runs.filter(
    (run) => run.accountId === account && run.workflowId === workflowId && run.mode !== "item",
  )
  const outputs = oldestFirst(own).flatMap((run) =>
    nodeRunsOf(run).flatMap(({ attempt, largeValues, nodeId, output, status }) =>
      // Without an attempt, the start of the run has given it.
      status === "COMPLETED" && attempt > 0 && output !== null && nodeIds.includes(nodeId)
        ? [[nodeId, { runId: run.id, output, largeValues }] as const]
        : [],
    ),
  )
  // Of several entries for one key a map keeps the last: the newest comes last here.
  return new Map(outputs)
}

/** The children of a node of a run, by index. */
export const childrenOf = (
  runs: ReadonlyArray<Run>,
  { account, after, limit, nodeId, parentRunId, status }: ChildQuery,
): ReadonlyArray<Run> =>
  runs
    .filter(({ accountId, parent }) => accountId === account && parent?.runId === parentRunId)
    .filter(({ parent }) => parent!.nodeId === nodeId && parent!.index > after)
    .filter((run) => status === undefined || run.status === status)
    .toSorted((one, other) => one.parent!.index - other.parent!.index)
    .slice(0, limit)

/** What has become of the runs of workflows lately. */
export const activityOf = (
  runs: ReadonlyArray<Run>,
  { account, failuresRead, since, workflowIds }: ActivityQuery,
): ReadonlyMap<WorkflowId, WorkflowActivity> => {
  const own = oldestFirst(runs.filter(({ accountId }) => accountId === account)).toReversed()
  const counted = own.filter(({ createdAt }) => createdAt >= since)
  const failed = counted.filter(({ status }) => status === "FAILED").slice(0, failuresRead)
  const of = (id: WorkflowId) => (run: Run) => run.workflowId === id
  return new Map(
    workflowIds.flatMap((id) => {
      const lastRun = own.filter(({ mode }) => mode !== "item").find(of(id))
      if (lastRun === undefined) return []
      const counts = {
        runs: counted.filter(of(id)).length,
        failed: failed.filter(of(id)).length,
      }
      return [[id, { lastRun, ...counts }] as const]
    }),
  )
}

/** True for a run that a listing shows. */
export const isFound = (run: Run, query: RunQuery): boolean => {
  const { account, isRoot, parentRunId, search, source, status, triggerId, workflowId } = query
  const { from = -Infinity, to = Infinity } = query
  return (
    run.accountId === account &&
    (workflowId === undefined || run.workflowId === workflowId) &&
    (status === undefined || run.status === status) &&
    (source === undefined || run.source === source) &&
    (triggerId === undefined || run.triggerId === triggerId) &&
    (parentRunId === undefined || run.parent?.runId === parentRunId) &&
    (isRoot !== true || run.parent === null) &&
    run.createdAt >= from &&
    run.createdAt < to &&
    (search === undefined ||
      contains(run.workflowName, search) ||
      (run.error !== null && contains(run.error, search)) ||
      run.id.startsWith(search))
  )
}

/** What the open runs mean for one more run of an account. */
export const loadOf = (
  open: ReadonlyArray<Run>,
  keys: KeyModel,
  waitsForKey: (run: Run) => boolean,
  { account, key, limit }: LoadQuery,
): AccountLoad => {
  const own = open.filter(({ accountId }) => accountId === account)
  const count = (isCounted: (run: Run) => boolean) => Math.min(limit, own.filter(isCounted).length)
  const isReady = ({ dueAt, owner }: Run): boolean => owner === null && dueAt === null
  return {
    queued: count((run) => isReady(run) && run.losses.length === 0 && !waitsForKey(run)),
    keyless: count((run) => isReady(run) && waitsForKey(run)),
    owned: own.filter(({ owner }) => owner !== null).length,
    ofKey: count(
      (run) =>
        run.workflowId === key?.workflowId &&
        run.concurrencyKey === key.concurrencyKey &&
        (isReady(run) || !waitsForKey(run)),
    ),
    runsAtOnce: keys.accounts().find(({ id }) => id === account)?.runsAtOnce ?? null,
  }
}
