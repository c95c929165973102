// What is published, and what starts take of a workflow.
import { assert, describe, it } from "@effect/vitest"
import type { WorkflowId } from "@millrace/core/domain/Id"
import { AccountId, RunId } from "@millrace/core/domain/Id"
import { publishAttempts, versionsPerWorkflow } from "@millrace/core/domain/Limits"
import type { Node } from "@millrace/core/domain/Workflow"
import type { WorkflowNotFound } from "@millrace/core/engine/Refusals"
import { Runs } from "@millrace/core/engine/Runs"
import type { StartRequest } from "@millrace/core/engine/Runs"
import { Versions } from "@millrace/core/engine/Versions"
import { Workflows } from "@millrace/core/engine/Workflows"
import { WorkflowStore } from "@millrace/core/ports/WorkflowStore"
import { Context, Effect, Layer, Result } from "effect"
import { account, boot, edge, engine, node, save, shared } from "./TestEngine.ts"

const at = Effect.provide(Layer.provideMerge(Versions.layer, engine()))
const stranger = AccountId.make("acc_stranger")

const publish = (id: WorkflowId, note: string | null = null, revision?: number) =>
  Versions.use((versions) => versions.publish(account, id, note, revision))

const edit = (id: WorkflowId, ...nodes: ReadonlyArray<Node>) =>
  Workflows.use((workflows) => workflows.update(account, id, { nodes }))

/** Starts a run, and says what it is of once it has ended. */
const started = Effect.fnUntraced(function* (id: WorkflowId, more?: Partial<StartRequest>) {
  const runs = yield* Runs
  const { id: runId } = yield* runs.start(account, { workflowId: id, ...more })
  const { definition, run } = yield* runs.wait(account, runId)
  const nodes = definition.nodes.map((each) => each.id)
  return { nodes, version: run.workflowVersion, revision: run.workflowRevision, runId }
})

describe("Versions.publish", () => {
  it.effect("lets starts take what was published, whatever the draft becomes", () =>
    Effect.gen(function* () {
      const { id } = yield* save([node("a", "pass")])
      assert.deepInclude(yield* started(id), { nodes: ["a"], version: null, revision: 1 })
      const made = yield* publish(id, "First")
      assert.deepInclude(made, { number: 1, note: "First", revision: 1 })
      yield* edit(id, node("b", "pass"))
      for (let n = 0; n < 2; n++) {
        assert.deepInclude(yield* started(id), { nodes: ["a"], version: 1, revision: 1 })
      }
      const draft = yield* started(id, { version: "draft" })
      assert.deepInclude(draft, { nodes: ["b"], version: null, revision: 2 })
      assert.deepInclude(yield* started(id), { nodes: ["a"], version: 1 })
      assert.strictEqual((yield* publish(id)).number, 2)
      assert.deepInclude(yield* started(id), { nodes: ["b"], version: 2, revision: 2 })
      assert.deepInclude(yield* started(id, { version: 1 }), { nodes: ["a"], version: 1 })
    }).pipe(at),
  )

  it.effect("holds on every process from the moment it is acknowledged", () =>
    Effect.gen(function* () {
      const withVersions = Effect.map(boot(), ({ context }) => context)
      const [here, there] = [yield* withVersions, yield* withVersions]
      const { id } = yield* Effect.provideContext(save([node("a", "pass")]), here)
      const versionOn = (process: typeof here) =>
        Effect.provideContext(started(id), process).pipe(Effect.map(({ version }) => version))
      const on = (process: typeof here) =>
        Effect.map(Layer.build(Versions.layer), (made) => Context.get(made, Versions)).pipe(
          Effect.provideContext(process),
        )
      const versions = yield* on(there)
      assert.deepStrictEqual([yield* versionOn(here), yield* versionOn(there)], [null, null])
      for (let number = 1; number < 4; number++) {
        yield* Effect.provideContext(edit(id, node(`of_${number}`, "pass")), there)
        yield* versions.publish(account, id, null)
        assert.strictEqual(yield* versionOn(here), number)
        assert.strictEqual(yield* versionOn(there), number)
      }
      yield* versions.unpublish(account, id)
      assert.strictEqual(yield* versionOn(here), null)
      yield* versions.publish(account, id, null)
      assert.strictEqual(yield* versionOn(here), 3)
    }).pipe(Effect.scoped, Effect.provide(shared())),
  )

  it.effect("names everything that a start would refuse, but for values", () =>
    Effect.gen(function* () {
      const fields = [{ name: "order", type: "string", required: true }]
      const request = node("r", "request", { fields })
      const { id } = yield* save(
        [request, node("x", "nothing"), node("f", "fail")],
        [edge("r.values", "f")],
      )
      const refused = yield* Effect.flip(publish(id))
      assert.strictEqual(refused._tag, "InvalidGraph")
      assert.include(refused.message, '"x"')
      assert.include(refused.message, "message")
      assert.deepStrictEqual(
        (yield* Versions.use((versions) => versions.list(account, id))).items,
        [],
      )
      const mended = { nodes: [request, node("p", "pass")], edges: [edge("r.values", "p")] }
      yield* Workflows.use((all) => all.update(account, id, mended))
      assert.strictEqual((yield* publish(id)).number, 1)
    }).pipe(at),
  )

  it.effect("makes no new version of what is the newest one", () =>
    Effect.gen(function* () {
      const { id } = yield* save([node("a", "pass")])
      const first = yield* publish(id, "First")
      assert.deepStrictEqual(yield* publish(id, "Again"), first)
      yield* edit(id, node("b", "pass"))
      yield* edit(id, node("a", "pass"))
      assert.deepStrictEqual(yield* publish(id, "As before"), first)
      yield* Versions.use((versions) => versions.unpublish(account, id))
      assert.strictEqual((yield* started(id)).version, null)
      assert.deepStrictEqual(yield* publish(id), first)
      assert.strictEqual((yield* started(id)).version, 1)
    }).pipe(at),
  )

  it.effect("is refused for a draft of another revision, and for a foreign workflow", () =>
    Effect.gen(function* () {
      const { id } = yield* save([node("a", "pass")])
      assert.strictEqual((yield* Effect.flip(publish(id, null, 2)))._tag, "RevisionMismatch")
      const versions = yield* Versions
      const strange = yield* Effect.flip(versions.publish(stranger, id, null))
      assert.strictEqual(strange._tag, "WorkflowNotFound")
      assert.strictEqual((yield* publish(id, null, 1)).number, 1)
    }).pipe(at),
  )

  it.effect("keeps the newest versions", () =>
    Effect.gen(function* () {
      const { id } = yield* save([node("a", "pass")])
      for (let n = 1; n <= versionsPerWorkflow + 1; n++) {
        yield* edit(id, node(`n_${n}`, "pass"))
        assert.strictEqual((yield* publish(id)).number, n)
      }
      const { items } = yield* Versions.use((versions) => versions.list(account, id))
      assert.lengthOf(items, versionsPerWorkflow)
      const refused = yield* Effect.flip(started(id, { version: 1 }))
      assert.strictEqual(refused._tag, "VersionNotFound")
      assert.include(refused.message, "has no version 1; the newest 100 are kept")
    }).pipe(at),
  )
})

