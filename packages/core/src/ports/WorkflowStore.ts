/**
 * The port for workflows. Every method is one atomic step and takes the account. A foreign
 * identifier behaves exactly like an unknown one.
 */
import type { Effect, Option } from "effect"
import { Context } from "effect"
import type { AccountId, WorkflowId } from "../domain/Id.ts"
import type { Page, PageRequest } from "../domain/Page.ts"
import type { Timestamp } from "../domain/Timestamp.ts"
import type { Workflow, WorkflowSummary } from "../domain/Workflow.ts"
import type { VersionList, WorkflowVersion } from "../domain/WorkflowVersion.ts"
import type { StorageError } from "./StorageError.ts"

/** Which workflows of an account to list; `search` is a part of the name, in any case. */
export interface WorkflowQuery extends PageRequest {
  readonly account: AccountId
  readonly search?: string | undefined
}

/**
 * The outcome of a replacement. `conflict`: the revision was not the expected one, or the workflow
 * does not exist any more.
 */
export type Replaced = "replaced" | "conflict"

/** What to publish. */
export interface Publication {
  readonly account: AccountId
  readonly id: WorkflowId
  /** The revision that the draft must have. */
  readonly expectedRevision: number
  /** That of the newest version, which is published again; or the next one, of a new version. */
  readonly number: number
  /** The note and the time of a new version. */
  readonly note: string | null
  readonly publishedAt: Timestamp
  /** How many versions are kept: the newest. */
  readonly mostVersions: number
}

/**
 * The outcome of a publication. `conflict`: the revision was not the expected one, the newest
 * version is another one than the number implies, or the workflow does not exist any more.
 */
export type Published = "published" | "conflict"

export class WorkflowStore extends Context.Service<
  WorkflowStore,
  {
    readonly find: (
      account: AccountId,
      id: WorkflowId,
    ) => Effect.Effect<Option.Option<Workflow>, StorageError>
    /** Stores a new workflow. Its identifier must be new. */
    readonly insert: (workflow: Workflow) => Effect.Effect<void, StorageError>
    /**
     * Replaces the whole content of the draft if the stored revision is still the expected one.
     * Which version is published stays.
     */
    readonly replace: (
      workflow: Workflow,
      expectedRevision: number,
    ) => Effect.Effect<Replaced, StorageError>
    /** Removes a workflow and its versions; its runs stay. False: there was none. */
    readonly remove: (account: AccountId, id: WorkflowId) => Effect.Effect<boolean, StorageError>
    /**
     * The workflows of those ids that the account has, in any order. Their drawings, as JSON text,
     * have at most `mostBytes` together: in the order of the ids, those that do not fit are left
     * out. See `RunPayload.payloadsKept`.
     */
    readonly findMany: (
      account: AccountId,
      ids: ReadonlyArray<WorkflowId>,
      mostBytes: number,
    ) => Effect.Effect<ReadonlyArray<Workflow>, StorageError>
    /**
     * What a start takes that asks for nothing else: the published version, as `workflowOf` makes
     * it a workflow, or the draft if none is published.
     */
    readonly findCurrent: (
      account: AccountId,
      id: WorkflowId,
    ) => Effect.Effect<Option.Option<Workflow>, StorageError>
    /**
     * Makes a new version of the draft's content, and publishes it; or publishes the newest version
     * again. Older versions than the newest `mostVersions` are forgotten.
     */
    readonly publish: (publication: Publication) => Effect.Effect<Published, StorageError>
    /** From now on, starts take the draft. The versions stay. False: there is no such workflow. */
    readonly unpublish: (account: AccountId, id: WorkflowId) => Effect.Effect<boolean, StorageError>
    readonly findVersion: (
      account: AccountId,
      id: WorkflowId,
      number: number,
    ) => Effect.Effect<Option.Option<WorkflowVersion>, StorageError>
    /** The versions of a workflow without their content; none if there is no such workflow. */
    readonly listVersions: (
      account: AccountId,
      id: WorkflowId,
    ) => Effect.Effect<Option.Option<VersionList>, StorageError>
    /** Newest first. */
    readonly list: (query: WorkflowQuery) => Effect.Effect<Page<WorkflowSummary>, StorageError>
  }
>()("@millrace/core/ports/WorkflowStore") {}
