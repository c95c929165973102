/**
 * What stands between an account and one more run: what a start asks that would have to wait.
 *
 * Leaves out: the bounds; those are limits, and the account's own cap.
 */
import type { AccountId, WorkflowId } from "./Id.ts"
import type { Account } from "./Account.ts"

/** Whose load, and how far to count what waits. */
export interface LoadQuery {
  readonly account: AccountId
  readonly limit: number
  /** A concurrency key of a workflow, for `ofKey`. */
  readonly key?: { readonly workflowId: WorkflowId; readonly concurrencyKey: string } | undefined
}

/** The open runs of an account. All but `owned` are counted no further than the limit. */
export interface AccountLoad {
  /** Runs in the queue. Not: parked ones, due or not, and starts for later. */
  readonly queued: number
  /** Runs that wait for their concurrency keys, and for nothing else. */
  readonly keyless: number
  /** Runs that a runner owns. */
  readonly owned: number
  /** Runs that hold the key of the query or wait for nothing but it; 0 without one. */
  readonly ofKey: number
  /** The account's own cap. */
  readonly runsAtOnce: Account["runsAtOnce"]
}
