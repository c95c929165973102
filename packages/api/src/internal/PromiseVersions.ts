/**
 * Published versions of workflows, as promises.
 */
import type { Transport } from "../Transport.ts"
import type * as Wire from "../VersionWire.ts"
import type { CallOptions } from "./Ask.ts"
import { makeAsk } from "./Ask.ts"
import type { Given } from "./Given.ts"
import type { Listing, PageQuery } from "./Pages.ts"
import { makeListing } from "./Pages.ts"
import type { TaggedWorkflow, UpdateOptions, Workflow } from "./TaggedWorkflow.ts"

/** A version in a listing. Times are ISO 8601 in UTC. */
export type VersionItem = typeof Wire.VersionItem.Encoded

/** A version with its content. */
export type Version = typeof Wire.Version.Encoded

/** How a workflow is published. */
export type WorkflowPublication = Given<typeof Wire.PublishWorkflow.Encoded>

/** What distinguishes a version, or the draft, from a version. */
export type VersionDifference = typeof Wire.VersionDifference.Encoded

/** A version by its number, or the workflow as it is stored. */
export type VersionChoice = "draft" | number

/** The versions of workflows. An unknown number rejects with `VERSION_NOT_FOUND`. */
export interface WorkflowVersions {
  /**
   * Starts, triggers and children take the workflow as it is stored now, whatever is changed later.
   * Rejects with `INVALID_GRAPH` where a start would. Publishing what is the newest version gives
   * that one.
   */
  publish(
    id: string,
    publication?: WorkflowPublication,
    options?: UpdateOptions,
  ): Promise<VersionItem>
  /** Starts take the workflow as it is stored again. */
  unpublish(id: string, options?: CallOptions): Promise<Workflow>
  /** Newest first. */
  versions(id: string, query?: PageQuery, options?: CallOptions): Listing<VersionItem>
  /** A version with its content. */
  version(id: string, number: number, options?: CallOptions): Promise<Version>
  /** The workflow gets the content of the version. What is published stays. */
  restore(id: string, number: number, options?: UpdateOptions): Promise<Workflow>
  /** As {@link restore}, with the new revision, for the next change. */
  restoreTagged(id: string, number: number, options?: UpdateOptions): Promise<TaggedWorkflow>
  /** What distinguishes another version, or the workflow as it is stored, from the version. */
  difference(
    id: string,
    number: number,
    other?: VersionChoice,
    options?: CallOptions,
  ): Promise<VersionDifference>
}

/** The versions that a transport reaches. */
export const makeVersions = (transport: Transport): WorkflowVersions => {
  const ask = makeAsk(transport)
  const list = makeListing<VersionItem, PageQuery>(ask, "workflows.versions", [])
  const restore = async (
    id: string,
    number: number,
    options?: UpdateOptions,
  ): Promise<TaggedWorkflow> => {
    const headers = { "if-match": options?.ifMatch }
    const parts = { id, version: String(number), headers, options, known: ["ifMatch"] }
    const { body, etag = "" } = await ask("workflows.restore", parts)
    return { workflow: body as Workflow, etag }
  }
  return {
    publish: async (id, body = {}, options) => {
      const headers = { "if-match": options?.ifMatch }
      const parts = { id, body, headers, options, known: ["ifMatch"] }
      return (await ask("workflows.publish", parts)).body as VersionItem
    },
    unpublish: async (id, options) =>
      (await ask("workflows.unpublish", { id, options })).body as Workflow,
    versions: (id, query = {}, options) => list(query, options, id),
    version: async (id, number, options) =>
      (await ask("workflows.version", { id, version: String(number), options })).body as Version,
    restore: async (id, number, options) => (await restore(id, number, options)).workflow,
    restoreTagged: restore,
    difference: async (id, number, other, options) => {
      const parts = { id, version: String(number), query: { with: other }, options }
      return (await ask("workflows.difference", parts)).body as VersionDifference
    },
  }
}
