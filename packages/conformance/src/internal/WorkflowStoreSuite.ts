/**
 * What every workflow store must do, sentence by sentence of its port.
 */
import { assert, describe, type Vitest } from "@effect/vitest"
import { WorkflowId } from "@millrace/core/domain/Id"
import { WorkflowStore } from "@millrace/core/ports/WorkflowStore"
import { Effect, Option } from "effect"
import * as Samples from "../Samples.ts"
import { workflowVersionSuite } from "./WorkflowVersionSuite.ts"

type Tests = Vitest.MethodsNonLive<WorkflowStore>

const found = Effect.fnUntraced(function* (samples: Samples.Samples, id: WorkflowId) {
  const store = yield* WorkflowStore
  return Option.getOrUndefined(yield* store.find(samples.account, id))
})

const insertAndFind = (it: Tests): void => {
  it.effect("gives back exactly what was stored", () =>
    Effect.gen(function* () {
      const samples = yield* Samples.make
      const store = yield* WorkflowStore
      const workflow = samples.workflow({
        name: "Ünïcode 😀 % _ \\ '",
        description: "Two\nlines",
        thumbnailUrl: "https://example.com/a.png",
        updatedAt: Samples.epoch + 123_456_789,
      })
      yield* store.insert(workflow)
      assert.deepStrictEqual(yield* found(samples, workflow.id), workflow)
    }),
  )

  it.effect("keeps opaque node data to the last character", () =>
    Effect.gen(function* () {
      const samples = yield* Samples.make
      const store = yield* WorkflowStore
      const position = { x: -0.5, y: 1e9 }
      const nodes = [
        { id: "hard", type: "text", position, data: Samples.hardJson },
        { id: "null", type: "text", position, data: null },
        { id: "none", type: "text", position },
      ]
      const edges = [
        { id: "1", source: "hard", target: "null", sourceHandle: "", targetHandle: "in" },
        { id: "2", source: "hard", target: "none" },
      ]
      const workflow = samples.workflow({ nodes, edges })
      yield* store.insert(workflow)
      const stored = yield* found(samples, workflow.id)
      assert.deepStrictEqual(stored, workflow)
      assert.strictEqual(JSON.stringify(stored?.nodes), JSON.stringify(nodes))
    }),
  )

  it.effect("refuses an identifier that exists and keeps what is there", () =>
    Effect.gen(function* () {
      const samples = yield* Samples.make
      const store = yield* WorkflowStore
      const workflow = samples.workflow()
      yield* store.insert(workflow)
      const foreign = { ...workflow, accountId: samples.stranger, name: "Other" }
      assert.strictEqual((yield* Effect.flip(store.insert(foreign)))._tag, "StorageError")
      assert.deepStrictEqual(yield* found(samples, workflow.id), workflow)
    }),
  )

  it.effect("finds nothing under an unknown or a foreign identifier", () =>
    Effect.gen(function* () {
      const samples = yield* Samples.make
      const store = yield* WorkflowStore
      const workflow = samples.workflow({ accountId: samples.stranger })
      yield* store.insert(workflow)
      assert.isUndefined(yield* found(samples, workflow.id))
      assert.isUndefined(yield* found(samples, WorkflowId.make("wf_unknown")))
      assert.isUndefined(yield* found(samples, WorkflowId.make("a\u0000b\ud800'%")))
    }),
  )
}

const replace = (it: Tests): void => {
  it.effect("replaces the whole content", () =>
    Effect.gen(function* () {
      const samples = yield* Samples.make
      const store = yield* WorkflowStore
      const workflow = samples.workflow({ description: "Old", thumbnailUrl: "https://a.b/c" })
      yield* store.insert(workflow)
      const next = {
        ...workflow,
        name: "New",
        description: null,
        thumbnailUrl: null,
        nodes: [{ id: "only", type: "text", position: { x: 0, y: 0 } }],
        edges: [],
        revision: 2,
        updatedAt: workflow.updatedAt + 5,
      }
      assert.strictEqual(yield* store.replace(next, 1), "replaced")
      assert.deepStrictEqual(yield* found(samples, workflow.id), next)
    }),
  )

  it.effect("conflicts on another revision, a removed and a foreign workflow", () =>
    Effect.gen(function* () {
      const samples = yield* Samples.make
      const store = yield* WorkflowStore
      const workflow = samples.workflow({ revision: 5 })
      const next = { ...workflow, name: "New", revision: 6 }
      yield* store.insert(workflow)
      assert.strictEqual(yield* store.replace(next, 4), "conflict")
      assert.strictEqual(yield* store.replace(next, 6), "conflict")
      const foreign = { ...next, accountId: samples.stranger }
      assert.strictEqual(yield* store.replace(foreign, 5), "conflict")
      assert.deepStrictEqual(yield* found(samples, workflow.id), workflow)
      yield* store.remove(samples.account, workflow.id)
      assert.strictEqual(yield* store.replace(next, 5), "conflict")
      assert.isUndefined(yield* found(samples, workflow.id))
    }),
  )

  it.effect("lets exactly one of many concurrent replacements win", () =>
    Effect.gen(function* () {
      const samples = yield* Samples.make
      const store = yield* WorkflowStore
      const workflow = samples.workflow()
      yield* store.insert(workflow)
      const outcomes = yield* Effect.forEach(
        Array.from({ length: 20 }, (_, n) => n),
        (n) => store.replace({ ...workflow, name: `Name ${n}`, revision: 2 }, 1),
        { concurrency: "unbounded" },
      )
      assert.strictEqual(outcomes.filter((outcome) => outcome === "replaced").length, 1)
      const winner = outcomes.indexOf("replaced")
      assert.strictEqual((yield* found(samples, workflow.id))?.name, `Name ${winner}`)
    }),
  )
}

