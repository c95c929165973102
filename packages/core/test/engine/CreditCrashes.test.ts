// Credits over crashes: whatever goes wrong around a commit, the books add up in the end.
import { toNumber } from "@millrace/core/domain/Credits"
import { GraphCache } from "@millrace/core/engine/GraphCache"
import { NodeTypes } from "@millrace/core/engine/NodeTypes"
import { Runner } from "@millrace/core/engine/Runner"
import { Runs } from "@millrace/core/engine/Runs"
import { Workflows } from "@millrace/core/engine/Workflows"
import { RunStore } from "@millrace/core/ports/RunStore"
import { StorageError } from "@millrace/core/ports/StorageError"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { TestClock } from "effect/testing"
import { book, found, fund, known, spends } from "./TestCredits.ts"
import { account, edge, save, shared } from "./TestEngine.ts"

type Commit = RunStore["Service"]["commit"]

const lost = new StorageError({ operation: "commit", cause: new Error("lost") })
const crash = Effect.die(new Error("crash"))

/** What can go wrong around a commit. */
const faults: { readonly [name: string]: (commit: ReturnType<Commit>) => ReturnType<Commit> } = {
  "before a commit": () => crash,
  "after a commit": (commit) => Effect.andThen(commit, crash),
  "with a commit whose answer is lost": (commit) => Effect.andThen(commit, Effect.fail(lost)),
  "with a commit that does not arrive": () => Effect.fail(lost),
}

/** An engine over a store whose commits are something else. */
const engineOver = (store: RunStore["Service"]) =>
  Layer.mergeAll(Workflows.layer, Runs.layer).pipe(
    Layer.provideMerge(Runner.layer),
    Layer.provide(GraphCache.layer),
    Layer.provide(NodeTypes.layer(...known)),
    Layer.provide(Layer.succeed(RunStore, store)),
  )

const lives = Effect.gen(function* () {
  const nodes = [
    spends("a", 2, { charges: [3] }),
    spends("b", 3),
    spends("c", 1, { charges: [0.5], fails: true }),
    spends("d", 4),
  ]
  const saved = yield* save(nodes, [edge("a", "b"), edge("a", "c"), edge("b", "d")])
  const runs = yield* Runs
  const { id } = yield* runs.start(account, { workflowId: saved.id })
  yield* TestClock.adjust("2 minutes")
  const { run: ended } = yield* found(id)
  const { posted, reserved } = yield* book
  return { status: ended.status, actual: toNumber(ended.actualCredits), posted, reserved }
})

describe("A crash", () => {
  for (const [name, fault] of Object.entries(faults)) {
    it.effect(`${name} makes and loses no credits, whichever commit it is`, () =>
      Effect.gen(function* () {
        for (let index = 2; index <= 4; index++) {
          const ended = yield* Effect.gen(function* () {
            yield* fund(100)
            let count = 0
            const good = yield* RunStore
            const commit: Commit = (given) =>
              ++count === index ? fault(good.commit(given)) : good.commit(given)
            const result = yield* Effect.provide(lives, engineOver({ ...good, commit }))
            assert.isAtLeast(count, index)
            return result
          }).pipe(Effect.provide(shared()))
          assert.deepStrictEqual(ended, {
            status: "FAILED",
            actual: 10.5,
            posted: 89.5,
            reserved: 0,
          })
        }
      }),
    )
  }
})
