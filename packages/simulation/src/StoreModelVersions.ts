/**
 * What published versions mean, in the plainest way that is right: part of the model of the stores.
 *
 * Leaves out: speed.
 */
import type { AccountId, WorkflowId } from "@millrace/core/domain/Id"
import type { Workflow } from "@millrace/core/domain/Workflow"
import type { VersionHead, WorkflowVersion } from "@millrace/core/domain/WorkflowVersion"
import { workflowOf } from "@millrace/core/domain/WorkflowVersion"
import type { Publication, Published, WorkflowStore } from "@millrace/core/ports/WorkflowStore"
import { Effect, Option } from "effect"

type Methods = Pick<
  WorkflowStore["Service"],
  "findCurrent" | "publish" | "unpublish" | "findVersion" | "listVersions"
>

const headOf = (version: WorkflowVersion): VersionHead => {
  const { accountId, note, number, publishedAt, revision, workflowId } = version
  return { workflowId, accountId, number, revision, note, publishedAt }
}

/** The versions of all workflows. Mutable. */
export class Versions {
  readonly #draft: (account: AccountId, id: WorkflowId) => Workflow | undefined
  /** The oldest first. */
  #versions: ReadonlyArray<WorkflowVersion> = []
  #published: ReadonlyMap<WorkflowId, number> = new Map()

  constructor(draft: (account: AccountId, id: WorkflowId) => Workflow | undefined) {
    this.#draft = draft
  }

  readonly all = (): ReadonlyArray<WorkflowVersion> => this.#versions

  readonly newestOf = (id: WorkflowId): number =>
    Math.max(0, ...this.#of(id).map(({ number }) => number))

  /** What a start takes. */
  readonly current = (account: AccountId, id: WorkflowId): Workflow | undefined => {
    const draft = this.#draft(account, id)
    const version = this.#of(id).find(({ number }) => number === this.#published.get(id))
    return draft === undefined || version === undefined ? draft : workflowOf(version)
  }

  forget(id: WorkflowId): void {
    this.#versions = this.#versions.filter(({ workflowId }) => workflowId !== id)
    this.#unpublish(id)
  }

  readonly methods: Methods = {
    findCurrent: (account, id) =>
      Effect.sync(() => Option.fromUndefinedOr(this.current(account, id))),
    publish: (publication) => Effect.sync(() => this.#publish(publication)),
    unpublish: (account, id) =>
      Effect.sync(() => {
        const isKnown = this.#draft(account, id) !== undefined
        if (isKnown) this.#unpublish(id)
        return isKnown
      }),
    findVersion: (account, id, wanted) =>
      Effect.sync(() => {
        if (this.#draft(account, id) === undefined) return Option.none()
        return Option.fromUndefinedOr(this.#of(id).find(({ number }) => number === wanted))
      }),
    listVersions: (account, id) =>
      Effect.sync(() => {
        if (this.#draft(account, id) === undefined) return Option.none()
        const items = this.#of(id).map(headOf).toReversed()
        return Option.some({ published: this.#published.get(id) ?? null, items })
      }),
  }

  #of(id: WorkflowId): ReadonlyArray<WorkflowVersion> {
    return this.#versions.filter(({ workflowId }) => workflowId === id)
  }

  #unpublish(id: WorkflowId): void {
    this.#published = new Map([...this.#published].filter(([each]) => each !== id))
  }

  #publish(publication: Publication): Published {
    const { account, expectedRevision, id, mostVersions, note, number, publishedAt } = publication
    const draft = this.#draft(account, id)
    const newest = this.newestOf(id)
    if (draft?.revision !== expectedRevision) return "conflict"
    if (number < 1 || (number !== newest + 1 && number !== newest)) return "conflict"
    if (number > newest) {
      const { createdAt: _, id: workflowId, updatedAt: _at, ...content } = draft
      const all = [...this.#versions, { ...content, workflowId, number, note, publishedAt }]
      this.#versions = all.filter(
        (each) => each.workflowId !== id || each.number > number - mostVersions,
      )
    }
    this.#published = new Map(this.#published).set(id, number)
    return "published"
  }
}
