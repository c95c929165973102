/**
 * Workflows of a server, as promises.
 */
import type { Listing, PageQuery } from "./PromiseListing.ts"
import { makeListing } from "./PromiseListing.ts"
import type { Parts, Send } from "./Transport.ts"
import type { ValidateWorkflow, Validation } from "../ValidationWire.ts"
import type * as Wire from "../WorkflowWire.ts"

/** A workflow (specification 2.1). */
export type Workflow = typeof Wire.Workflow.Encoded

/** A workflow and its revision, to give as `ifMatch` with a change. */
export interface TaggedWorkflow {
  readonly workflow: Workflow
  readonly etag: string
}

/** The workflows of the key's account. */
export interface Workflows {
  /** Newest first. */
  list(query?: PageQuery): Listing<typeof Wire.WorkflowItem.Encoded>
  create(content: typeof Wire.CreateWorkflow.Encoded): Promise<Workflow>
  get(id: string): Promise<Workflow>
  /** As {@link get}, with the revision. */
  getTagged(id: string): Promise<TaggedWorkflow>
  /** Sets the given fields. With `ifMatch` only if the revision is still that one; else 412. */
  update(
    id: string,
    change: typeof Wire.UpdateWorkflow.Encoded,
    options?: { readonly ifMatch?: string },
  ): Promise<Workflow>
  remove(id: string): Promise<void>
  duplicate(id: string): Promise<Workflow>
  addNode(id: string, node: typeof Wire.AddNode.Encoded): Promise<typeof Wire.AddedNode.Encoded>
  /** What a start would say, without starting. */
  validate(
    id: string,
    overlay?: typeof ValidateWorkflow.Encoded,
  ): Promise<typeof Validation.Encoded>
}

/** The workflows that a key sees. */
export const makeWorkflows = (send: Send): Workflows => {
  const at = (id: string, rest = "") => `/workflows/${encodeURIComponent(id)}${rest}`
  const ask = async <A>(method: string, path: string, parts?: Parts) =>
    (await (await send(method, path, parts)).json()) as A
  return {
    list: (query = {}) => makeListing(send, "/workflows", query),
    create: (body) => ask("POST", "/workflows", { body }),
    get: (id) => ask("GET", at(id)),
    getTagged: async (id) => {
      const response = await send("GET", at(id))
      const etag = response.headers.get("etag") ?? ""
      return { workflow: (await response.json()) as Workflow, etag }
    },
    update: (id, body, { ifMatch } = {}) =>
      ask("PATCH", at(id), { body, headers: { "if-match": ifMatch } }),
    remove: async (id) => void (await send("DELETE", at(id))),
    duplicate: (id) => ask("POST", at(id, "/duplicate")),
    addNode: (id, body) => ask("POST", at(id, "/nodes"), { body }),
    validate: (id, body = {}) => ask("POST", at(id, "/validate"), { body }),
  }
}
