/**
 * All workflows of the stores in memory. The workflow store changes them; the run store reads their
 * revisions.
 *
 * Guarantees: every method is one synchronous step.
 */
import type { AccountId, WorkflowId } from "@millrace/core/domain/Id"
import type { Page } from "@millrace/core/domain/Page"
import { drawingBytesOf, payloadsKept } from "@millrace/core/domain/RunPayload"
import type { Timestamp } from "@millrace/core/domain/Timestamp"
import type { Workflow, WorkflowSummary } from "@millrace/core/domain/Workflow"
import type { Replaced, WorkflowQuery } from "@millrace/core/ports/WorkflowStore"
import { Context, Layer } from "effect"
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

export class StoredWorkflows extends Context.Service<StoredWorkflows, Drawings>()(
  "@millrace/memory/StoredWorkflows",
) {
  static readonly layer: Layer.Layer<StoredWorkflows> = Layer.sync(
    StoredWorkflows,
    () => new Drawings(),
  )
}

/** The workflows of one store. Mutable. */
export class Drawings {
  /** Is called with every workflow that is removed. */
  onRemove: (id: WorkflowId) => void = () => undefined
  readonly #entries = new Map<WorkflowId, Entry>()
  readonly #timelines = new Map<AccountId, Timeline.Timeline<Entry>>()

  find(account: AccountId, id: WorkflowId): Workflow | undefined {
    return this.#own(account, id)?.workflow
  }

  /** False if there is a workflow with this identifier. */
  insert(workflow: Workflow): boolean {
    if (this.#entries.has(workflow.id)) return false
    const entry = { id: workflow.id, createdAt: workflow.createdAt, workflow }
    this.#entries.set(workflow.id, entry)
    this.#timelineOf(workflow.accountId).add(entry)
    return true
  }

  replace(workflow: Workflow, expectedRevision: number): Replaced {
    const entry = this.#own(workflow.accountId, workflow.id)
    if (entry === undefined || entry.workflow.revision !== expectedRevision) return "conflict"
    entry.workflow = { ...workflow, createdAt: entry.createdAt }
    return "replaced"
  }

  remove(account: AccountId, id: WorkflowId): boolean {
    const entry = this.#own(account, id)
    if (entry === undefined) return false
    this.#timelineOf(account).remove(entry)
    this.onRemove(id)
    return this.#entries.delete(id)
  }

  findMany(
    account: AccountId,
    ids: ReadonlyArray<WorkflowId>,
    mostBytes: number,
  ): ReadonlyArray<Workflow> {
    const found = [...new Set(ids)].flatMap((id) => this.find(account, id) ?? [])
    const kept = payloadsKept(found.map(drawingBytesOf), mostBytes)
    return found.filter((_, index) => kept[index])
  }

  list(query: WorkflowQuery): Page<WorkflowSummary> {
    const matches = matcher(query.search)
    return this.#timelineOf(query.account).page(query, ({ workflow }) =>
      matches(workflow) ? summaryOf(workflow) : undefined,
    )
  }

  /** All workflows of an account, by identifier. */
  all(account: AccountId): ReadonlyArray<Workflow> {
    const entries = [...this.#entries.values()].map(({ workflow }) => workflow)
    return entries
      .filter(({ accountId }) => accountId === account)
      .toSorted((left, right) => (left.id < right.id ? -1 : 1))
  }

  #own(account: AccountId, id: WorkflowId): Entry | undefined {
    const entry = this.#entries.get(id)
    return entry?.workflow.accountId === account ? entry : undefined
  }

  #timelineOf(account: AccountId): Timeline.Timeline<Entry> {
    return Timeline.of(this.#timelines, account)
  }
}
