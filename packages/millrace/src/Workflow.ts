/**
 * Workflows of an engine: each call is one step of the engine or its store, as a promise.
 */
import { PageQuery as WirePageQuery, maxPageSize } from "@millrace/api/PageQuery"
import { Identifier } from "@millrace/api/Text"
import * as Wire from "@millrace/api/WorkflowWire"
import type { AccountId } from "@millrace/core/domain/Id"
import { WorkflowId } from "@millrace/core/domain/Id"
import type { WorkflowContent } from "@millrace/core/domain/Workflow"
import { WorkflowNotFound } from "@millrace/core/engine/Refusals"
import { Workflows as Core } from "@millrace/core/engine/Workflows"
import { WorkflowStore } from "@millrace/core/ports/WorkflowStore"
import type { Cursors } from "@millrace/http/Cursor"
import { Effect, Option, Schema } from "effect"
import { reader, writer } from "./internal/Json.ts"
import type { Listing, PageQuery } from "./Listing.ts"
import { make as makeListing, readPage } from "./Listing.ts"
import type { Runtime } from "./internal/Runtime.ts"

/** A workflow (specification 2.1). Times are ISO 8601 in UTC. */
export type Workflow = typeof Wire.Workflow.Encoded

/** A workflow in a listing: how many nodes it has instead of nodes and edges. */
export type WorkflowItem = typeof Wire.WorkflowItem.Encoded

/** What was added by `addNode` (specification 2.7). */
export type AddedNode = typeof Wire.AddedNode.Encoded

/** What to add with `addNode` (specification 4.4). */
export type NewNode = typeof Wire.AddNode.Encoded

/** A node as drawn (specification 2.2). */
export interface DrawnNode {
  readonly id: string
  readonly type: string
  readonly position: { readonly x: number; readonly y: number }
  /** Read by the engine: `inputs`, `mode`, `disabled`. Anything else is yours and comes back. */
  readonly data?: unknown
}

/**
 * An edge as drawn (specification 2.3). Without handles, or with handles that are `null`, it joins
 * `output` to `input`.
 */
export interface DrawnEdge {
  readonly id: string
  readonly source: string
  readonly target: string
  readonly sourceHandle?: string | null
  readonly targetHandle?: string | null
}

/** The content of a workflow. What a builder makes is one of these. */
export interface WorkflowDocument {
  /** 1 to 120 characters. */
  readonly name: string
  readonly description?: string | null
  readonly thumbnailUrl?: string | null
  readonly nodes?: ReadonlyArray<DrawnNode>
  readonly edges?: ReadonlyArray<DrawnEdge>
}

/** Which workflows to list; `search` is a part of the name, in any case. */
export interface WorkflowQuery extends PageQuery {
  readonly search?: string
}

/** The workflows of the engine's account. */
export interface Workflows {
  /** Stores a new workflow. Drafts are welcome; what cannot be a graph is `INVALID_GRAPH`. */
  create(document: WorkflowDocument): Promise<Workflow>
  /** Rejects with `WORKFLOW_NOT_FOUND`. */
  get(id: string): Promise<Workflow>
  /** Sets the given fields; `nodes` and `edges` replace the whole array. */
  update(id: string, change: Partial<WorkflowDocument>): Promise<Workflow>
  /** A new workflow with the same content, called `<name> (copy)`. */
  duplicate(id: string): Promise<Workflow>
  /** Adds one node, placed by `position`, or by `column` and `row`, or after the last column. */
  addNode(id: string, node: NewNode): Promise<AddedNode>
  /** Its runs stay and go on. */
  remove(id: string): Promise<void>
  /** Newest first. */
  list(query?: WorkflowQuery): Listing<WorkflowItem>
}

/** What a listing may be asked for, in the terms of JavaScript rather than of a query string. */
export const pageFields = {
  cursor: WirePageQuery.fields.cursor,
  limit: Schema.optionalKey(
    Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: maxPageSize })),
  ),
  search: WirePageQuery.fields.search,
}

const readDocument = reader(Wire.CreateWorkflow, "workflow")
const readChange = reader(Wire.UpdateWorkflow, "change")
const readNode = reader(Wire.AddNode, "node")
const readQuery = reader(Schema.Struct(pageFields), "query")
const readIdentifier = reader(Identifier, "id")
const readId = (id: string) => Effect.map(readIdentifier(id), (text) => WorkflowId.make(text))
const writeWorkflow = writer(Wire.Workflow)
const writeItem = writer(Wire.WorkflowItem)
const writeAdded = writer(Wire.AddedNode)

const contentOf = (document: Wire.CreateWorkflow): WorkflowContent => ({
  description: null,
  thumbnailUrl: null,
  nodes: [],
  edges: [],
  ...document,
})

const find = Effect.fnUntraced(function* (account: AccountId, id: WorkflowId) {
  const store = yield* WorkflowStore
  const found = yield* store.find(account, id)
  if (Option.isNone(found)) return yield* new WorkflowNotFound({ workflowId: id })
  return found.value
})

const list = Effect.fnUntraced(function* (account: AccountId, given: WorkflowQuery) {
  const store = yield* WorkflowStore
  const query = yield* readQuery(given)
  const page = yield* readPage(account, "workflows", query, ({ search }, request) =>
    store.list({ account, search, ...request }),
  )
  return { ...page, items: page.items.map(writeItem) }
})

/** The workflows of one account. */
export const make = (
  { call }: Runtime<Core | WorkflowStore | Cursors>,
  account: AccountId,
): Workflows => ({
  create: Effect.fnUntraced(function* (given: WorkflowDocument) {
    const workflows = yield* Core
    const made = yield* workflows.create(account, contentOf(yield* readDocument(given)))
    return writeWorkflow(made)
  }, call),
  get: Effect.fnUntraced(function* (given: string) {
    return writeWorkflow(yield* find(account, yield* readId(given)))
  }, call),
  update: Effect.fnUntraced(function* (given: string, change: Partial<WorkflowDocument>) {
    const workflows = yield* Core
    const id = yield* readId(given)
    return writeWorkflow(yield* workflows.update(account, id, yield* readChange(change)))
  }, call),
  duplicate: Effect.fnUntraced(function* (given: string) {
    const workflows = yield* Core
    return writeWorkflow(yield* workflows.duplicate(account, yield* readId(given)))
  }, call),
  addNode: Effect.fnUntraced(function* (given: string, node: NewNode) {
    const workflows = yield* Core
    const id = yield* readId(given)
    return writeAdded(yield* workflows.addNode(account, id, yield* readNode(node)))
  }, call),
  remove: Effect.fnUntraced(function* (given: string) {
    const workflows = yield* Core
    yield* workflows.remove(account, yield* readId(given))
  }, call),
  list: (query = {}) =>
    makeListing(
      (cursor) => call(list(account, cursor === undefined ? query : { ...query, cursor })),
      query.cursor,
    ),
})
