// A commit whose answer is lost: who finds it stored must be sure that it is its own.
import { RunId, RunnerId } from "@millrace/core/domain/Id"
import type { Message } from "@millrace/core/domain/Message"
import { InsufficientCredits } from "@millrace/core/ports/LedgerStore"
import type { RunCommit } from "@millrace/core/ports/RunStore"
import { RunNotifier } from "@millrace/core/engine/RunNotifier"
import { RunStore, StaleRun } from "@millrace/core/ports/RunStore"
import { StorageError } from "@millrace/core/ports/StorageError"
import { assert, describe, it } from "@effect/vitest"
import { Cause, Effect, Exit, Fiber, Layer, Option } from "effect"
import { TestClock } from "effect/testing"
import { commitDurably, commitStep } from "../../src/engine/internal/Commit.ts"
import type { Step } from "../../src/engine/internal/Step.ts"
import { account, boot, Gates, node, shared, start } from "./TestEngine.ts"

const lost = Effect.fail(new StorageError({ operation: "commit", cause: new Error("lost") }))

/** A run in progress, and the next commit of whoever owns it now. */
const scene = Effect.gen(function* () {
  const gates = yield* Gates
  const store = yield* RunStore
  const server = yield* boot()
  const { id } = yield* start([node("n", "gate")]).pipe(Effect.provideContext(server.context))
  yield* gates.untilArrived("n")
  const own = (runner: string) =>
    Effect.map(
      Effect.flatMap(store.takeOver(account, id, RunnerId.make(runner)), Effect.fromOption),
      ({ run }): RunCommit => ({
        expected: { _tag: "Existing", fence: run.fence, revision: run.revision },
        run: { ...run, revision: run.revision + 1 },
        nodeRuns: [],
        rewritten: [],
        events: [],
        deliveries: [],
      }),
    )
  const stored = Effect.map(store.find(account, id), (found) => Option.getOrThrow(found).run)
  return { own, server, store, stored }
})

/** The store, whose first commit is something else. */
const failingOnce = (
  store: RunStore["Service"],
  first: (commit: RunCommit) => Effect.Effect<never, StorageError>,
): RunStore["Service"] => {
  let count = 0
  return { ...store, commit: (commit) => (++count === 1 ? first(commit) : store.commit(commit)) }
}

describe("Commit.commitDurably", () => {
  it.effect("is done once when its answer is lost", () =>
    Effect.gen(function* () {
      const { own, server, store, stored } = yield* scene
      const commit = yield* own("exe_a")
      const unsure = failingOnce(store, (given) =>
        Effect.andThen(Effect.orDie(store.commit(given)), lost),
      )
      yield* commitDurably(unsure, commit)
      assert.strictEqual((yield* stored).revision, commit.run.revision)
      yield* server.stop
    }).pipe(Effect.provide(Layer.merge(shared(), RunNotifier.layer))),
  )

  it.effect("is refused when the answer is lost and another owner has written as many times", () =>
    Effect.gen(function* () {
      const { own, server, store, stored } = yield* scene
      const commit = yield* own("exe_a")
      const unsure = failingOnce(store, () =>
        Effect.gen(function* () {
          yield* store.commit(yield* own("exe_b"))
          return yield* lost
        }).pipe(
          Effect.catchTag(["NoSuchElementError", "StaleRun", "InsufficientCredits"], Effect.die),
        ),
      )
      const exit = yield* Effect.exit(commitDurably(unsure, commit))
      assert.strictEqual((yield* stored).revision, commit.run.revision)
      assert.strictEqual((yield* stored).owner, "exe_b")
      assert.isTrue(Exit.isFailure(exit))
      yield* server.stop
    }).pipe(Effect.provide(Layer.merge(shared(), RunNotifier.layer))),
  )

  it.effect("is refused when the answer is lost and a later owner has written nothing yet", () =>
    Effect.gen(function* () {
      const { own, server, store, stored } = yield* scene
      const commit = yield* own("exe_a")
      const unsure = failingOnce(store, () => lost)
      // The next owner's fence is another one, and so is the revision that it read.
      const { fence } = (yield* own("exe_b")).run
      const exit = yield* Effect.exit(
        commitDurably(unsure, { ...commit, run: { ...commit.run, fence } }),
      )
      assert.isTrue(Exit.isFailure(exit))
      assert.strictEqual((yield* stored).revision, commit.run.revision - 1)
      yield* server.stop
    }).pipe(Effect.provide(Layer.merge(shared(), RunNotifier.layer))),
  )
})

