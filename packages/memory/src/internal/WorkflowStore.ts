/**
 * The workflow store in memory.
 *
 * Guarantees: every method is one synchronous step. Leaves out: durability.
 */
import { StorageError } from "@millrace/core/ports/StorageError"
import { WorkflowStore } from "@millrace/core/ports/WorkflowStore"
import { Effect, Layer, Option } from "effect"
import { StoredWorkflows } from "./StoredWorkflows.ts"

const make = Effect.map(StoredWorkflows, (workflows) =>
  WorkflowStore.of({
    find: (account, id) => Effect.sync(() => Option.fromUndefinedOr(workflows.find(account, id))),
    insert: (workflow) =>
      Effect.suspend(() =>
        workflows.insert(workflow)
          ? Effect.void
          : new StorageError({
              operation: "WorkflowStore.insert",
              cause: new Error(`Workflow ${workflow.id} exists already`),
            }),
      ),
    replace: (workflow, expectedRevision) =>
      Effect.sync(() => workflows.replace(workflow, expectedRevision)),
    remove: (account, id) => Effect.sync(() => workflows.remove(account, id)),
    findMany: (account, ids, mostBytes) =>
      Effect.sync(() => workflows.findMany(account, ids, mostBytes)),
    findCurrent: (account, id) =>
      Effect.sync(() => Option.fromUndefinedOr(workflows.current(account, id))),
    publish: (publication) => Effect.sync(() => workflows.publish(publication)),
    unpublish: (account, id) => Effect.sync(() => workflows.unpublish(account, id)),
    findVersion: (account, id, number) =>
      Effect.sync(() => Option.fromUndefinedOr(workflows.version(account, id, number))),
    listVersions: (account, id) =>
      Effect.sync(() => Option.fromUndefinedOr(workflows.versions(account, id))),
    list: (query) => Effect.sync(() => workflows.list(query)),
  }),
)

/** A workflow store. The run store reads the same workflows. */
export const layer: Layer.Layer<WorkflowStore, never, StoredWorkflows> = Layer.effect(
  WorkflowStore,
  make,
)
