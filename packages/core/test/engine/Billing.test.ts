// What a node costs that is tried again: what its attempts have charged, and never its estimate
// besides.
import { CurrentNode, NodeError } from "@millrace/core/engine/CurrentNode"
import { define } from "@millrace/core/engine/NodeDefinition"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { book, fund, known } from "./TestCredits.ts"
import { byNode, engine, nodeWith, run } from "./TestEngine.ts"

/** Is estimated at five credits; charges three, fails, and succeeds at its second attempt. */
const again = define({
  key: "again",
  inputs: {},
  outputs: {},
  credits: 5,
  run: Effect.fnUntraced(function* () {
    const { attempt, charge } = yield* CurrentNode
    if (attempt > 1) return {}
    yield* charge(3)
    return yield* new NodeError({ message: "once more" })
  }),
})

describe("a node that is tried again", () => {
  it.effect("costs what it has charged, and sets nothing aside for a second time", () =>
    Effect.gen(function* () {
      yield* fund(5)
      const retry = { attempts: 2, initial: "1 second", jitter: 0 }
      const waiting = yield* Effect.forkChild(run([nodeWith("n", "again", {}, { retry })]))
      yield* TestClock.adjust("1 minute")
      const record = yield* Fiber.join(waiting)
      assert.strictEqual(record.run.status, "COMPLETED")
      assert.strictEqual(byNode(record)["n"]?.credits, 3_000_000)
      const { posted, reserved, told } = yield* book
      assert.deepStrictEqual({ posted, reserved }, { posted: 2, reserved: 0 })
      assert.deepStrictEqual(told, ["reserve 5", "post n 3", "void 2"])
    }).pipe(Effect.provide(engine([...known, again]))),
  )
})