describe("what else takes a version", () => {
  it.effect("a node that runs alone is one of the draft", () =>
    Effect.gen(function* () {
      const { id } = yield* save([node("a", "pass", { input: 1 })])
      yield* publish(id)
      yield* edit(id, node("a", "pass", { input: 2 }), node("b", "pass"))
      assert.strictEqual((yield* started(id, { singleNodeId: "b" })).version, null)
      const old = yield* Effect.flip(started(id, { singleNodeId: "b", version: 1 }))
      assert.strictEqual(old._tag, "InvalidGraph")
    }).pipe(at),
  )

  it.effect("a rerun of what is current is one of what a start would take", () =>
    Effect.gen(function* () {
      const { id } = yield* save([node("a", "pass")])
      const runs = yield* Runs
      const { runId } = yield* started(id)
      yield* publish(id)
      yield* edit(id, node("b", "pass"))
      const rerun = Effect.fnUntraced(function* (of: Parameters<typeof runs.rerun>[2]) {
        const again = yield* runs.rerun(account, runId, of)
        const { definition, run } = yield* runs.wait(account, RunId.make(again.runId))
        return [definition.nodes[0]!.id, run.workflowVersion]
      })
      assert.deepStrictEqual(yield* rerun({ from: ["a"] }), ["a", null])
      assert.deepStrictEqual(yield* rerun({ definition: "current", from: ["a"] }), ["a", 1])
      assert.deepStrictEqual(yield* rerun({ definition: "current", version: "draft" }), ["b", null])
      const { runId: ofVersion } = yield* started(id)
      const again = yield* runs.rerun(account, ofVersion, { from: ["a"] })
      const { run } = yield* runs.wait(account, again.runId)
      assert.strictEqual(run.workflowVersion, 1)
    }).pipe(at),
  )

  it.effect("an estimate and a validation judge what a start would take", () =>
    Effect.gen(function* () {
      const { id } = yield* save([node("a", "add", { left: 1, right: 2 })])
      yield* publish(id)
      yield* edit(id, node("x", "nothing"))
      const runs = yield* Runs
      assert.strictEqual((yield* runs.estimate(account, { workflowId: id })).problems.length, 0)
      const draft = { workflowId: id, version: "draft" as const }
      assert.strictEqual((yield* runs.estimate(account, draft)).problems.length, 1)
      assert.strictEqual((yield* runs.validate(account, { workflowId: id })).problems.length, 0)
      assert.strictEqual((yield* runs.validate(account, draft)).problems.length, 1)
    }).pipe(at),
  )
})