describe("Commit.commitDurably, while its store fails", () => {
  it.effect("tries again every few seconds without an end, and then tells of the commit", () =>
    Effect.gen(function* () {
      const { own, server, store } = yield* scene
      const notifier = yield* RunNotifier
      const commit = yield* own("exe_a")
      yield* server.stop
      let [tries, told] = [0, 0]
      yield* notifier.listen(commit.run.id, () => void told++)
      const failing: RunStore["Service"] = {
        ...store,
        commit: (given) => (++tries <= 60 ? lost : store.commit(given)),
      }
      const done = yield* Effect.forkChild(commitDurably(failing, commit))
      yield* TestClock.adjust("3 minutes")
      assert.isBelow(tries, 60)
      assert.isAbove(tries, 30)
      assert.strictEqual(told, 0)
      yield* TestClock.adjust("5 minutes")
      yield* Fiber.join(done)
      assert.deepStrictEqual([tries, told], [61, 1])
    }).pipe(Effect.scoped, Effect.provide(Layer.merge(shared(), RunNotifier.layer))),
  )

  it.effect("is refused at once when credits do not cover it, however often it failed before", () =>
    Effect.gen(function* () {
      const { own, server, store, stored } = yield* scene
      const commit = yield* own("exe_a")
      yield* server.stop
      const refusal = new InsufficientCredits({ required: 3, available: 1 })
      let tries = 0
      const failing: RunStore["Service"] = {
        ...store,
        commit: () => (++tries <= 2 ? lost : Effect.fail(refusal)),
      }
      const done = yield* Effect.forkChild(Effect.flip(commitDurably(failing, commit)))
      yield* TestClock.adjust("1 minute")
      assert.strictEqual(yield* Fiber.join(done), refusal)
      assert.strictEqual(tries, 3)
      assert.strictEqual((yield* stored).revision, commit.run.revision - 1)
    }).pipe(Effect.provide(Layer.merge(shared(), RunNotifier.layer))),
  )
})

