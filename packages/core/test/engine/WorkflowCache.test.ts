// Workflows that a process keeps: a start need not read them, and never goes by an old one.
import { assert, describe, it } from "@effect/vitest"
import { AccountId, WorkflowId } from "@millrace/core/domain/Id"
import { CurrentLimits, defaultLimits, workflowsCached } from "@millrace/core/domain/Limits"
import type { Node, Workflow } from "@millrace/core/domain/Workflow"
import { WorkflowCache } from "../../src/engine/internal/WorkflowCache.ts"
import type { StartRequest } from "@millrace/core/engine/Runs"
import { NodeTypeSet } from "@millrace/core/engine/NodeTypes"
import { Runs } from "@millrace/core/engine/Runs"
import { Workflows } from "@millrace/core/engine/Workflows"
import { RunStore } from "@millrace/core/ports/RunStore"
import { StorageError } from "@millrace/core/ports/StorageError"
import { Vault } from "@millrace/core/ports/Vault"
import { WebhookTargets } from "@millrace/core/ports/WebhookTargets"
import { WorkflowStore } from "@millrace/core/ports/WorkflowStore"
import { Context, Effect, Layer } from "effect"
import { fund, known, spends } from "./TestCredits.ts"
import { account, boot, node, save, shared } from "./TestEngine.ts"

const stranger = AccountId.make("acc_stranger")

const drawn = (id: string, change?: Partial<Workflow>): Workflow => ({
  id: WorkflowId.make(id),
  accountId: account,
  name: "Test",
  description: null,
  thumbnailUrl: null,
  nodes: [],
  edges: [],
  settings: {},
  revision: 1,
  createdAt: 0,
  updatedAt: 0,
  ...change,
})

describe("WorkflowCache", () => {
  it("gives an account its own and nobody else's", () => {
    const kept = new WorkflowCache()
    const workflow = drawn("wf")
    kept.keep(workflow)
    assert.strictEqual(kept.find(account, workflow.id)?.workflow, workflow)
    assert.isUndefined(kept.find(stranger, workflow.id))
    assert.isUndefined(kept.find(account, WorkflowId.make("wf_other")))
  })

  it("keeps the latest of a workflow, and drops what it is told to and nothing newer", () => {
    const kept = new WorkflowCache()
    const [old, now] = [drawn("wf"), drawn("wf", { revision: 2 })]
    kept.keep(old)
    const older = kept.find(account, old.id)!
    kept.keep(now)
    kept.drop(older)
    const newer = kept.find(account, now.id)!
    assert.strictEqual(newer.workflow, now)
    kept.drop(newer)
    assert.isUndefined(kept.find(account, now.id))
  })

  it("forgets those unused for longest when there are too many, and keeps what is used", () => {
    const kept = new WorkflowCache()
    const used = drawn("used")
    kept.keep(used)
    const all = Array.from({ length: 2 * workflowsCached }, (_, n) => drawn(`wf_${n}`))
    for (const workflow of all) {
      kept.keep(workflow)
      assert.strictEqual(kept.find(account, used.id)?.workflow, used)
    }
    assert.isUndefined(kept.find(account, all[0]!.id))
    assert.strictEqual(kept.find(account, all.at(-1)!.id)?.workflow, all.at(-1))
  })
})

type Process = Effect.Success<ReturnType<typeof boot>>

const startOn = (process: Process, workflowId: WorkflowId, more?: Partial<StartRequest>) =>
  Context.get(process.context, Runs).start(account, { workflowId, ...more })

const saveOn = (process: Process, ...nodes: ReadonlyArray<Node>) =>
  Effect.map(Effect.provideContext(save(nodes), process.context), ({ id }) => id)

const changeOn = (process: Process, id: WorkflowId, ...nodes: ReadonlyArray<Node>) =>
  Context.get(process.context, Workflows).update(account, id, { nodes })

/** Two processes on one store; the first has started what it then may have kept. */
const two = Effect.fnUntraced(function* (nodes: ReadonlyArray<Node>, more?: Partial<StartRequest>) {
  const [here, there] = [yield* boot(known), yield* boot(known)]
  const id = yield* saveOn(here, ...nodes)
  yield* startOn(here, id, more)
  return { here, there, id }
})

const countOf = RunStore.use((store) =>
  Effect.map(store.list({ account, limit: 100 }), ({ items }) => items.length),
)

