// What the commits of a run move: what was charged, what is held for it, and what is given back.
import { CurrentNode, NodeError } from "@millrace/core/engine/CurrentNode"
import { define } from "@millrace/core/engine/NodeDefinition"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { billOf } from "../../src/engine/internal/Billing.ts"
import { newRun } from "./PlayedRun.ts"
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

describe("a bill", () => {
  const stored = { ...newRun, revision: 4 }
  const bill = { charges: [], extra: 0, isFirst: false, isLast: false }

  it("gives back what is held although nothing was expected, and nothing was charged now", () => {
    const before = { ...stored, heldCredits: 5, actualCredits: 5 }
    const { entries, held } = billOf(before, { ...bill, isLast: true }, 9)
    assert.deepStrictEqual(entries, [{ kind: "void", part: "", posted: 0, reserved: -5, at: 9 }])
    assert.strictEqual(held, 0)
  })

  it("posts the smallest charge there is out of the smallest amount that is held", () => {
    const charges = [{ nodeId: "a", credits: 1 }]
    const { entries, held } = billOf({ ...stored, heldCredits: 1 }, { ...bill, charges }, 9)
    const post = { kind: "post" as const, part: "a#5", posted: -1, reserved: -1, at: 9 }
    assert.deepStrictEqual(entries, [post])
    assert.strictEqual(held, 0)
  })

  it("reserves nothing for a new run that is expected to cost nothing", () => {
    const charges = [{ nodeId: "a", credits: 1 }]
    const { entries } = billOf(newRun, { ...bill, charges, isFirst: true }, 9)
    assert.deepStrictEqual(
      entries.map(({ kind }) => kind),
      ["post"],
    )
  })
})
