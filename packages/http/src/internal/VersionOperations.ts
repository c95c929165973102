/**
 * The operations on published versions of workflows.
 */
import type { Version, VersionItem } from "@millrace/api/VersionWire"
import { WorkflowId } from "@millrace/core/domain/Id"
import type { Page, PageRequest } from "@millrace/core/domain/Page"
import { fromOverfetch } from "@millrace/core/domain/Page"
import type { VersionHead } from "@millrace/core/domain/WorkflowVersion"
import { Versions } from "@millrace/core/engine/Versions"
import { Effect } from "effect"
import type { OpenWorkflows } from "./OpenWorkflows.ts"
import type { OperationsOf } from "./Operation.ts"
import { makePaginate } from "./Paging.ts"
import { answer, expectedRevision } from "./WorkflowOperations.ts"

const itemOf = (
  { note, number, publishedAt, revision }: VersionHead,
  published: number | null,
): VersionItem => ({ number, publishedAt, note, revision, published: number === published })

/** A page of all versions, newest first. Its place is a number: times may be the same. */
const pageOf = (
  items: ReadonlyArray<VersionHead>,
  { after, limit, skip = 0 }: PageRequest,
): Page<VersionHead> => {
  const rest = items.filter(({ number }) => after === undefined || number < Number(after.id))
  const placed = rest
    .slice(skip, skip + limit + 1)
    .map((head) => ({ head, createdAt: head.publishedAt, id: String(head.number) }))
  const { items: shown, next } = fromOverfetch(placed, limit)
  return { items: shown.map(({ head }) => head), next }
}

/** These operations of the group `workflows`; restoring tells those who have it open. */
export const make = Effect.fnUntraced(function* ({ changed }: OpenWorkflows) {
  const versions = yield* Versions
  const paginate = yield* makePaginate
  return {
    publish: Effect.fnUntraced(function* ({ account, headers, params, payload }) {
      const revision = yield* Effect.fromResult(expectedRevision(headers["if-match"]))
      const note = payload.note?.trim() || null
      const id = WorkflowId.make(params.id)
      const head = yield* versions.publish(account, id, note, revision)
      return { value: itemOf(head, head.number) }
    }),
    unpublish: ({ account, params }) =>
      Effect.map(versions.unpublish(account, WorkflowId.make(params.id)), answer),
    versions: Effect.fnUntraced(function* ({ account, params, query }) {
      const { items: all, published } = yield* versions.list(account, WorkflowId.make(params.id))
      const asked = { ...query, workflowId: params.id }
      const page = yield* paginate(account, "versions", asked, (_, request) =>
        Effect.succeed(pageOf(all, request)),
      )
      return { value: { ...page, items: page.items.map((head) => itemOf(head, published)) } }
    }),
    version: Effect.fnUntraced(function* ({ account, params }) {
      const id = WorkflowId.make(params.id)
      const { published } = yield* versions.list(account, id)
      const version = yield* versions.get(account, id, params.version)
      const { accountId: _, workflowId: _id, ...content } = version
      const value: Version = { ...content, ...itemOf(version, published) }
      return { value }
    }),
    restore: Effect.fnUntraced(function* (call) {
      const { account, headers, params } = call
      const revision = yield* Effect.fromResult(expectedRevision(headers["if-match"]))
      const id = WorkflowId.make(params.id)
      const restored = yield* versions.restore(account, id, params.version, revision)
      changed(call, id, restored.revision)
      return answer(restored)
    }),
    difference: Effect.fnUntraced(function* ({ account, params, query }) {
      const { with: other = "draft" } = query
      const id = WorkflowId.make(params.id)
      const found = yield* versions.difference(account, id, params.version, other)
      return { value: { version: params.version, with: other, ...found } }
    }),
  } satisfies Partial<OperationsOf<"workflows">>
})
