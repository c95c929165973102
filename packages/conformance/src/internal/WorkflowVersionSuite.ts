/**
 * What every workflow store must do with published versions, sentence by sentence of its port.
 */
import { assert, describe, type Vitest } from "@effect/vitest"
import { WorkflowId } from "@millrace/core/domain/Id"
import type { Workflow } from "@millrace/core/domain/Workflow"
import type { WorkflowVersion } from "@millrace/core/domain/WorkflowVersion"
import { workflowOf } from "@millrace/core/domain/WorkflowVersion"
import type { Publication } from "@millrace/core/ports/WorkflowStore"
import { WorkflowStore } from "@millrace/core/ports/WorkflowStore"
import { Effect, Option } from "effect"
import * as Samples from "../Samples.ts"

type Tests = Vitest.MethodsNonLive<WorkflowStore>

const saved = Effect.fnUntraced(function* (samples: Samples.Samples, change?: Partial<Workflow>) {
  const workflow = samples.workflow(change)
  yield* WorkflowStore.use((store) => store.insert(workflow))
  return workflow
})

/** Publishes a draft under a number. */
const publish = (draft: Workflow, number: number, change?: Partial<Publication>) =>
  WorkflowStore.use((store) =>
    store.publish({
      account: draft.accountId,
      id: draft.id,
      expectedRevision: draft.revision,
      number,
      note: null,
      publishedAt: Samples.epoch + number,
      mostVersions: 100,
      ...change,
    }),
  )

/** The version that a publication has made of this draft. */
const versionOf = (draft: Workflow, number: number, note: string | null): WorkflowVersion => {
  const { createdAt: _, id: workflowId, updatedAt: _at, ...content } = draft
  return { ...content, workflowId, number, note, publishedAt: Samples.epoch + number }
}

const current = ({ accountId, id }: Workflow) =>
  WorkflowStore.use((store) => Effect.map(store.findCurrent(accountId, id), Option.getOrUndefined))

const version = ({ accountId, id }: Workflow, number: number) =>
  WorkflowStore.use((store) =>
    Effect.map(store.findVersion(accountId, id, number), Option.getOrUndefined),
  )

/** The number that is published, and those that are kept, the newest first. */
const numbers = ({ accountId, id }: Workflow) =>
  WorkflowStore.use((store) =>
    Effect.map(store.listVersions(accountId, id), (found) => {
      const { items, published } = Option.getOrThrow(found)
      return [published, ...items.map(({ number }) => number)]
    }),
  )

/** Replaces the draft. */
const changed = Effect.fnUntraced(function* (draft: Workflow, name: string) {
  const next = { ...draft, name, revision: draft.revision + 1 }
  const replaced = yield* WorkflowStore.use((store) => store.replace(next, draft.revision))
  assert.strictEqual(replaced, "replaced")
  return next
})

const publishing = (it: Tests): void => {
  it.effect("keeps the draft's content, whatever becomes of the draft", () =>
    Effect.gen(function* () {
      const samples = yield* Samples.make
      const store = yield* WorkflowStore
      const position = { x: -0.5, y: 1e9 }
      const nodes = [
        { id: "hard", type: "text", position, data: Samples.hardJson },
        { id: "none", type: "text", position, width: 200 },
      ]
      const edges = [{ id: "1", source: "hard", target: "none", sourceHandle: "" }]
      const draft = yield* saved(samples, { nodes, edges, settings: { onFailure: "stop" } })
      assert.deepStrictEqual(yield* current(draft), draft)
      const note = "Two\nlines, ünïcode"
      assert.strictEqual(yield* publish(draft, 1, { note }), "published")
      const made = versionOf(draft, 1, note)
      const next = yield* changed(draft, "Another name")
      assert.deepStrictEqual(yield* version(draft, 1), made)
      assert.strictEqual(JSON.stringify((yield* version(draft, 1))?.nodes), JSON.stringify(nodes))
      assert.deepStrictEqual(yield* current(draft), workflowOf(made))
      const stored = Option.getOrThrow(yield* store.find(draft.accountId, draft.id))
      assert.deepStrictEqual(stored, next)
      const [listed] = Option.getOrThrow(yield* store.listVersions(draft.accountId, draft.id)).items
      const { accountId, number, publishedAt, revision, workflowId } = made
      const head = { workflowId, accountId, number, revision, note, publishedAt }
      assert.deepStrictEqual(listed, head)
    }),
  )

  it.effect("numbers versions, and publishes the newest one again without a new one", () =>
    Effect.gen(function* () {
      const samples = yield* Samples.make
      const draft = yield* saved(samples)
      assert.deepStrictEqual(yield* numbers(draft), [null])
      yield* publish(draft, 1, { note: "First" })
      assert.deepStrictEqual(yield* numbers(draft), [1, 1])
      const next = yield* changed(draft, "Next")
      assert.strictEqual(yield* publish(next, 2), "published")
      assert.deepStrictEqual(yield* numbers(draft), [2, 2, 1])
      assert.strictEqual((yield* current(draft))?.name, "Next")
      const again = { note: "Dropped", publishedAt: Samples.epoch + 99 }
      assert.strictEqual(yield* publish(next, 2, again), "published")
      assert.deepStrictEqual(yield* version(next, 2), versionOf(next, 2, null))
    }),
  )
}

