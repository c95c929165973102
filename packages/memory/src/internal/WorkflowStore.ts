/**
 * The workflow store in memory.
 *
 * Guarantees: every method is one synchronous step, so nothing comes between. Leaves out:
 * durability; what it holds ends with the process.
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
    list: (query) => Effect.sync(() => workflows.list(query)),
  }),
)

/** The workflow store over workflows that the run store sees, too. */
export const layer: Layer.Layer<WorkflowStore, never, StoredWorkflows> = Layer.effect(
  WorkflowStore,
  make,
)
