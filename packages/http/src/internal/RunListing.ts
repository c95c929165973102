/**
 * The listing of an account's runs: one page of it, as rows of the store.
 */
import type { RunQuery } from "@millrace/api/PageQuery"
import type { AccountId } from "@millrace/core/domain/Id"
import { RunId, TriggerId, WorkflowId } from "@millrace/core/domain/Id"
import { RunStore } from "@millrace/core/ports/RunStore"
import { Effect } from "effect"
import { InvalidRequest } from "../Errors.ts"
import { makePaginate } from "./Paging.ts"
import * as SessionListing from "./SessionListing.ts"

/**
 * Makes what reads a page of runs: of all, or of the workflows that somebody sees. It says what was
 * searched for, which a cursor may have decided.
 */
export const makeListRuns = Effect.gen(function* () {
  const store = yield* RunStore
  const paginate = yield* makePaginate
  return Effect.fnUntraced(function* (
    account: AccountId,
    query: RunQuery,
    seen: ReadonlyArray<WorkflowId> | null,
  ) {
    yield* SessionListing.checkPaging(seen, query)
    const { from, to } = query
    if (from !== undefined && to !== undefined && from >= to) {
      return yield* new InvalidRequest({ message: "to: expected a time after from" })
    }
    let searched: string | undefined
    const found = yield* paginate(account, "runs", query, (filter, page) => {
      searched = filter.search
      const { from: first, parent, roots, search, source, status, to: end, workflowId: id } = filter
      const triggerId =
        filter.triggerId === undefined ? undefined : TriggerId.make(filter.triggerId)
      const named = id === undefined ? undefined : WorkflowId.make(id)
      const list = (workflowId: WorkflowId | undefined) =>
        store.list({
          account,
          workflowId,
          status,
          source,
          triggerId,
          parentRunId: parent === undefined ? undefined : RunId.make(parent),
          isRoot: (roots ?? (parent === undefined ? "true" : "false")) === "true",
          from: first,
          to: end,
          search,
          ...page,
        })
      if (seen === null) return list(named)
      const ids = named === undefined ? seen : seen.filter((each) => each === named)
      return SessionListing.runsOf(ids, page, list)
    })
    return { ...found, searched }
  })
})

/** Reads a page of runs. */
export type ListRuns = Effect.Success<typeof makeListRuns>
