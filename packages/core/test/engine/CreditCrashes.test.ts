// Credits over crashes: whatever goes wrong around a commit, the books add up in the end.
import { toNumber } from "@millrace/core/domain/Credits"
import { CurrentNode } from "@millrace/core/engine/CurrentNode"
import { define } from "@millrace/core/engine/NodeDefinition"
import { Runs } from "@millrace/core/engine/Runs"
import { RunStore } from "@millrace/core/ports/RunStore"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { book, found, fund, known, spends } from "./TestCredits.ts"
import { type Fault, faults, withFault } from "./TestCrashes.ts"
import { account, edge, Gates, node, save, shared } from "./TestEngine.ts"

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

/** Charges 3 and waits for a message, each time behind a gate. */
const paidOnce = define({
  key: "paidOnce",
  inputs: {},
  outputs: {},
  run: Effect.fnUntraced(function* () {
    const { charge, resumed, suspend } = yield* CurrentNode
    const gates = yield* Gates
    if (resumed !== undefined) yield* gates.pass("end")
    yield* charge(3)
    yield* gates.pass("suspend")
    return yield* suspend({ for: "go" }, null)
  }),
})

/** Cancels a run while the commit is stored, and not yet answered, that ends a node's wait. */
const canceledMeanwhile = Effect.gen(function* () {
  const saved = yield* save([node("a", "paidOnce")])
  const [gates, runs, store] = [yield* Gates, yield* Runs, yield* RunStore]
  const { id } = yield* runs.start(account, { workflowId: saved.id })
  yield* gates.untilArrived("suspend")
  yield* store.send(account, id, { id: "m1", name: "go", payload: null })
  yield* gates.open("suspend")
  yield* TestClock.adjust(500)
  const canceled = yield* runs.cancel(account, id)
  yield* TestClock.adjust("1 minute")
  return toNumber(canceled.actualCredits)
})

describe("Runs.cancel", () => {
  for (const index of [2, 3]) {
    it.effect(`charges once what an attempt has charged whose end is being stored: ${index}`, () =>
      Effect.gen(function* () {
        yield* fund(100)
        const slowly: Fault = (commit) => Effect.tap(commit, () => Effect.sleep("1 second"))
        const credits = yield* withFault(slowly, index, [...known, paidOnce], canceledMeanwhile)
        assert.strictEqual(credits, 3)
        assert.strictEqual((yield* book).posted, 97)
      }).pipe(Effect.provide(shared())),
    )
  }
})