describe("Runs.start of a workflow that was started before", () => {
  it.effect("does not read it again", () =>
    Effect.gen(function* () {
      const store = yield* WorkflowStore
      let reads = 0
      const counting = WorkflowStore.of({
        ...store,
        findCurrent: (...of) =>
          Effect.andThen(
            Effect.sync(() => reads++),
            store.findCurrent(...of),
          ),
      })
      const here = yield* Effect.provideService(boot(), WorkflowStore, counting)
      const id = yield* saveOn(here, node("a", "pass"))
      for (let n = 0; n < 5; n++) yield* startOn(here, id)
      assert.strictEqual(reads, 1)
      assert.strictEqual(yield* countOf, 5)
    }).pipe(Effect.provide(shared())),
  )

  it.effect("starts what another process has made of it", () =>
    Effect.gen(function* () {
      const { here, id, there } = yield* two([node("a", "pass")])
      for (let revision = 2; revision < 5; revision++) {
        yield* changeOn(there, id, node(`of_${revision}`, "pass"))
        for (const process of [here, here, there]) {
          const run = yield* startOn(process, id)
          assert.strictEqual(run.workflowRevision, revision)
          const record = yield* Context.get(process.context, Runs).wait(account, run.id)
          assert.deepStrictEqual(
            record.definition.nodes.map((each) => each.id),
            [`of_${revision}`],
          )
        }
      }
    }).pipe(Effect.provide(shared())),
  )

  it.effect("does not know it any more once another process has deleted it", () =>
    Effect.gen(function* () {
      const { here, id, there } = yield* two([node("a", "pass")])
      yield* Context.get(there.context, Workflows).remove(account, id)
      for (let n = 0; n < 2; n++) {
        assert.strictEqual((yield* Effect.flip(startOn(here, id)))._tag, "WorkflowNotFound")
      }
      // What stands against the start otherwise comes after that.
      const wrong = startOn(here, id, { nodeOverrides: [node("b", "nonsense")] })
      assert.strictEqual((yield* Effect.flip(wrong))._tag, "WorkflowNotFound")
      assert.strictEqual(yield* countOf, 1)
    }).pipe(Effect.provide(shared())),
  )

  it.effect("tries once to start what is gone, and from then on looks first", () =>
    Effect.gen(function* () {
      const store = yield* RunStore
      let commits = 0
      const counting = RunStore.of({
        ...store,
        commit: (commit) =>
          Effect.andThen(
            Effect.sync(() => commits++),
            store.commit(commit),
          ),
      })
      const here = yield* Effect.provideService(boot(), RunStore, counting)
      const id = yield* saveOn(here, node("a", "gate"))
      yield* startOn(here, id)
      yield* Context.get(here.context, Workflows).remove(account, id)
      commits = 0
      for (let n = 0; n < 3; n++) yield* Effect.flip(startOn(here, id))
      assert.strictEqual(commits, 1)
    }).pipe(Effect.provide(shared())),
  )

  it.effect("does not know it for another account", () =>
    Effect.gen(function* () {
      const { here, id } = yield* two([node("a", "pass")])
      const foreign = Context.get(here.context, Runs).start(stranger, { workflowId: id })
      assert.strictEqual((yield* Effect.flip(foreign))._tag, "WorkflowNotFound")
    }).pipe(Effect.provide(shared())),
  )

  it.effect("starts it when another process has mended what stood against that", () =>
    Effect.gen(function* () {
      const mended = { nodeOverrides: [node("a", "pass")] }
      const { here, id, there } = yield* two([node("a", "nonsense")], mended)
      assert.strictEqual((yield* Effect.flip(startOn(here, id)))._tag, "InvalidGraph")
      yield* startOn(here, id, mended)
      yield* changeOn(there, id, node("a", "pass"))
      assert.strictEqual((yield* startOn(here, id)).workflowRevision, 2)
    }).pipe(Effect.provide(shared())),
  )

  it.effect("starts it when another process has made it cheap enough", () =>
    Effect.gen(function* () {
      const { here, id, there } = yield* two([spends("a", 5)])
      const maxCredits = 3e6
      const tooDear = yield* Effect.flip(startOn(here, id, { maxCredits }))
      assert.strictEqual(tooDear._tag, "BeyondMaxCredits")
      yield* startOn(here, id)
      yield* changeOn(there, id, spends("a", 2))
      const run = yield* startOn(here, id, { maxCredits })
      assert.strictEqual(run.estimatedCredits, 2e6)
      // It owes what three runs have cost by now.
      yield* fund(15)
      yield* changeOn(there, id, spends("a", 4))
      const uncovered = yield* Effect.flip(startOn(here, id))
      assert.strictEqual(uncovered._tag, "InsufficientCredits")
      yield* changeOn(there, id, spends("a", 1))
      assert.strictEqual((yield* startOn(here, id)).estimatedCredits, 1e6)
    }).pipe(Effect.provide(shared())),
  )

  it.effect("queues it as it is now where there is no room", () =>
    Effect.gen(function* () {
      const { here, id, there } = yield* two([node("a", "pass")])
      yield* changeOn(there, id, node("b", "pass"))
      const run = yield* startOn(here, id)
      assert.strictEqual(run.status, "QUEUED")
      assert.strictEqual(run.workflowRevision, 2)
      assert.strictEqual((yield* startOn(here, id)).workflowRevision, 2)
      yield* Context.get(there.context, Workflows).remove(account, id)
      assert.strictEqual((yield* Effect.flip(startOn(here, id)))._tag, "WorkflowNotFound")
    }).pipe(
      Effect.provideService(CurrentLimits, { ...defaultLimits, runsPerAccount: 1 }),
      Effect.provide(shared()),
    ),
  )

  it.effect("admits a webhook once, also where the workflow has changed", () => {
    const url = "https://receiver.example/hook"
    const asked: Array<string> = []
    const targets = Layer.succeed(WebhookTargets, {
      accept: (target) =>
        Effect.sync(() => {
          asked.push(target.url)
          return { url: target.url, origin: "https://receiver.example" }
        }),
    })
    return Effect.gen(function* () {
      const here = yield* boot(known, Layer.merge(Vault.layerClosed, targets))
      const there = yield* boot(known)
      const id = yield* saveOn(here, node("a", "pass"))
      yield* startOn(here, id)
      yield* changeOn(there, id, node("b", "pass"))
      const run = yield* startOn(here, id, { webhook: { url } })
      assert.strictEqual(run.workflowRevision, 2)
      assert.strictEqual(run.webhook?.url, url)
      assert.deepStrictEqual(asked, [url])
    }).pipe(Effect.provide(shared()))
  })

  it.effect("takes the values of each start, and refuses those that do not fit", () => {
    const request = node("r", "request", {
      fields: [{ name: "order", type: "string", required: false }],
    })
    return Effect.gen(function* () {
      const here = yield* boot(known)
      const id = yield* saveOn(here, request)
      for (const order of ["first", "second", "third"]) {
        const run = yield* startOn(here, id, { values: { order } })
        assert.deepStrictEqual(run.values, { order })
      }
      assert.deepStrictEqual((yield* startOn(here, id)).values, {})
      const wrong = yield* Effect.flip(startOn(here, id, { values: { order: 4 } }))
      assert.strictEqual(wrong._tag, "InvalidGraph")
      assert.strictEqual(yield* countOf, 4)
    }).pipe(Effect.provide(shared()))
  })

  it.effect("takes what one start lays over it for that start alone", () =>
    Effect.gen(function* () {
      const here = yield* boot(known)
      const id = yield* saveOn(here, spends("a", 1))
      const costs = [undefined, undefined, 3, undefined, 2, undefined]
      for (const price of costs) {
        const more = price === undefined ? {} : { graphInputOverrides: { a: { price } } }
        const run = yield* startOn(here, id, more)
        assert.strictEqual(run.estimatedCredits, (price ?? 1) * 1e6)
        assert.deepStrictEqual(run.inputOverrides, more.graphInputOverrides ?? {})
      }
      const startAt = Number.MAX_SAFE_INTEGER
      const late = yield* Effect.flip(startOn(here, id, { startAt }))
      assert.strictEqual(late._tag, "InvalidGraph")
      const pinned = { pinnedOutputs: { a: { output: "pinned" } } }
      assert.strictEqual((yield* startOn(here, id, pinned)).estimatedCredits, 0)
      assert.strictEqual((yield* startOn(here, id)).estimatedCredits, 1e6)
    }).pipe(Effect.provide(shared())),
  )

  it.effect("plans it anew once the node types were replaced", () => {
    const types = new NodeTypeSet(known)
    return Effect.gen(function* () {
      const here = yield* boot(types)
      const id = yield* saveOn(here, spends("a", 1))
      for (let n = 0; n < 2; n++) yield* startOn(here, id)
      types.replace(known.filter(({ type }) => type.key !== "spend"))
      assert.strictEqual((yield* Effect.flip(startOn(here, id)))._tag, "InvalidGraph")
      types.replace(known)
      assert.strictEqual((yield* startOn(here, id)).estimatedCredits, 1e6)
    }).pipe(Effect.provide(shared()))
  })

  it.effect("tells of a store that failed, and starts nothing for a second time", () =>
    Effect.gen(function* () {
      const store = yield* RunStore
      let commits = 0
      let isDown = false
      const down = new StorageError({ operation: "commit", cause: new Error("down") })
      const failing = RunStore.of({
        ...store,
        commit: (commit) =>
          Effect.suspend(() => {
            commits += 1
            return isDown ? Effect.andThen(store.commit(commit), down) : store.commit(commit)
          }),
      })
      const here = yield* Effect.provideService(boot(), RunStore, failing)
      const id = yield* saveOn(here, node("a", "gate"))
      yield* startOn(here, id)
      isDown = true
      commits = 0
      assert.strictEqual((yield* Effect.flip(startOn(here, id)))._tag, "StorageError")
      assert.strictEqual(commits, 1)
    }).pipe(Effect.provide(shared())),
  )
})

