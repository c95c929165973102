// What a change of a workflow stores, field by field, and what the caller is told.
import { AccountId, WorkflowId } from "@millrace/core/domain/Id"
import { Json } from "@millrace/core/domain/Json"
import type { Workflow, WorkflowContent } from "@millrace/core/domain/Workflow"
import { define } from "@millrace/core/engine/NodeDefinition"
import { Workflows } from "@millrace/core/engine/Workflows"
import { StorageError } from "@millrace/core/ports/StorageError"
import { WorkflowStore } from "@millrace/core/ports/WorkflowStore"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Schema } from "effect"
import { TestClock } from "effect/testing"
import { account, edge, engine, node, save, types } from "./TestEngine.ts"

/** A type with modes. */
const modal = define({
  key: "modal",
  modes: ["slow", "fast"],
  inputs: { input: Schema.optionalKey(Json), size: Schema.optionalKey(Schema.Finite) },
  outputs: { output: Json },
  run: () => Effect.succeed({ output: null }),
})

const at = Effect.provide(engine([...types, modal]))

/** All that a client may set. */
type Content = Pick<Workflow, keyof WorkflowContent>

const content: Content = {
  name: "Test",
  description: "old",
  thumbnailUrl: "https://pictures.example/old.png",
  nodes: [node("a", "pass"), node("b", "pass")],
  edges: [edge("a", "b")],
  settings: { timeoutMillis: 5_000 },
}

/** The store, with calls that are counted or replaced. */
const storeWith = Effect.fnUntraced(function* (
  change: (store: WorkflowStore["Service"]) => Partial<WorkflowStore["Service"]>,
) {
  const store = yield* WorkflowStore
  return yield* Effect.provide(Workflows, Layer.fresh(Workflows.layer)).pipe(
    Effect.provideService(WorkflowStore, { ...store, ...change(store) }),
  )
})

describe("Workflows.create", () => {
  it.effect("stores the content as it is, in its first revision, and nothing else", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(5_000)
      const workflows = yield* Workflows
      const smuggled = { ...content, revision: 99, accountId: "acc_thief" }
      const made = yield* workflows.create(account, smuggled)
      const { id, ...rest } = made
      assert.match(id, /^wf_/)
      const times = { createdAt: 5_000, updatedAt: 5_000 }
      assert.deepStrictEqual(rest, {
        ...content,
        ...times,
        accountId: account,
        revision: 1,
      })
      const { settings: _, ...least } = content
      assert.deepStrictEqual((yield* workflows.create(account, least)).settings, {})
    }).pipe(at),
  )
})