const conditions = (it: Tests): void => {
  it.effect("changes nothing where revision or number is another one", () =>
    Effect.gen(function* () {
      const samples = yield* Samples.make
      const before = yield* saved(samples)
      assert.strictEqual(yield* publish(before, 0), "conflict")
      yield* publish(before, 1)
      const draft = yield* changed(before, "Next")
      for (const number of [-1, 0, 3]) {
        assert.strictEqual(yield* publish(draft, number), "conflict")
      }
      assert.strictEqual(yield* publish(before, 2), "conflict")
      const gone = { ...draft, id: WorkflowId.make("wf-none") }
      assert.strictEqual(yield* publish(gone, 1), "conflict")
      assert.strictEqual(yield* publish(draft, 2, { account: samples.stranger }), "conflict")
      assert.deepStrictEqual(yield* numbers(draft), [1, 1])
    }),
  )

  it.effect("makes one version of many publications at once", () =>
    Effect.gen(function* () {
      const samples = yield* Samples.make
      const draft = yield* saved(samples)
      const notes = Array.from({ length: 12 }, (_, n) => `Note ${n}`)
      const outcomes = yield* Effect.forEach(notes, (note) => publish(draft, 1, { note }), {
        concurrency: "unbounded",
      })
      assert.include(outcomes, "published")
      assert.deepStrictEqual(yield* numbers(draft), [1, 1])
      assert.include(notes, (yield* version(draft, 1))?.note)
    }),
  )

  it.effect("forgets the oldest versions beyond those that are kept", () =>
    Effect.gen(function* () {
      const samples = yield* Samples.make
      let draft = yield* saved(samples)
      for (let number = 1; number <= 5; number++) {
        draft = yield* changed(draft, `As ${number}`)
        yield* publish(draft, number, { mostVersions: 3 })
      }
      assert.deepStrictEqual(yield* numbers(draft), [5, 5, 4, 3])
      assert.isUndefined(yield* version(draft, 2))
      assert.strictEqual((yield* current(draft))?.name, "As 5")
    }),
  )
}

const others = (it: Tests): void => {
  it.effect("lets starts take the draft again, and the newest version after that", () =>
    Effect.gen(function* () {
      const samples = yield* Samples.make
      const store = yield* WorkflowStore
      const before = yield* saved(samples)
      yield* publish(before, 1)
      const draft = yield* changed(before, "Next")
      const { accountId, id } = draft
      assert.isFalse(yield* store.unpublish(samples.stranger, id))
      assert.strictEqual((yield* current(draft))?.name, before.name)
      assert.isTrue(yield* store.unpublish(accountId, id))
      assert.isTrue(yield* store.unpublish(accountId, id))
      assert.deepStrictEqual(yield* current(draft), draft)
      assert.deepStrictEqual(yield* numbers(draft), [null, 1])
      assert.strictEqual(yield* publish(draft, 1), "published")
      assert.deepStrictEqual(yield* numbers(draft), [1, 1])
      assert.isFalse(yield* store.unpublish(accountId, WorkflowId.make("wf-none")))
    }),
  )

  it.effect("shows nobody the versions of another account", () =>
    Effect.gen(function* () {
      const samples = yield* Samples.make
      const store = yield* WorkflowStore
      const draft = yield* saved(samples)
      yield* publish(draft, 1)
      for (const [account, id] of [
        [samples.stranger, draft.id],
        [draft.accountId, WorkflowId.make("wf-none")],
      ] as const) {
        assert.isTrue(Option.isNone(yield* store.findCurrent(account, id)))
        assert.isTrue(Option.isNone(yield* store.findVersion(account, id, 1)))
        assert.isTrue(Option.isNone(yield* store.listVersions(account, id)))
      }
      assert.isUndefined(yield* version(draft, 2))
    }),
  )

  it.effect("removes versions with their workflow", () =>
    Effect.gen(function* () {
      const samples = yield* Samples.make
      const store = yield* WorkflowStore
      const draft = yield* saved(samples)
      yield* publish(draft, 1)
      yield* store.remove(draft.accountId, draft.id)
      assert.isUndefined(yield* current(draft))
      assert.isUndefined(yield* version(draft, 1))
      assert.isTrue(Option.isNone(yield* store.listVersions(draft.accountId, draft.id)))
      yield* store.insert(draft)
      assert.deepStrictEqual(yield* numbers(draft), [null])
    }),
  )

  it.effect("finds what is published of many workflows at once", () =>
    Effect.gen(function* () {
      const samples = yield* Samples.make
      const drafts = yield* Effect.forEach([0, 1, 2, 3], () => saved(samples))
      yield* publish(drafts[1]!, 1)
      yield* publish(drafts[3]!, 1)
      const found = yield* Effect.forEach(drafts, current, { concurrency: "unbounded" })
      const versions = found.map((each) => each?.version)
      assert.deepStrictEqual(versions, [undefined, 1, undefined, 1])
      assert.deepStrictEqual(
        found.map((each) => each?.id),
        drafts.map(({ id }) => id),
      )
    }),
  )
}

/** Registers the tests of versions. */
export const workflowVersionSuite = (it: Tests): void => {
  describe("WorkflowStore.publish", () => {
    publishing(it)
    conditions(it)
    others(it)
  })
}