const remove = (it: Tests): void => {
  it.effect("says whether there was a workflow to remove", () =>
    Effect.gen(function* () {
      const samples = yield* Samples.make
      const store = yield* WorkflowStore
      const workflow = samples.workflow()
      yield* store.insert(workflow)
      assert.isFalse(yield* store.remove(samples.stranger, workflow.id))
      assert.isTrue(yield* store.remove(samples.account, workflow.id))
      assert.isFalse(yield* store.remove(samples.account, workflow.id))
      assert.isUndefined(yield* found(samples, workflow.id))
      const page = yield* store.list({ account: samples.account, limit: 10 })
      assert.deepStrictEqual(page, { items: [], next: undefined })
    }),
  )
}

const findMany = (it: Tests): void => {
  it.effect("reads the account's workflows of these ids, as long as their drawings fit", () =>
    Effect.gen(function* () {
      const samples = yield* Samples.make
      const store = yield* WorkflowStore
      const position = { x: 0, y: 0 }
      const sized = (characters: number) =>
        samples.workflow({
          nodes: [{ id: "a", type: "text", position, data: "ä".repeat(characters / 2) }],
        })
      const [a, b, c] = [sized(10_000), sized(10_000), sized(100_000)]
      const hard = samples.workflow({
        nodes: [{ id: "a", type: "text", position, data: Samples.hardJson }],
      })
      const foreign = samples.workflow({ accountId: samples.stranger })
      for (const workflow of [a, b, c, hard, foreign]) yield* store.insert(workflow)
      const ids = [c, b, foreign, hard, a, b].map(({ id }) => id)
      const read = Effect.fnUntraced(function* (mostBytes: number) {
        const all = [...ids, WorkflowId.make("wf_unknown"), WorkflowId.make("a\u0000b\ud800'%")]
        const known = yield* store.findMany(samples.account, all, mostBytes)
        return known.toSorted((one, two) => (one.id < two.id ? -1 : 1))
      })
      assert.deepStrictEqual(yield* read(1_000_000), [a, b, c, hard])
      assert.deepStrictEqual(yield* read(30_000), [a, b, hard])
      assert.deepStrictEqual(yield* read(19_000), [b, hard])
      assert.deepStrictEqual(yield* read(0), [])
      assert.deepStrictEqual(yield* store.findMany(samples.account, [], 1_000), [])
    }),
  )
}

const list = (it: Tests): void => {
  it.effect("shows the newest first, without nodes and edges but with their count", () =>
    Effect.gen(function* () {
      const samples = yield* Samples.make
      const store = yield* WorkflowStore
      const [older, newer] = [samples.workflow(), samples.workflow({ description: "Newer" })]
      yield* store.insert(newer)
      yield* store.insert(older)
      yield* store.insert(samples.workflow({ accountId: samples.stranger }))
      const page = yield* store.list({ account: samples.account, limit: 10 })
      const expected = [newer, older].map(
        ({ edges: _, nodes, settings: _settings, ...summary }) => ({
          ...summary,
          nodeCount: nodes.length,
        }),
      )
      assert.deepStrictEqual(page, { items: expected, next: undefined })
    }),
  )

  it.effect("finds a part of the name in any case, and takes no wildcard", () =>
    Effect.gen(function* () {
      const samples = yield* Samples.make
      const store = yield* WorkflowStore
      const names = ["Invoice ÄRGER", "100% invoices", "snake_case", "back\\slash", "plain"]
      for (const name of names) yield* store.insert(samples.workflow({ name }))
      const search = Effect.fnUntraced(function* (text: string) {
        const page = yield* store.list({ account: samples.account, limit: 10, search: text })
        return page.items.map(({ name }) => name)
      })
      assert.deepStrictEqual(yield* search("iNVOICE"), ["100% invoices", "Invoice ÄRGER"])
      assert.deepStrictEqual(yield* search("ärger"), ["Invoice ÄRGER"])
      assert.deepStrictEqual(yield* search("%"), ["100% invoices"])
      assert.deepStrictEqual(yield* search("_"), ["snake_case"])
      assert.deepStrictEqual(yield* search("\\"), ["back\\slash"])
      assert.deepStrictEqual(yield* search("in%ce"), [])
      assert.deepStrictEqual(yield* search("\u0000"), [])
      assert.deepStrictEqual(yield* search(""), names.toReversed())
    }),
  )
}

/** Registers the tests of `WorkflowStore`. */
export const workflowStoreSuite = (it: Tests): void => {
  workflowVersionSuite(it)
  describe("WorkflowStore.insert", () => {
    insertAndFind(it)
  })
  describe("WorkflowStore.replace", () => {
    replace(it)
  })
  describe("WorkflowStore.remove", () => {
    remove(it)
  })
  describe("WorkflowStore.findMany", () => {
    findMany(it)
  })
  describe("WorkflowStore.list", () => {
    list(it)
  })
}