describe("Workflows.update", () => {
  const changes: ReadonlyArray<Partial<Content>> = [
    { name: "Other" },
    { description: null },
    { thumbnailUrl: null },
    { nodes: [node("a", "pass"), node("b", "gate")] },
    { edges: [] },
    { settings: { timeoutMillis: 6_000 } },
  ]
  for (const change of changes) {
    it.effect(
      `makes a revision where it changes the ${Object.keys(change)[0]!}, and none else`,
      () =>
        Effect.gen(function* () {
          const workflows = yield* Workflows
          const { id } = yield* workflows.create(account, content)
          yield* TestClock.setTime(7_000)
          const changed = yield* workflows.update(account, id, change)
          assert.deepInclude(changed, { ...content, ...change, revision: 2, updatedAt: 7_000 })
          yield* TestClock.setTime(9_000)
          assert.deepStrictEqual(yield* workflows.update(account, id, change), changed)
          const store = yield* WorkflowStore
          const stored = yield* Effect.flatMap(store.find(account, id), Effect.fromOption)
          assert.deepStrictEqual(stored, changed)
        }).pipe(at),
    )
  }

  it.effect("leaves out what is undefined, and takes no settings for the usual ones", () =>
    Effect.gen(function* () {
      const workflows = yield* Workflows
      const { settings: _, ...least } = content
      const made = yield* workflows.create(account, least)
      const change = { name: undefined, description: undefined, settings: {} } as never
      assert.deepStrictEqual(yield* workflows.update(account, made.id, change), made)
    }).pipe(at),
  )

  it.effect("is never older than the one before, whatever the clock says", () =>
    Effect.gen(function* () {
      const workflows = yield* Workflows
      yield* TestClock.setTime(9_000)
      const { id } = yield* workflows.create(account, content)
      yield* TestClock.setTime(5_000)
      const changed = yield* workflows.update(account, id, { name: "Other" })
      assert.strictEqual(changed.updatedAt, 9_000)
    }).pipe(at),
  )

  it.effect("writes nothing where it changes nothing, and reads once for all that wait", () =>
    Effect.gen(function* () {
      const calls: Array<string> = []
      const workflows = yield* storeWith((store) => ({
        find: (...of) =>
          Effect.andThen(
            Effect.sync(() => calls.push("find")),
            store.find(...of),
          ),
        replace: (...of) =>
          Effect.andThen(
            Effect.sync(() => calls.push("replace")),
            store.replace(...of),
          ),
      }))
      const { id } = yield* workflows.create(account, content)
      yield* workflows.update(account, id, { name: "Test" })
      assert.deepStrictEqual(calls, ["find"])
      yield* workflows.update(account, id, { name: "Other" })
      assert.deepStrictEqual(calls, ["find", "find", "replace"])
    }).pipe(at),
  )

  it.effect("names the revision that there is where another one is expected", () =>
    Effect.gen(function* () {
      const workflows = yield* Workflows
      const { id } = yield* workflows.create(account, content)
      const error = yield* Effect.flip(workflows.update(account, id, { name: "Other" }, 7))
      assert.strictEqual(error.message, `Workflow ${id} was changed meanwhile; it is at revision 1`)
      const changed = yield* workflows.update(account, id, { name: "Other" }, 1)
      assert.strictEqual(changed.revision, 2)
    }).pipe(at),
  )

  it.effect("names every problem of the new content, and stores nothing of it", () =>
    Effect.gen(function* () {
      const workflows = yield* Workflows
      const made = yield* workflows.create(account, content)
      const broken = { name: "Other", edges: [edge("a", "b"), edge("b", "a"), edge("b", "z")] }
      const error = yield* Effect.flip(workflows.update(account, made.id, broken))
      assert.strictEqual(error._tag === "InvalidGraph" ? error.problems.length : 0, 2)
      const same = yield* workflows.update(account, made.id, {})
      assert.deepStrictEqual(same, made)
    }).pipe(at),
  )

  it.effect("tells everybody who waits of a store that fails, and goes on with the next", () =>
    Effect.gen(function* () {
      let isAway = true
      const away = new StorageError({ operation: "find", cause: new Error("away") })
      const workflows = yield* storeWith((store) => ({
        find: (...of) => Effect.suspend(() => (isAway ? Effect.fail(away) : store.find(...of))),
      }))
      const { id } = yield* workflows.create(account, content)
      const rename = (name: string) => workflows.update(account, id, { name })
      const failed = yield* Effect.forEach(["x", "y"], (name) => Effect.flip(rename(name)), {
        concurrency: "unbounded",
      })
      assert.deepStrictEqual(
        failed.map(({ _tag }) => _tag),
        ["StorageError", "StorageError"],
      )
      isAway = false
      assert.strictEqual((yield* rename("z")).name, "z")
    }).pipe(at),
  )

  it.effect("knows no foreign or unknown workflow, nor does any other change", () =>
    Effect.gen(function* () {
      const workflows = yield* Workflows
      const { id } = yield* workflows.create(account, content)
      const stranger = AccountId.make("acc_stranger")
      const unknown = WorkflowId.make("wf_none")
      const refusals = [
        Effect.asVoid(workflows.update(stranger, id, {})),
        Effect.asVoid(workflows.update(account, unknown, {})),
        Effect.asVoid(workflows.addNode(stranger, id, { nodeType: "pass" })),
        Effect.asVoid(workflows.duplicate(stranger, id)),
        Effect.asVoid(workflows.duplicate(account, unknown)),
      ]
      for (const refused of refusals) {
        const error = yield* Effect.flip(refused)
        assert.strictEqual(error._tag, "WorkflowNotFound")
        assert.match(error.message, /^Workflow wf_\w+ does not exist$/)
      }
    }).pipe(at),
  )
})

