// Credits over crashes: whatever goes wrong around a commit, the books add up in the end.
import { toNumber } from "@millrace/core/domain/Credits"
import { Runs } from "@millrace/core/engine/Runs"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { book, found, fund, known, spends } from "./TestCredits.ts"
import { faults, withFault } from "./TestCrashes.ts"
import { account, edge, save, shared } from "./TestEngine.ts"

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
            return yield* withFault(fault, index, known, lives)
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