describe("Runs.startOnce of a workflow that was started before", () => {
  const idempotencyKey = { key: "k", bodyHash: "same" }
  const onceOn = (process: Process, workflowId: WorkflowId) =>
    Context.get(process.context, Runs).startOnce(account, { workflowId }, idempotencyKey)

  it.effect("answers with the run that has the name, whatever became of the workflow", () =>
    Effect.gen(function* () {
      const { here, id, there } = yield* two([node("a", "pass")])
      yield* changeOn(there, id, node("b", "pass"))
      const first = yield* onceOn(here, id)
      assert.isFalse(first.isReplay)
      const again = { runId: first.runId, isReplay: true }
      assert.deepStrictEqual(yield* onceOn(here, id), again)
      yield* Context.get(there.context, Workflows).remove(account, id)
      assert.deepStrictEqual(yield* onceOn(here, id), again)
      assert.deepStrictEqual(yield* onceOn(there, id), again)
    }).pipe(Effect.provide(shared())),
  )

  it.effect("answers with the run that was made meanwhile, though the workflow is gone since", () =>
    Effect.gen(function* () {
      const store = yield* RunStore
      const there = yield* boot(known)
      const id = yield* saveOn(there, node("a", "pass"))
      let meanwhile: Effect.Effect<unknown, unknown> = Effect.void
      const slow = RunStore.of({
        ...store,
        commit: (commit) =>
          Effect.suspend(() => {
            const first = meanwhile
            meanwhile = Effect.void
            return Effect.andThen(Effect.orDie(first), store.commit(commit))
          }),
      })
      const here = yield* Effect.provideService(boot(known), RunStore, slow)
      yield* startOn(here, id)
      meanwhile = Effect.andThen(
        onceOn(there, id),
        Context.get(there.context, Workflows).remove(account, id),
      )
      const before = yield* countOf
      assert.isTrue((yield* onceOn(here, id)).isReplay)
      assert.strictEqual(yield* countOf, before + 1)
    }).pipe(Effect.provide(shared())),
  )

  it.effect("starts one run for many callers at once, of the workflow as it is now", () =>
    Effect.gen(function* () {
      const { here, id, there } = yield* two([node("a", "pass")])
      yield* startOn(there, id)
      const before = yield* countOf
      yield* changeOn(there, id, node("b", "pass"))
      const all = yield* Effect.forEach(
        Array.from({ length: 200 }, (_, n) => (n % 2 === 0 ? here : there)),
        (process) => onceOn(process, id),
        { concurrency: "unbounded" },
      )
      assert.strictEqual(new Set(all.map(({ runId }) => runId)).size, 1)
      assert.strictEqual(all.filter(({ isReplay }) => !isReplay).length, 1)
      assert.strictEqual(yield* countOf, before + 1)
      const record = yield* RunStore.use((store) => store.find(account, all[0]!.runId))
      assert.strictEqual((yield* Effect.fromOption(record)).run.workflowRevision, 2)
    }).pipe(Effect.provide(shared())),
  )

  it.effect("takes no name where the workflow is gone", () =>
    Effect.gen(function* () {
      const { here, id, there } = yield* two([node("a", "pass")])
      yield* Context.get(there.context, Workflows).remove(account, id)
      assert.strictEqual((yield* Effect.flip(onceOn(here, id)))._tag, "WorkflowNotFound")
      const other = yield* saveOn(there, node("a", "pass"))
      assert.isFalse((yield* onceOn(here, other)).isReplay)
    }).pipe(Effect.provide(shared())),
  )
})
