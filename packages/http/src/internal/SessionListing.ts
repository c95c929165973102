/**
 * Listings for sessions that see only some workflows. A session names at most
 * `workflowsPerSession` of them, so each is asked by itself.
 *
 * Guarantees: the order and the cursors are those of every listing. Leaves out: pages by number.
 */
import type { PageQuery } from "@millrace/api/PageQuery"
import type { WorkflowId } from "@millrace/core/domain/Id"
import type { Page, PagePosition, PageRequest } from "@millrace/core/domain/Page"
import { fromOverfetch } from "@millrace/core/domain/Page"
import type { Session } from "@millrace/core/domain/Session"
import type { Workflow, WorkflowSummary } from "@millrace/core/domain/Workflow"
import { Effect, Option } from "effect"
import { InvalidRequest } from "../Errors.ts"

/** How many workflows are asked at the same time. */
const concurrency = 8

const newestFirst = (a: PagePosition, b: PagePosition): number => {
  if (a.createdAt !== b.createdAt) return b.createdAt - a.createdAt
  return a.id === b.id ? 0 : a.id < b.id ? 1 : -1
}

/** The workflows that the caller sees; `null`: all. */
export const seenBy = (session: Session | undefined): ReadonlyArray<WorkflowId> | null =>
  session?.workflows ?? null

/** Refuses pages by number, which would have to read all that is before them. */
export const checkPaging = (
  seen: ReadonlyArray<WorkflowId> | null,
  { page, pageSize }: Pick<PageQuery, "page" | "pageSize">,
): Effect.Effect<void, InvalidRequest> => {
  if (seen === null || (page === undefined && pageSize === undefined)) return Effect.void
  const message = "page: a session that sees only some workflows reads on with cursor"
  return Effect.fail(new InvalidRequest({ message }))
}

/** A page of the runs of these workflows, from what lists the runs of one. */
export const runsOf = <A extends PagePosition, E>(
  ids: ReadonlyArray<WorkflowId>,
  request: PageRequest,
  list: (id: WorkflowId) => Effect.Effect<Page<A>, E>,
): Effect.Effect<Page<A>, E> =>
  Effect.map(Effect.forEach(ids, list, { concurrency }), (pages) => {
    const items = pages.flatMap((each) => each.items).toSorted(newestFirst)
    const page = fromOverfetch(items, request.limit)
    const last = page.items.at(-1)
    if (page.next !== undefined || last === undefined) return page
    // One of the pages may have been cut, although all of them together fit.
    const isCut = pages.some(({ next }) => next !== undefined)
    return isCut ? { ...page, next: { createdAt: last.createdAt, id: last.id } } : page
  })

const summaryOf = ({ edges: _, nodes, settings: __, ...head }: Workflow): WorkflowSummary => ({
  ...head,
  nodeCount: nodes.length,
})

/** A page of these workflows. */
export const workflowsOf = <E>(
  ids: ReadonlyArray<WorkflowId>,
  { after, limit, search }: PageRequest & { readonly search?: string | undefined },
  find: (id: WorkflowId) => Effect.Effect<Option.Option<Workflow>, E>,
): Effect.Effect<Page<WorkflowSummary>, E> =>
  Effect.map(Effect.forEach(ids, find, { concurrency }), (found) => {
    const part = search?.toLowerCase() ?? ""
    const items = found
      .flatMap((each) => (Option.isSome(each) ? [summaryOf(each.value)] : []))
      .filter(({ name }) => name.toLowerCase().includes(part))
      .filter((each) => after === undefined || newestFirst(after, each) < 0)
      .toSorted(newestFirst)
    return fromOverfetch(items.slice(0, limit + 1), limit)
  })
