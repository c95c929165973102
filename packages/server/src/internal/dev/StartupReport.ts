/**
 * What a store holds when the server starts: workflows, runs, and runs that were interrupted.
 *
 * Leaves out: continuing interrupted runs; the engine claims them by itself.
 */
import type { Account } from "@millrace/core/domain/Account"
import type { Page, PageRequest } from "@millrace/core/domain/Page"
import type { Run, RunStatus } from "@millrace/core/domain/Run"
import type { RunQuery } from "@millrace/core/ports/RunStore"
import { RunStore } from "@millrace/core/ports/RunStore"
import type { StorageError } from "@millrace/core/ports/StorageError"
import { WorkflowStore } from "@millrace/core/ports/WorkflowStore"
import { Effect } from "effect"

/** Counting stops here; the banner then prints "1000 or more". */
export const countedAtMost = 1_000

const pageSize = 100

/** Items of a listing, page by page, at most so many. */
const gather = Effect.fnUntraced(function* <A, E, R>(
  list: (request: PageRequest) => Effect.Effect<Page<A>, E, R>,
  atMost = Infinity,
) {
  const items: Array<A> = []
  let after: PageRequest["after"]
  do {
    const page = yield* list({ after, limit: pageSize })
    items.push(...page.items)
    after = page.next
  } while (after !== undefined && items.length < atMost)
  return items.slice(0, atMost)
})

/** A page of runs. Nothing is searched for, so nothing is too much to search. */
const runsOf = (runs: RunStore["Service"], query: RunQuery) =>
  Effect.catchTag(runs.list(query), "SearchTooBroad", Effect.die)

/** How many workflows and runs an account has; {@link countedAtMost} stands for that or more. */
export const countOf: (
  account: Account,
) => Effect.Effect<
  { readonly workflows: number; readonly runs: number },
  StorageError,
  WorkflowStore | RunStore
> = Effect.fnUntraced(function* ({ id }) {
  const workflows = yield* WorkflowStore
  const runs = yield* RunStore
  const ofAccount = (request: PageRequest) => ({ ...request, account: id })
  const found = {
    workflows: yield* gather((page) => workflows.list(ofAccount(page)), countedAtMost),
    runs: yield* gather((page) => runsOf(runs, ofAccount(page)), countedAtMost),
  }
  return { workflows: found.workflows.length, runs: found.runs.length }
})

const open: ReadonlyArray<RunStatus> = ["RUNNING", "QUEUED"]

/** The runs of these accounts that have not ended. */
export const unfinishedOf: (
  accounts: ReadonlyArray<Account>,
) => Effect.Effect<ReadonlyArray<Run>, StorageError, RunStore> = Effect.fnUntraced(
  function* (accounts) {
    const runs = yield* RunStore
    const found: Array<Run> = []
    for (const { id } of accounts) {
      for (const status of open) {
        found.push(...(yield* gather((page) => runsOf(runs, { ...page, account: id, status }))))
      }
    }
    return found
  },
)
