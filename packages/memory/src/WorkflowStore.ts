/**
 * The workflow store in memory.
 *
 * Guarantees: every method is one synchronous step, so nothing comes between. Leaves out:
 * durability; what it holds ends with the process.
 */
import type { AccountId, WorkflowId } from "@millrace/core/domain/Id"
import type { Timestamp } from "@millrace/core/domain/Timestamp"
import type { Workflow, WorkflowSummary } from "@millrace/core/domain/Workflow"
import { StorageError } from "@millrace/core/ports/StorageError"
import { type Replaced, WorkflowStore } from "@millrace/core/ports/WorkflowStore"
import { Effect, Layer, Option } from "effect"
import * as Timeline from "./Timeline.ts"

interface Entry {
  readonly id: WorkflowId
  readonly createdAt: Timestamp
  workflow: Workflow
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

const matcher = (search: string | undefined): ((workflow: Workflow) => boolean) => {
  if (search === undefined) return () => true
  const part = search.toLowerCase()
  return (workflow) => workflow.name.toLowerCase().includes(part)
}

const make = () => {
  const entries = new Map<WorkflowId, Entry>()
  const timelines = new Map<AccountId, Timeline.Timeline<Entry>>()

  const timelineOf = (account: AccountId): Timeline.Timeline<Entry> => {
    const known = timelines.get(account)
    if (known !== undefined) return known
    const timeline = Timeline.make<Entry>()
    timelines.set(account, timeline)
    return timeline
  }

  const entryOf = (account: AccountId, id: WorkflowId): Entry | undefined => {
    const entry = entries.get(id)
    return entry?.workflow.accountId === account ? entry : undefined
  }

  const insert = (workflow: Workflow): boolean => {
    if (entries.has(workflow.id)) return false
    const entry = { id: workflow.id, createdAt: workflow.createdAt, workflow }
    entries.set(workflow.id, entry)
    timelineOf(workflow.accountId).add(entry)
    return true
  }

  const replace = (workflow: Workflow, expectedRevision: number): Replaced => {
    const entry = entryOf(workflow.accountId, workflow.id)
    if (entry === undefined || entry.workflow.revision !== expectedRevision) return "conflict"
    entry.workflow = { ...workflow, createdAt: entry.createdAt }
    return "replaced"
  }

  const remove = (account: AccountId, id: WorkflowId): boolean => {
    const entry = entryOf(account, id)
    if (entry === undefined) return false
    timelineOf(account).remove(entry)
    return entries.delete(id)
  }

  return WorkflowStore.of({
    find: (account, id) =>
      Effect.sync(() => Option.fromUndefinedOr(entryOf(account, id)?.workflow)),
    insert: (workflow) =>
      Effect.suspend(() =>
        insert(workflow)
          ? Effect.void
          : new StorageError({
              operation: "WorkflowStore.insert",
              cause: new Error(`Workflow ${workflow.id} exists already`),
            }),
      ),
    replace: (workflow, expectedRevision) => Effect.sync(() => replace(workflow, expectedRevision)),
    remove: (account, id) => Effect.sync(() => remove(account, id)),
    list: (query) =>
      Effect.sync(() => {
        const matches = matcher(query.search)
        return timelineOf(query.account).page(query, ({ workflow }) =>
          matches(workflow) ? summaryOf(workflow) : undefined,
        )
      }),
  })
}

/** An empty workflow store. */
export const layer: Layer.Layer<WorkflowStore> = Layer.sync(WorkflowStore, make)
