// A commit whose answer is lost: who finds it stored must be sure that it is its own.
import { RunnerId } from "@millrace/core/domain/Id"
import type { RunCommit } from "@millrace/core/ports/RunStore"
import { RunNotifier } from "@millrace/core/engine/RunNotifier"
import { RunStore } from "@millrace/core/ports/RunStore"
import { StorageError } from "@millrace/core/ports/StorageError"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Layer, Option } from "effect"
import { commitDurably } from "../../src/engine/internal/Commit.ts"
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
