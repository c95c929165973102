/**
 * Whose turn it is when runs are claimed, in the plainest way that is right: part of the model of
 * the stores.
 *
 * Leaves out: speed. Each next run is found by asking every account from the beginning.
 */
import type { AccountId } from "@millrace/core/domain/Id"
import type { Run } from "@millrace/core/domain/Run"
import type { ClaimRequest } from "@millrace/core/ports/RunStore"

/** The open runs by what a claim does with them, each kind in the order in which it is taken. */
export interface Claimable {
  readonly expired: ReadonlyArray<Run>
  readonly due: ReadonlyArray<Run>
  /** Oldest first, of all accounts. */
  readonly queued: ReadonlyArray<Run>
  /** All that have an owner, expired or not. */
  readonly owned: ReadonlyArray<Run>
}

/** The accounts of these runs in the order of their turns. */
const inOrder = (runs: ReadonlyArray<Run>, after: string): ReadonlyArray<AccountId> => {
  const accounts = [...new Set(runs.map(({ accountId }) => accountId))].toSorted()
  return [
    ...accounts.filter((account) => account > after),
    ...accounts.filter((account) => account <= after),
  ]
}

/** True when a run may get an owner beside those that have one. */
const fits = (run: Run, owned: ReadonlyArray<Run>, request: ClaimRequest): boolean => {
  const ofAccount = owned.filter(({ accountId }) => accountId === run.accountId)
  const ofWorkflow = ofAccount.filter(({ workflowId }) => workflowId === run.workflowId)
  return (
    (request.runsPerAccount === undefined || ofAccount.length < request.runsPerAccount) &&
    (request.runsPerWorkflow === undefined || ofWorkflow.length < request.runsPerWorkflow)
  )
}

/** Queued runs, round after round one of each account, until there is none that fits. */
const byTurns = (
  queued: ReadonlyArray<Run>,
  owned: ReadonlyArray<Run>,
  request: ClaimRequest,
): ReadonlyArray<Run> => {
  const taken: Array<Run> = []
  for (;;) {
    const before = taken.length
    for (const account of inOrder(queued, request.after ?? "")) {
      const next = queued.find(
        (run) =>
          run.accountId === account &&
          !taken.includes(run) &&
          fits(run, [...owned, ...taken], request),
      )
      if (next !== undefined) taken.push(next)
    }
    if (taken.length === before) return taken
  }
}

/** The runs that a claim takes, in its order. */
export const claimed = (request: ClaimRequest, claimable: Claimable): ReadonlyArray<Run> => {
  const { except = [], limit } = request
  const wanted = (runs: ReadonlyArray<Run>) => runs.filter(({ id }) => !except.includes(id))
  const back = wanted([...claimable.expired, ...claimable.due]).slice(0, limit)
  const owned = [...claimable.owned, ...back.filter(({ owner }) => owner === null)]
  return [...back, ...byTurns(wanted(claimable.queued), owned, request)].slice(0, limit)
}
