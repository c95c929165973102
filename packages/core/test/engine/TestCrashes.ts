/**
 * What can go wrong around one commit of a run, for tests that try every commit.
 */
import { withoutWebhooks } from "@millrace/core/engine/Engine"
import { GraphCache } from "@millrace/core/engine/GraphCache"
import type { Executable } from "@millrace/core/engine/NodeTypes"
import { NodeTypes } from "@millrace/core/engine/NodeTypes"
import { Runner } from "@millrace/core/engine/Runner"
import { Runs } from "@millrace/core/engine/Runs"
import { Workflows } from "@millrace/core/engine/Workflows"
import { RunStore } from "@millrace/core/ports/RunStore"
import { StorageError } from "@millrace/core/ports/StorageError"
import { assert } from "@effect/vitest"
import { Effect, Layer } from "effect"
import type { Gates } from "./TestEngine.ts"

type Commit = RunStore["Service"]["commit"]
export type Fault = (commit: ReturnType<Commit>) => ReturnType<Commit>

const lost = new StorageError({ operation: "commit", cause: new Error("lost") })
const crash = Effect.die(new Error("crash"))

/** What goes wrong, by the words of a sentence. */
export const faults: { readonly [name: string]: Fault } = {
  "before a commit": () => crash,
  "after a commit": (commit) => Effect.andThen(commit, crash),
  "with a commit whose answer is lost": (commit) => Effect.andThen(commit, Effect.fail(lost)),
  "with a commit that does not arrive": () => Effect.fail(lost),
}

/** An engine whose commit of this number, from 1, goes wrong; fails if there is none. */
export const withFault = Effect.fnUntraced(function* <A, E, R>(
  fault: Fault,
  index: number,
  known: ReadonlyArray<Executable<Gates>>,
  work: Effect.Effect<A, E, R>,
) {
  let count = 0
  const good = yield* RunStore
  const commit: Commit = (given) =>
    ++count === index ? fault(good.commit(given)) : good.commit(given)
  const engine = Layer.mergeAll(Workflows.layer, Runs.layer).pipe(
    Layer.provide(withoutWebhooks()),
    Layer.provideMerge(Runner.layer),
    Layer.provide(GraphCache.layer),
    Layer.provide(NodeTypes.layer(...known)),
    Layer.provideMerge(Layer.succeed(RunStore, { ...good, commit })),
  )
  const result = yield* Effect.provide(work, engine)
  assert.isAtLeast(count, index)
  return result
})
