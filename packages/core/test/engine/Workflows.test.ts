// Changing workflows: drafts are accepted, broken graphs are not, and no write gets lost.
import { AccountId, WorkflowId } from "@millrace/core/domain/Id"
import { Workflows } from "@millrace/core/engine/Workflows"
import { WorkflowStore } from "@millrace/core/ports/WorkflowStore"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { account, edge, engine, node, save } from "./TestEngine.ts"

const at = <A, E, R>(effect: Effect.Effect<A, E, R>) => effect.pipe(Effect.provide(engine()))

describe("Workflows.create", () => {
  it.effect("accepts a draft with unknown types and missing inputs", () =>
    Effect.gen(function* () {
      const workflow = yield* save([node("a", "not-here-yet"), node("b", "add")], [edge("a", "b")])
      assert.strictEqual(workflow.revision, 1)
    }).pipe(at),
  )

  it.effect(
    "refuses a cycle, a dangling edge and a duplicate id, all named, and stores nothing",
    () =>
      Effect.gen(function* () {
        const store = yield* WorkflowStore
        const error = yield* Effect.flip(
          save(
            [node("a", "pass"), node("b", "pass"), node("twin", "pass"), node("twin", "pass")],
            [edge("a", "b"), edge("b", "a"), edge("a", "nowhere")],
          ),
        )
        const text = (error as Error).message
        for (const part of [/a -> b|b -> a/, /nowhere/, /twin/]) assert.match(text, part)
        assert.lengthOf((yield* store.list({ account, limit: 10 })).items, 0)
      }).pipe(at),
  )
})

describe("Workflows.update", () => {
  it.effect("changes what is given and moves revision and time only then", () =>
    Effect.gen(function* () {
      const workflows = yield* Workflows
      const { id } = yield* save([node("a", "pass")])
      const same = yield* workflows.update(account, id, {})
      assert.strictEqual(same.revision, 1)
      const renamed = yield* workflows.update(account, id, { name: "Other" })
      assert.deepInclude(renamed, { name: "Other", revision: 2 })
      assert.lengthOf(renamed.nodes, 1)
      const again = yield* workflows.update(account, id, { name: "Other", description: null })
      assert.strictEqual(again.revision, 2)
    }).pipe(at),
  )

  it.effect("cannot be made to change anything but content", () =>
    Effect.gen(function* () {
      const workflows = yield* Workflows
      const { id } = yield* save([])
      const smuggled = { name: "New", accountId: "acc_thief", id: "wf_other", revision: 99 }
      const updated = yield* workflows.update(account, id, smuggled)
      assert.deepInclude(updated, { id, accountId: account, revision: 2 })
    }).pipe(at),
  )

  it.effect("refuses a stale revision where one is expected", () =>
    Effect.gen(function* () {
      const workflows = yield* Workflows
      const { id } = yield* save([])
      yield* workflows.update(account, id, { name: "Second" }, 1)
      const error = yield* Effect.flip(workflows.update(account, id, { name: "Third" }, 1))
      assert.strictEqual(error._tag, "RevisionMismatch")
    }).pipe(at),
  )

  it.effect("loses none of many concurrent additions", () =>
    Effect.gen(function* () {
      const workflows = yield* Workflows
      const store = yield* WorkflowStore
      const { id } = yield* save([])
      const added = yield* Effect.all(
        Array.from({ length: 30 }, () => workflows.addNode(account, id, { nodeType: "pass" })),
        { concurrency: "unbounded" },
      )
      const stored = yield* Effect.flatMap(store.find(account, id), Effect.fromOption)
      assert.lengthOf(stored.nodes, 30)
      assert.strictEqual(new Set(added.map((each) => each.nodeId)).size, 30)
    }).pipe(at),
  )
})

describe("Workflows.duplicate", () => {
  it.effect("copies the content under a new id and keeps the name within its limit", () =>
    Effect.gen(function* () {
      const workflows = yield* Workflows
      const original = yield* save([node("a", "pass"), node("b", "pass")], [edge("a", "b")])
      yield* workflows.update(account, original.id, { name: "n".repeat(120) })
      const copy = yield* workflows.duplicate(account, original.id)
      assert.notStrictEqual(copy.id, original.id)
      assert.strictEqual(copy.name, "n".repeat(113) + " (copy)")
      assert.deepStrictEqual(copy.nodes, original.nodes)
      assert.deepStrictEqual(copy.edges, original.edges)
    }).pipe(at),
  )
})

describe("Workflows.addNode", () => {
  it.effect("answers with place, ports and the inputs that were set, in the order given", () =>
    Effect.gen(function* () {
      const workflows = yield* Workflows
      const { id } = yield* save([])
      const added = yield* workflows.addNode(account, id, {
        nodeType: "add",
        column: 2,
        row: 1,
        inputs: { right: 2, left: 1 },
      })
      assert.deepStrictEqual(added, {
        nodeId: "add_1",
        type: "add",
        position: { x: 760, y: 240 },
        inputPorts: ["left", "right"],
        outputPorts: ["output"],
        inputsSet: ["right", "left"],
      })
    }).pipe(at),
  )

  it.effect("refuses an unknown type, input or mode and a value that does not fit", () =>
    Effect.gen(function* () {
      const workflows = yield* Workflows
      const { id } = yield* save([])
      const refuse = (wanted: Parameters<typeof workflows.addNode>[2]) =>
        Effect.map(Effect.flip(workflows.addNode(account, id, wanted)), (error) => error.message)
      assert.match(yield* refuse({ nodeType: "ghost" }), /^nodeType: /)
      assert.match(yield* refuse({ nodeType: "add", inputs: { middle: 1 } }), /inputs\.middle/)
      assert.match(yield* refuse({ nodeType: "add", inputs: { left: "1" } }), /inputs\.left/)
      assert.match(yield* refuse({ nodeType: "add", mode: "fast" }), /mode/)
    }).pipe(at),
  )
})

describe("Workflows.remove", () => {
  it.effect("removes an own workflow and knows no foreign or unknown one", () =>
    Effect.gen(function* () {
      const workflows = yield* Workflows
      const { id } = yield* save([])
      const stranger = AccountId.make("acc_stranger")
      const foreign = yield* Effect.flip(workflows.remove(stranger, id))
      yield* workflows.remove(account, id)
      const gone = yield* Effect.flip(workflows.remove(account, id))
      const unknown = yield* Effect.flip(workflows.remove(account, WorkflowId.make("wf_no")))
      assert.deepStrictEqual(
        [foreign, gone, unknown].map((each) => each._tag),
        ["WorkflowNotFound", "WorkflowNotFound", "WorkflowNotFound"],
      )
    }).pipe(at),
  )
})
