/**
 * The listing of an account's runs: one page of it, as rows of the store.
 */
import type { RunQuery } from "@millrace/api/PageQuery"
import type { AccountId } from "@millrace/core/domain/Id"
import { WorkflowId } from "@millrace/core/domain/Id"
import { RunStore } from "@millrace/core/ports/RunStore"
import { Effect } from "effect"
import { InvalidRequest } from "../Errors.ts"
import { makePaginate } from "./Paging.ts"

/** Makes what reads a page of runs. */
export const makeListRuns = Effect.gen(function* () {
  const store = yield* RunStore
  const paginate = yield* makePaginate
  return Effect.fnUntraced(function* (account: AccountId, query: RunQuery) {
    const { from, to } = query
    if (from !== undefined && to !== undefined && from >= to) {
      return yield* new InvalidRequest({ message: "to: expected a time after from" })
    }
    return yield* paginate(account, "runs", query, (filter, page) => {
      const { from: first, search, status, to: end, workflowId: id } = filter
      const workflowId = id === undefined ? undefined : WorkflowId.make(id)
      return store.list({ account, workflowId, status, from: first, to: end, search, ...page })
    })
  })
})

/** Reads a page of runs. */
export type ListRuns = Effect.Success<typeof makeListRuns>
