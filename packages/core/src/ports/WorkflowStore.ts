/**
 * The port for workflows. Every method is one atomic step and takes the account. A foreign
 * identifier behaves exactly like an unknown one.
 */
import type { Effect, Option } from "effect"
import { Context } from "effect"
import type { AccountId, WorkflowId } from "../domain/Id.ts"
import type { Page, PageRequest } from "../domain/Page.ts"
import type { Workflow, WorkflowSummary } from "../domain/Workflow.ts"
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

export class WorkflowStore extends Context.Service<
  WorkflowStore,
  {
    readonly find: (
      account: AccountId,
      id: WorkflowId,
    ) => Effect.Effect<Option.Option<Workflow>, StorageError>
    /** Stores a new workflow. Its identifier must be new. */
    readonly insert: (workflow: Workflow) => Effect.Effect<void, StorageError>
    /** Replaces the whole content if the stored revision is still the expected one. */
    readonly replace: (
      workflow: Workflow,
      expectedRevision: number,
    ) => Effect.Effect<Replaced, StorageError>
    /** Removes a workflow; its runs stay. False: there was none. */
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
    /** Newest first. */
    readonly list: (query: WorkflowQuery) => Effect.Effect<Page<WorkflowSummary>, StorageError>
  }
>()("@millrace/core/ports/WorkflowStore") {}
