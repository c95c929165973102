/**
 * Publishes workflows, and finds and restores what was published.
 *
 * Guarantees: only what a start would accept is published. A start that begins after a publication
 * was acknowledged takes the new version, on every server: the step that stores a run compares the
 * version. A draft that is the newest version makes no new one. Leaves out: choosing what a start
 * takes, which `TakenWorkflow` does.
 */
import { Clock, Context, Effect, Layer, Option } from "effect"
import type { AccountId, WorkflowId } from "../domain/Id.ts"
import { publishAttempts, versionsPerWorkflow } from "../domain/Limits.ts"
import type { Workflow } from "../domain/Workflow.ts"
import type {
  VersionChoice,
  VersionHead,
  VersionList,
  WorkflowVersion,
} from "../domain/WorkflowVersion.ts"
import type { Difference } from "../graph/internal/Difference.ts"
import { differenceOf } from "../graph/internal/Difference.ts"
import { StorageError } from "../ports/StorageError.ts"
import { WorkflowStore } from "../ports/WorkflowStore.ts"
import { contentOf, sameContent } from "./internal/WorkflowContents.ts"
import { foundVersion, takenWorkflow } from "./internal/TakenWorkflow.ts"
import type { NotChanged } from "./internal/WorkflowChanges.ts"
import {
  InvalidGraph,
  RevisionMismatch,
  type VersionNotFound,
  WorkflowNotFound,
} from "./Refusals.ts"
import { Runs } from "./Runs.ts"
import { Workflows } from "./Workflows.ts"

type NotFound = WorkflowNotFound | VersionNotFound | StorageError

export class Versions extends Context.Service<
  Versions,
  {
    /**
     * Publishes the draft: starts take it from now on. Refused as a start would be, but for values.
     * With `expectedRevision`, it is refused unless the draft has that one. If the draft has the
     * content of the newest version, that is the one that is published, and the note is dropped.
     */
    readonly publish: (
      account: AccountId,
      id: WorkflowId,
      note: string | null,
      expectedRevision?: number,
    ) => Effect.Effect<
      VersionHead,
      InvalidGraph | RevisionMismatch | WorkflowNotFound | StorageError
    >
    /** From now on, starts take the draft again, which this gives. The versions stay. */
    readonly unpublish: (
      account: AccountId,
      id: WorkflowId,
    ) => Effect.Effect<Workflow, WorkflowNotFound | StorageError>
    readonly list: (
      account: AccountId,
      id: WorkflowId,
    ) => Effect.Effect<VersionList, WorkflowNotFound | StorageError>
    readonly get: (
      account: AccountId,
      id: WorkflowId,
      number: number,
    ) => Effect.Effect<WorkflowVersion, NotFound>
    /** The draft becomes the content of this version. What is published stays. */
    readonly restore: (
      account: AccountId,
      id: WorkflowId,
      number: number,
      expectedRevision?: number,
    ) => Effect.Effect<Workflow, VersionNotFound | InvalidGraph | RevisionMismatch | NotChanged>
    /** What distinguishes a version, or the draft, from this version. */
    readonly difference: (
      account: AccountId,
      id: WorkflowId,
      number: number,
      other: VersionChoice,
    ) => Effect.Effect<Difference, NotFound>
  }
>()("@millrace/core/engine/Versions") {
  /** Needs the store, and what changes workflows and checks starts. */
  static readonly layer: Layer.Layer<Versions, never, WorkflowStore | Workflows | Runs> =
    Layer.effect(
      Versions,
      Effect.suspend(() => make),
    )
}

const servicesOf = Effect.all({
  store: WorkflowStore,
  workflows: Workflows,
  runs: Runs,
  clock: Clock.Clock,
})
type Services = Effect.Success<typeof servicesOf>

const list = ({ store }: Services): Versions["Service"]["list"] =>
  Effect.fn("Versions.list")(function* (account, id) {
    const found = yield* store.listVersions(account, id)
    return Option.isSome(found) ? found.value : yield* new WorkflowNotFound({ workflowId: id })
  })

/** Fails with what stands against every start of this draft. */
const checkStart = Effect.fnUntraced(function* ({ runs }: Services, draft: Workflow) {
  const { accountId, edges, id: workflowId, nodes } = draft
  const asked = { workflowId, version: "draft" as const, draft: { nodes, edges }, anyValues: true }
  // There is a draft, so no number is asked for.
  const checked = Effect.catchTag(runs.validate(accountId, asked), "VersionNotFound", Effect.die)
  const { problems } = yield* checked
  if (problems.length === 0) return
  return yield* new InvalidGraph({ problems: problems.map(({ message }) => message) })
})

/** Publishes the draft as it is stored now; `undefined` if it was changed meanwhile. */
const publishOnce = Effect.fnUntraced(function* (
  services: Services,
  account: AccountId,
  id: WorkflowId,
  note: string | null,
  expectedRevision: number | undefined,
) {
  const { clock, store } = services
  const draft = yield* takenWorkflow(store, account, { workflowId: id, version: "draft" })
  const { revision } = draft
  if (expectedRevision !== undefined && expectedRevision !== revision) {
    return yield* new RevisionMismatch({ workflowId: id, revision })
  }
  yield* checkStart(services, draft)
  const { items } = yield* list(services)(account, id)
  const newest =
    items[0] && Option.getOrUndefined(yield* store.findVersion(account, id, items[0].number))
  const isSame = newest !== undefined && sameContent(newest, draft)
  const number = isSame ? newest.number : (items[0]?.number ?? 0) + 1
  const publishedAt = clock.currentTimeMillisUnsafe()
  const head = isSame
    ? items[0]!
    : { workflowId: id, accountId: account, number, revision, note, publishedAt }
  const published = yield* store.publish({
    account,
    id,
    expectedRevision: revision,
    number,
    note,
    publishedAt,
    mostVersions: versionsPerWorkflow,
  })
  return published === "published" ? head : undefined
})

const publish = (services: Services): Versions["Service"]["publish"] =>
  Effect.fn("Versions.publish")(function* (account, id, note, expectedRevision) {
    for (let attempt = 0; attempt < publishAttempts; attempt++) {
      const once = publishOnce(services, account, id, note, expectedRevision)
      const head = yield* Effect.catchTag(once, "VersionNotFound", Effect.die)
      if (head !== undefined) return head
    }
    const cause = new Error(`workflow ${id} is changed too often to be published`)
    return yield* new StorageError({ operation: "WorkflowStore.publish", cause })
  })

const make = Effect.map(servicesOf, (services) =>
  Versions.of({
    publish: publish(services),
    unpublish: Effect.fn("Versions.unpublish")(function* (account, id) {
      yield* services.store.unpublish(account, id)
      const draft = yield* services.store.find(account, id)
      return Option.isSome(draft) ? draft.value : yield* new WorkflowNotFound({ workflowId: id })
    }),
    list: list(services),
    get: Effect.fn("Versions.get")(function* (account, id, number) {
      return yield* foundVersion(services.store, account, id, number)
    }),
    restore: Effect.fn("Versions.restore")(function* (account, id, number, expectedRevision) {
      const version = yield* foundVersion(services.store, account, id, number)
      return yield* services.workflows.update(account, id, contentOf(version), expectedRevision)
    }),
    difference: Effect.fn("Versions.difference")(function* (account, id, number, other) {
      const before = yield* foundVersion(services.store, account, id, number)
      const after = yield* takenWorkflow(services.store, account, {
        workflowId: id,
        version: other,
      })
      return differenceOf(contentOf(before), contentOf(after))
    }),
  }),
)
