/**
 * What a workflow store means, in the plainest way that is right: part of the model of the stores.
 *
 * Leaves out: speed. Every method reads a list of all workflows from its beginning.
 */
import type { AccountId, WorkflowId } from "@millrace/core/domain/Id"
import { drawingBytesOf, payloadsKept } from "@millrace/core/domain/RunPayload"
import type { Workflow, WorkflowSummary } from "@millrace/core/domain/Workflow"
import type { WorkflowVersion } from "@millrace/core/domain/WorkflowVersion"
import { StorageError } from "@millrace/core/ports/StorageError"
import { WorkflowStore } from "@millrace/core/ports/WorkflowStore"
import { Effect, Option } from "effect"
import { contains, pageOf } from "./StoreModelPage.ts"
import { Versions } from "./StoreModelVersions.ts"

/** A workflow store, and what it holds. */
export interface WorkflowModel {
  readonly store: WorkflowStore["Service"]
  readonly workflows: () => ReadonlyArray<Workflow>
  readonly versions: () => ReadonlyArray<WorkflowVersion>
  /** Calls it with every workflow that is removed. */
  readonly onRemove: (forget: (id: WorkflowId) => void) => void
  /** What a start takes. */
  readonly current: (account: AccountId, id: WorkflowId) => Workflow | undefined
  /** The number of a workflow's newest version; 0 if it has none. */
  readonly newestOf: (id: WorkflowId) => number
}

const summaryOf = ({
  edges: _,
  nodes,
  settings: _settings,
  ...rest
}: Workflow): WorkflowSummary => ({
  ...rest,
  nodeCount: nodes.length,
})

/** An empty workflow store. */
export const make = (): WorkflowModel => {
  let workflows: ReadonlyArray<Workflow> = []
  const forgetters: Array<(id: WorkflowId) => void> = []
  const find = (account: AccountId, id: WorkflowId) =>
    workflows.find((workflow) => workflow.accountId === account && workflow.id === id)

  const versions = new Versions(find)

  const store = WorkflowStore.of({
    find: (account, id) => Effect.sync(() => Option.fromUndefinedOr(find(account, id))),
    insert: (workflow) =>
      Effect.suspend(() => {
        if (workflows.some(({ id }) => id === workflow.id)) {
          return new StorageError({ operation: "insert", cause: new Error("not a new workflow") })
        }
        workflows = [...workflows, workflow]
        return Effect.void
      }),
    replace: (workflow, expectedRevision) =>
      Effect.sync(() => {
        const present = find(workflow.accountId, workflow.id)
        if (present?.revision !== expectedRevision) return "conflict"
        workflows = workflows.map((each) => (each === present ? workflow : each))
        return "replaced"
      }),
    remove: (account, id) =>
      Effect.sync(() => {
        const present = find(account, id)
        workflows = workflows.filter((each) => each !== present)
        if (present !== undefined) versions.forget(id)
        if (present !== undefined) for (const forget of forgetters) forget(id)
        return present !== undefined
      }),
    findMany: (account, ids, mostBytes) =>
      Effect.sync(() => {
        const found = [...new Set(ids)].flatMap((id) => find(account, id) ?? [])
        const kept = payloadsKept(found.map(drawingBytesOf), mostBytes)
        return found.filter((_, index) => kept[index])
      }),
    ...versions.methods,
    list: (query) =>
      Effect.sync(() => {
        const found = workflows.filter(
          ({ accountId, name }) =>
            accountId === query.account &&
            (query.search === undefined || contains(name, query.search)),
        )
        return pageOf(found.map(summaryOf), query)
      }),
  })
  const onRemove = (forget: (id: WorkflowId) => void) => void forgetters.push(forget)
  return {
    store,
    workflows: () => workflows,
    versions: versions.all,
    current: versions.current,
    newestOf: versions.newestOf,
    onRemove,
  }
}
