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
import type {
  VersionHead,
  VersionList,
  WorkflowVersion,
} from "@millrace/core/domain/WorkflowVersion"
import { workflowOf } from "@millrace/core/domain/WorkflowVersion"
import type {
  Publication,
  Published,
  Replaced,
  WorkflowQuery,
} from "@millrace/core/ports/WorkflowStore"
import { Context, Layer } from "effect"
import * as Timeline from "./Timeline.ts"

interface Entry {
  readonly id: WorkflowId
  readonly createdAt: Timestamp
  workflow: Workflow
  /** The oldest first. */
  versions: ReadonlyArray<WorkflowVersion>
  published: number | null
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

const headOf = (version: WorkflowVersion): VersionHead => {
  const { accountId, note, number, publishedAt, revision, workflowId } = version
  return { workflowId, accountId, number, revision, note, publishedAt }
}

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
    const { createdAt, id } = workflow
    const entry: Entry = { id, createdAt, workflow, versions: [], published: null }
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

  /** What a start takes that asks for nothing else. */
  current(account: AccountId, id: WorkflowId): Workflow | undefined {
    const entry = this.#own(account, id)
    if (entry === undefined || entry.published === null) return entry?.workflow
    return workflowOf(entry.versions.find(({ number }) => number === entry.published)!)
  }

  publish(publication: Publication): Published {
    const { account, expectedRevision, id, mostVersions, note, number, publishedAt } = publication
    const entry = this.#own(account, id)
    const newest = entry?.versions.at(-1)?.number ?? 0
    if (entry?.workflow.revision !== expectedRevision) return "conflict"
    if (number < 1 || (number !== newest && number !== newest + 1)) return "conflict"
    if (number > newest) {
      const { createdAt: _, id: workflowId, updatedAt: _updated, ...content } = entry.workflow
      const version = { ...content, workflowId, number, note, publishedAt }
      entry.versions = [...entry.versions, version].slice(-mostVersions)
    }
    entry.published = number
    return "published"
  }

  unpublish(account: AccountId, id: WorkflowId): boolean {
    const entry = this.#own(account, id)
    if (entry !== undefined) entry.published = null
    return entry !== undefined
  }

  version(account: AccountId, id: WorkflowId, wanted: number): WorkflowVersion | undefined {
    return this.#own(account, id)?.versions.find(({ number }) => number === wanted)
  }

  versions(account: AccountId, id: WorkflowId): VersionList | undefined {
    const entry = this.#own(account, id)
    if (entry === undefined) return undefined
    return { published: entry.published, items: entry.versions.map(headOf).toReversed() }
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

  /** The workflows of all accounts, with their versions. */
  entries(): Iterable<Pick<Entry, "workflow" | "versions">> {
    return this.#entries.values()
  }

  #own(account: AccountId, id: WorkflowId): Entry | undefined {
    const entry = this.#entries.get(id)
    return entry?.workflow.accountId === account ? entry : undefined
  }

  #timelineOf(account: AccountId): Timeline.Timeline<Entry> {
    return Timeline.of(this.#timelines, account)
  }
}