describe("Commit.commitStep", () => {
  /** A step whose commit has seen so many messages, and what it is asked to decide once more on. */
  const stepOf = (commit: RunCommit, seen: number | undefined) => {
    const asked: Array<ReadonlyArray<number>> = []
    const unseen = (messages: ReadonlyArray<Message>): Step => {
      asked.push(messages.map(({ number }) => number))
      return { commit, started: [], stopped: [] }
    }
    return { asked, step: { commit: { ...commit, seen }, started: [], stopped: [], unseen } }
  }

  const sent = Effect.fnUntraced(function* (commit: RunCommit, count: number) {
    const store = yield* RunStore
    for (let n = 0; n < count; n++) {
      yield* store.send(account, commit.run.id, { id: `${n}`, name: "go", payload: n })
    }
  })

  it.effect("decides once more on the messages that it did not see, and stores that", () =>
    Effect.gen(function* () {
      const { own, server, store, stored } = yield* scene
      const commit = yield* own("exe_a")
      yield* sent(commit, 3)
      const { asked, step } = stepOf(commit, 1)
      const done = yield* commitStep(store, step)
      assert.deepStrictEqual(asked, [[2, 3]])
      assert.strictEqual(done.commit, commit)
      assert.strictEqual((yield* stored).revision, commit.run.revision)
      yield* server.stop
    }).pipe(Effect.provide(Layer.merge(shared(), RunNotifier.layer))),
  )

  it.effect("is told of once, also where its first try failed in the store", () =>
    Effect.gen(function* () {
      const { own, server, store } = yield* scene
      const notifier = yield* RunNotifier
      const commit = yield* own("exe_a")
      yield* server.stop
      let told = 0
      yield* notifier.listen(commit.run.id, () => void told++)
      const step: Step = { commit, started: [], stopped: [] }
      const failing = failingOnce(store, () => lost)
      const done = yield* Effect.forkChild(commitStep(failing, step))
      yield* TestClock.adjust("1 minute")
      assert.strictEqual(yield* Fiber.join(done), step)
      assert.strictEqual(told, 1)
    }).pipe(Effect.scoped, Effect.provide(Layer.merge(shared(), RunNotifier.layer))),
  )

  it.effect("is refused for any other reason, and then decides nothing more", () =>
    Effect.gen(function* () {
      const { own, server, store } = yield* scene
      const commit = yield* own("exe_a")
      yield* sent(commit, 2)
      const stale = new StaleRun({ runId: commit.run.id })
      const refusing = { ...store, commit: () => Effect.fail(stale) }
      const { fence, revision } = commit.run
      const before = revision - 1
      const cases: ReadonlyArray<readonly [number | undefined, RunCommit["expected"]]> = [
        // It saw them all, or no message makes a difference.
        [2, commit.expected],
        [undefined, commit.expected],
        // Somebody else has the run, or has written it.
        [0, { _tag: "Existing", fence: fence + 1, revision: before }],
        [0, { _tag: "Existing", fence, revision: before + 1 }],
        [0, { _tag: "New", definition: { id: "d", nodes: [], edges: [], settings: {} } }],
      ]
      for (const [seen, expected] of cases) {
        const { asked, step } = stepOf({ ...commit, expected }, seen)
        const error = yield* Effect.flip(commitStep(refusing, step))
        assert.deepStrictEqual([error, asked], [stale, []])
      }
      // There is no such run, whether the commit would have made it or not.
      const unknown = { ...commit, run: { ...commit.run, id: RunId.make("run_none") } }
      for (const [, expected] of [cases[0]!, cases[4]!]) {
        const { asked, step } = stepOf({ ...unknown, expected }, 0)
        assert.strictEqual((yield* Effect.flip(commitStep(refusing, step)))._tag, "StaleRun")
        assert.deepStrictEqual(asked, [])
      }
      // One that has no other way to decide is refused, too.
      const { unseen: _, ...only } = stepOf(commit, 0).step
      assert.strictEqual((yield* Effect.flip(commitStep(refusing, only)))._tag, "StaleRun")
      yield* server.stop
    }).pipe(Effect.provide(Layer.merge(shared(), RunNotifier.layer))),
  )

  it.effect("is refused once the messages that it did not see have expired", () =>
    Effect.gen(function* () {
      const { own, server, store } = yield* scene
      const commit = yield* own("exe_a")
      yield* server.stop
      yield* sent(commit, 2)
      yield* TestClock.adjust("8 days")
      const { asked, step } = stepOf(commit, 0)
      assert.strictEqual((yield* Effect.flip(commitStep(store, step)))._tag, "StaleRun")
      assert.deepStrictEqual(asked, [])
    }).pipe(Effect.provide(Layer.merge(shared(), RunNotifier.layer))),
  )

  it.effect("stores its alternative where credits do not cover it, and needs one", () =>
    Effect.gen(function* () {
      const { own, server, store, stored } = yield* scene
      const commit = yield* own("exe_a")
      const refusal = new InsufficientCredits({ required: 3, available: 1 })
      const poor: RunStore["Service"] = {
        ...store,
        commit: (given) => (given === commit ? Effect.fail(refusal) : store.commit(given)),
      }
      const told: Array<InsufficientCredits> = []
      const instead: Step = { commit: { ...commit }, started: [], stopped: [] }
      const step: Step = {
        commit,
        started: [],
        stopped: [],
        otherwise: (why) => {
          told.push(why)
          return instead
        },
      }
      assert.strictEqual(yield* commitStep(poor, step), instead)
      assert.deepStrictEqual(told, [refusal])
      assert.strictEqual((yield* stored).revision, commit.run.revision)
      const { otherwise: _, ...only } = step
      const exit = yield* Effect.exit(commitStep(poor, only))
      assert.isTrue(Exit.isFailure(exit) && Cause.squash(exit.cause) === refusal)
      yield* server.stop
    }).pipe(Effect.provide(Layer.merge(shared(), RunNotifier.layer))),
  )
})
