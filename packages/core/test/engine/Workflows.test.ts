// Changing workflows: drafts are accepted, broken graphs are not, and no write gets lost.
import { AccountId, WorkflowId } from "@millrace/core/domain/Id"
import type { Limits } from "@millrace/core/domain/Limits"
import { CurrentLimits, defaultLimits } from "@millrace/core/domain/Limits"
import { Workflows } from "@millrace/core/engine/Workflows"
import { WorkflowStore } from "@millrace/core/ports/WorkflowStore"
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, Layer, Option } from "effect"
import { account, edge, engine, node, save } from "./TestEngine.ts"

type Store = WorkflowStore["Service"]

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

/** The engine over a store of workflows that does something else besides. */
const over = (change: (store: Store) => Partial<Store>, limits: Partial<Limits> = {}) =>
  Effect.provide(
    Layer.fresh(Workflows.layer).pipe(
      Layer.provideMerge(
        Layer.effect(
          WorkflowStore,
          Effect.map(WorkflowStore, (store) => WorkflowStore.of({ ...store, ...change(store) })),
        ),
      ),
      Layer.provideMerge(engine()),
      Layer.provideMerge(Layer.succeed(CurrentLimits, { ...defaultLimits, ...limits })),
    ),
  )

const rename = (id: WorkflowId, name: string, expected?: number) =>
  Effect.flatMap(Workflows, (workflows) => workflows.update(account, id, { name }, expected))

describe("changes of one workflow at once", () => {
  const upTo = (count: number) => Array.from({ length: count }, (_, n) => n)

  it.effect("are decided one after the other and written together", () => {
    let writes = 0
    return Effect.gen(function* () {
      const { id } = yield* save([])
      const renamed = yield* Effect.forEach(upTo(300), (n) => rename(id, `${n}`), {
        concurrency: "unbounded",
      })
      assert.deepStrictEqual(
        renamed.map(({ name, revision }) => [name, revision]),
        upTo(300).map((n) => [`${n}`, n + 2]),
      )
      const stored = yield* Effect.flatMap(WorkflowStore, (store) => store.find(account, id))
      assert.deepStrictEqual(stored, Option.some(renamed.at(-1)!))
      assert.isAtMost(writes, 2)
    }).pipe(
      over((store) => ({
        replace: (workflow, expected) => {
          writes += 1
          return Effect.andThen(Effect.yieldNow, store.replace(workflow, expected))
        },
      })),
    )
  })

  it.effect("are refused one by one where they are wrong", () =>
    Effect.gen(function* () {
      const workflows = yield* Workflows
      const { id } = yield* save([])
      const cycle = { nodes: [node("a", "pass")], edges: [edge("a", "a")] }
      const outcomes = yield* Effect.all(
        [
          rename(id, "Second", 1),
          rename(id, "Third", 1),
          workflows.update(account, id, cycle),
          rename(id, "Third", 2),
          workflows.update(account, id, {}),
        ].map((each) =>
          Effect.match(each, {
            onFailure: (error) => error._tag,
            onSuccess: ({ revision }) => revision,
          }),
        ),
        { concurrency: "unbounded" },
      )
      assert.deepStrictEqual(outcomes, [2, "RevisionMismatch", "InvalidGraph", 3, 3])
    }).pipe(at),
  )

  it.effect("are refused once other processes were faster as often as is allowed", () => {
    let found = 0
    return Effect.gen(function* () {
      const { id } = yield* save([])
      const error = yield* Effect.flip(rename(id, "Mine"))
      assert.strictEqual(error._tag, "TooManyChanges")
      assert.strictEqual(error.message, `Too many callers change workflow ${id} at once; try again`)
      assert.strictEqual(found, 3)
    }).pipe(
      over(
        (store) => ({
          find: Effect.fnUntraced(function* (owner, id) {
            const seen = yield* store.find(owner, id)
            if (Option.isNone(seen)) return seen
            found += 1
            const { revision } = seen.value
            yield* store.replace({ ...seen.value, revision: revision + 1 }, revision)
            return seen
          }),
        }),
        { workflowWriteAttempts: 3 },
      ),
    )
  })

  it.effect("are refused beyond what may wait, and are not made when interrupted before", () =>
    Effect.gen(function* () {
      const arrived = yield* Deferred.make<void>()
      const open = yield* Deferred.make<void>()
      const hold = over(
        (store) => ({
          replace: (workflow, expected) =>
            Effect.andThen(
              Effect.andThen(Deferred.succeed(arrived, undefined), Deferred.await(open)),
              store.replace(workflow, expected),
            ),
        }),
        { workflowChangesWaiting: 2 },
      )
      yield* Effect.gen(function* () {
        const { id } = yield* save([])
        const begin = (name: string) =>
          Effect.forkChild(rename(id, name), { startImmediately: true })
        const first = yield* begin("first")
        yield* Deferred.await(arrived)
        const second = yield* begin("second")
        const third = yield* begin("third")
        assert.strictEqual((yield* Effect.flip(rename(id, "fourth")))._tag, "TooManyChanges")
        yield* Fiber.interrupt(second)
        const fifth = yield* begin("fifth")
        yield* Deferred.succeed(open, undefined)
        const made = yield* Effect.forEach([first, third, fifth], Fiber.join)
        assert.deepStrictEqual(
          made.map(({ name, revision }) => [name, revision]),
          [
            ["first", 2],
            ["third", 3],
            ["fifth", 4],
          ],
        )
      }).pipe(hold)
    }),
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