describe("Versions.publish of a workflow that is changed meanwhile", () => {
  /** Publishes; somebody else changes the workflow in front of the store, so many times. */
  const publishBeside = Effect.fnUntraced(function* (id: WorkflowId, changes: number) {
    const store = yield* WorkflowStore
    const engineOfTest = yield* Effect.context<Workflows>()
    let count = 0
    const contested = WorkflowStore.of({
      ...store,
      publish: (publication) =>
        Effect.gen(function* () {
          if (count++ < changes) yield* Effect.orDie(edit(id, node(`of_${count}`, "pass")))
          return yield* store.publish(publication)
        }).pipe(Effect.provideContext(engineOfTest)),
    })
    const layer = Layer.fresh(Versions.layer).pipe(
      Layer.provide(Layer.succeed(WorkflowStore, contested)),
    )
    const versions = Context.get(yield* Layer.build(layer), Versions)
    const result = yield* Effect.result(versions.publish(account, id, null))
    return { result, count }
  }, Effect.scoped)

  it.effect("publishes it as it is then", () =>
    Effect.gen(function* () {
      const { id } = yield* save([node("a", "pass")])
      const { count, result } = yield* publishBeside(id, 3)
      assert.isTrue(Result.isSuccess(result))
      assert.strictEqual(count, 4)
      assert.deepInclude(yield* started(id), { nodes: ["of_3"], version: 1, revision: 4 })
    }).pipe(at),
  )

  it.effect("gives up where that goes on, and says so", () =>
    Effect.gen(function* () {
      const { id } = yield* save([node("a", "pass")])
      const { count, result } = yield* publishBeside(id, 1_000)
      assert.strictEqual(count, publishAttempts)
      assert.isTrue(Result.isFailure(result))
      if (Result.isSuccess(result) || result.failure._tag !== "StorageError") return assert.fail()
      assert.strictEqual(result.failure.operation, "WorkflowStore.publish")
      assert.match(String(result.failure.cause), /is changed too often to be published/)
    }).pipe(at),
  )
})

describe("Versions of a workflow that the account does not have", () => {
  it.effect("are refused, and the refusal names it", () =>
    Effect.gen(function* () {
      const versions = yield* Versions
      const { id } = yield* save([node("a", "pass")])
      yield* publish(id)
      for (const asked of [
        versions.list(stranger, id),
        versions.publish(stranger, id, null),
        versions.unpublish(stranger, id),
        versions.get(stranger, id, 1),
        versions.restore(stranger, id, 1),
        versions.difference(stranger, id, 1, "draft"),
      ]) {
        const refused = yield* Effect.flip(asked as Effect.Effect<unknown, WorkflowNotFound>)
        assert.deepInclude(refused, { _tag: "WorkflowNotFound", workflowId: id })
      }
      assert.deepInclude(yield* versions.get(account, id, 1), { number: 1, workflowId: id })
    }).pipe(at),
  )
})

describe("Versions.restore", () => {
  it.effect("gives the draft the content of a version, and publishes nothing", () =>
    Effect.gen(function* () {
      const versions = yield* Versions
      const { id } = yield* save([node("a", "pass")], [], { onFailure: "stop" })
      yield* publish(id)
      const change = { name: "Other", nodes: [node("b", "pass")], settings: {} }
      yield* Workflows.use((all) => all.update(account, id, change))
      yield* publish(id)
      const stale = yield* Effect.flip(versions.restore(account, id, 1, 1))
      assert.strictEqual(stale._tag, "RevisionMismatch")
      const restored = yield* versions.restore(account, id, 1, 2)
      assert.deepInclude(restored, { name: "Test", revision: 3, settings: { onFailure: "stop" } })
      assert.deepInclude(yield* started(id), { nodes: ["b"], version: 2 })
      assert.strictEqual((yield* publish(id)).number, 3)
      assert.deepInclude(yield* started(id), { nodes: ["a"], version: 3, revision: 3 })
      const missing = yield* Effect.flip(versions.restore(account, id, 9))
      assert.strictEqual(missing._tag, "VersionNotFound")
    }).pipe(at),
  )
})

describe("Versions.difference", () => {
  it.effect("compares a version with the draft, or with another version", () =>
    Effect.gen(function* () {
      const versions = yield* Versions
      const { id } = yield* save([node("a", "pass"), node("b", "pass")])
      yield* publish(id)
      yield* edit(id, node("a", "pass", { input: 1 }), node("c", "pass"))
      const { nodes } = yield* versions.difference(account, id, 1, "draft")
      assert.deepStrictEqual(nodes, {
        added: ["c"],
        removed: ["b"],
        changed: [{ id: "a", keys: ["data"], affectsRuns: true }],
      })
      yield* publish(id)
      assert.deepStrictEqual((yield* versions.difference(account, id, 1, 2)).nodes, nodes)
      const same = yield* versions.difference(account, id, 2, "draft")
      assert.deepStrictEqual(same.nodes, { added: [], removed: [], changed: [] })
      const missing = yield* Effect.flip(versions.difference(account, id, 1, 9))
      assert.strictEqual(missing._tag, "VersionNotFound")
    }).pipe(at),
  )
})
