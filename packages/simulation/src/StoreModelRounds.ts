/**
 * Whose turn it is when runs are claimed, in the plainest way that is right: part of the model of
 * the stores.
 *
 * Leaves out: speed. Each next run is found by asking every account from the beginning.
 */
import type { AccountId } from "@millrace/core/domain/Id"
import { suspectsAtOnce } from "@millrace/core/domain/Limits"
import type { Loss } from "@millrace/core/domain/Loss"
import type { Run } from "@millrace/core/domain/Run"
import type { ClaimRequest } from "@millrace/core/ports/RunStore"

/** A run that a claim would take over, and the losses that it would have then. */
export interface Candidate {
  readonly run: Run
  readonly losses: ReadonlyArray<Loss>
}

/** The open runs by what a claim does with them, each kind in the order in which it is taken. */
export interface Claimable {
  /** Runs whose owner's lease has run out, and suspects that nobody owns. */
  readonly expired: ReadonlyArray<Candidate>
  /** Of all accounts, with those that were parked and are due. */
  readonly queued: ReadonlyArray<Run>
  /** All that have an owner, expired or not. */
  readonly owned: ReadonlyArray<Run>
  /** The cap of an account's own; `null` where it has none. */
  readonly capOf: (account: AccountId) => number | null
}

/** The accounts of these runs in the order of their turns. */
const inOrder = (runs: ReadonlyArray<Run>, after: string): ReadonlyArray<AccountId> => {
  const accounts = [...new Set(runs.map(({ accountId }) => accountId))].toSorted()
  return [
    ...accounts.filter((account) => account > after),
    ...accounts.filter((account) => account <= after),
  ]
}

/** True when the claim may take a run beside what it has taken. */
const hasRoom = (
  { accountId }: Run,
  taken: ReadonlyArray<Run>,
  { roomPerAccount = Infinity, rooms }: ClaimRequest,
): boolean =>
  taken.filter((run) => run.accountId === accountId).length <
  (rooms?.get(accountId) ?? roomPerAccount)

/** True when a run may get an owner beside those that have one. */
const fits = (
  run: Run,
  owned: ReadonlyArray<Run>,
  request: ClaimRequest,
  { capOf }: Claimable,
): boolean => {
  const ofAccount = owned.filter(({ accountId }) => accountId === run.accountId)
  const ofWorkflow = ofAccount.filter(({ workflowId }) => workflowId === run.workflowId)
  return (
    (request.runsPerAccount === undefined ||
      ofAccount.length < (capOf(run.accountId) ?? request.runsPerAccount)) &&
    (request.runsPerWorkflow === undefined || ofWorkflow.length < request.runsPerWorkflow)
  )
}

/** Queued runs, round after round one of each account, until there is none that fits. */
const byTurns = (
  queued: ReadonlyArray<Run>,
  owned: ReadonlyArray<Run>,
  request: ClaimRequest,
  claimable: Claimable,
): ReadonlyArray<Run> => {
  const taken: Array<Run> = []
  for (;;) {
    const before = taken.length
    for (const account of inOrder(queued, request.after ?? "")) {
      const next = queued.find(
        (run) =>
          run.accountId === account &&
          !taken.includes(run) &&
          hasRoom(run, taken, request) &&
          fits(run, [...owned, ...taken], request, claimable),
      )
      if (next !== undefined) taken.push(next)
    }
    if (taken.length === before) return taken
  }
}

/** True where a runner that executes runs with so many losses each may take one with so many. */
const isFree = (losses: number, beside: ReadonlyArray<number>): boolean => {
  const suspects = beside.filter((each) => each > 0)
  return losses > 1
    ? suspects.length === 0
    : suspects.length < suspectsAtOnce && suspects.every((each) => each === 1)
}

/** What may be taken of the expired runs: the line of suspects ends at the first that may not. */
const withoutQuarantine = (
  candidates: ReadonlyArray<Candidate>,
  owned: ReadonlyArray<Run>,
  { runner }: ClaimRequest,
): ReadonlyArray<Run> => {
  const own = owned.filter(({ owner }) => owner === runner).map(({ losses }) => losses.length)
  const isSuspect = ({ losses, run }: Candidate) => losses.length > 0 && run.owner !== runner
  const line = candidates.filter(isSuspect)
  const end = line.findIndex(({ losses }, index) => {
    const before = line.slice(0, index).map((each) => each.losses.length)
    return !isFree(losses.length, [...own, ...before])
  })
  const quarantined = end < 0 ? [] : line.slice(end)
  return candidates.filter((each) => !quarantined.includes(each)).map(({ run }) => run)
}

/** The runs that a claim takes, in its order. */
export const claimed = (request: ClaimRequest, claimable: Claimable): ReadonlyArray<Run> => {
  const { except = [], limit } = request
  const wanted = (runs: ReadonlyArray<Run>) => runs.filter(({ id }) => !except.includes(id))
  const candidates = claimable.expired.filter(({ run }) => !except.includes(run.id))
  const back = withoutQuarantine(candidates, claimable.owned, request).slice(0, limit)
  const owned = [...claimable.owned, ...back.filter(({ owner }) => owner === null)]
  return [...back, ...byTurns(wanted(claimable.queued), owned, request, claimable)].slice(0, limit)
}

const hasSameKey = (one: Run, other: Run): boolean =>
  one.accountId === other.accountId &&
  one.workflowId === other.workflowId &&
  one.concurrencyKey === other.concurrencyKey

/** Of runs that wait for their keys, in order, those that get them beside their holders. */
export const givenKeys = (
  waiting: ReadonlyArray<Run>,
  holders: ReadonlyArray<Run>,
): ReadonlyArray<Run> => {
  const given: Array<Run> = []
  const refused: Array<Run> = []
  for (const run of waiting) {
    const held = [...holders, ...given].filter((other) => hasSameKey(run, other))
    const isBehind = refused.some((other) => hasSameKey(run, other))
    if (isBehind || held.length >= run.concurrency!) refused.push(run)
    else given.push(run)
  }
  return given
}