describe("Workflows.duplicate", () => {
  it.effect("makes a workflow of its own, in its first revision", () =>
    Effect.gen(function* () {
      const workflows = yield* Workflows
      const { id } = yield* workflows.create(account, content)
      yield* workflows.update(account, id, { name: "Other" })
      yield* TestClock.setTime(7_000)
      const copy = yield* workflows.duplicate(account, id)
      const times = { createdAt: 7_000, updatedAt: 7_000 }
      assert.deepInclude(copy, { ...content, ...times, name: "Other (copy)", revision: 1 })
    }).pipe(at),
  )
})

describe("Workflows.addNode", () => {
  it.effect("finds a free name, and leaves out what nobody asked for", () =>
    Effect.gen(function* () {
      const workflows = yield* Workflows
      const { id } = yield* save([node("pass_2", "pass")])
      const add = (wanted: object) =>
        workflows.addNode(account, id, { nodeType: "pass", ...wanted })
      const position = { x: 5, y: 6 }
      assert.deepStrictEqual(yield* add({ position }), {
        nodeId: "pass_1",
        type: "pass",
        position,
        inputPorts: ["input", "other"],
        outputPorts: ["output"],
      })
      assert.strictEqual((yield* add({ inputs: {} })).nodeId, "pass_3")
      const store = yield* WorkflowStore
      const { nodes, revision } = yield* Effect.flatMap(store.find(account, id), Effect.fromOption)
      assert.strictEqual(revision, 3)
      assert.deepStrictEqual(
        nodes.slice(1).map(({ data, type }) => [type, data]),
        [
          ["pass", {}],
          ["pass", { inputs: {} }],
        ],
      )
    }).pipe(at),
  )

  it.effect("sets the mode, and tells which one is in force", () =>
    Effect.gen(function* () {
      const workflows = yield* Workflows
      const { id } = yield* save([])
      const fast = yield* workflows.addNode(account, id, { nodeType: "modal", mode: "fast" })
      const usual = yield* workflows.addNode(account, id, { nodeType: "modal", inputs: {} })
      assert.deepStrictEqual([fast.mode, usual.mode], ["fast", "slow"])
      assert.deepStrictEqual([fast.inputsSet, usual.inputsSet], [undefined, []])
      assert.isFalse("inputsSet" in fast)
      const store = yield* WorkflowStore
      const { nodes } = yield* Effect.flatMap(store.find(account, id), Effect.fromOption)
      assert.deepStrictEqual(
        nodes.map(({ data }) => data),
        [{ mode: "fast" }, { inputs: {} }],
      )
    }).pipe(at),
  )

  it.effect("names everything that is wrong with it, and adds nothing", () =>
    Effect.gen(function* () {
      const workflows = yield* Workflows
      const { id } = yield* save([])
      const refuse = (wanted: Parameters<typeof workflows.addNode>[2]) =>
        Effect.map(Effect.flip(workflows.addNode(account, id, wanted)), ({ message }) => message)
      assert.strictEqual(
        yield* refuse({ nodeType: "modal", mode: "odd", inputs: { size: "1", "x y": 2 } }),
        "mode: modal has no such mode; it has slow, fast; inputs.size: Expected number; " +
          'inputs."x y": modal has no such input; it has input, size',
      )
      assert.strictEqual(
        yield* refuse({ nodeType: "pass", mode: "odd" }),
        "mode: pass has no such mode; it has none",
      )
      assert.strictEqual(yield* refuse({ nodeType: "ghost" }), "nodeType: there is no such type")
      assert.strictEqual(
        yield* refuse({ nodeType: "modl" }),
        'nodeType: there is no such type; did you mean "modal"?',
      )
      const store = yield* WorkflowStore
      const stored = yield* Effect.flatMap(store.find(account, id), Effect.fromOption)
      assert.deepStrictEqual([stored.nodes, stored.revision], [[], 1])
    }).pipe(at),
  )
})
