// The slots of a process: no account takes more than its share, so that others find some free.
import { AccountId } from "@millrace/core/domain/Id"
import { CurrentLimits, defaultLimits } from "@millrace/core/domain/Limits"
import { Runs } from "@millrace/core/engine/Runs"
import { shareOf, Slots } from "../../src/engine/internal/Slots.ts"
import { Workflows } from "@millrace/core/engine/Workflows"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { engine, Gates, node } from "./TestEngine.ts"

const content = (id: string) => ({
  name: id,
  description: null,
  thumbnailUrl: null,
  nodes: [node(id, "gate")],
  edges: [],
})

/** A start of an account, of a node that waits at a gate of this name. */
const start = Effect.fnUntraced(function* (account: string, id: string) {
  const accountId = AccountId.make(account)
  const workflows = yield* Workflows
  const runs = yield* Runs
  const { id: workflowId } = yield* workflows.create(accountId, content(id))
  return yield* runs.start(accountId, { workflowId })
})

const four = { ...defaultLimits, runsAtOnce: 4, runsPerAccountPercent: 50 }

describe("Runs.start", () => {
  it.effect("leaves slots free for other accounts, however many starts of one come at once", () =>
    Effect.gen(function* () {
      const gates = yield* Gates
      const names = ["a0", "a1", "a2", "a3", "a4", "a5"]
      const many = yield* Effect.forEach(names, (name) => start("acc_a", name), {
        concurrency: "unbounded",
      })
      assert.strictEqual(many.filter(({ owner }) => owner !== null).length, 2)
      // What is queued stays so, though there are slots.
      yield* TestClock.adjust("5 seconds")
      assert.strictEqual(gates.arrived.length, 2)
      const other = yield* start("acc_b", "b0")
      assert.isNotNull(other.owner)
      yield* gates.untilArrived("b0")
      // A slot of the account goes to its own queue.
      yield* gates.open(gates.arrived[0]!)
      yield* TestClock.adjust("1 second")
      assert.strictEqual(gates.arrived.filter((name) => name.startsWith("a")).length, 3)
      yield* Effect.forEach([...names, "b0"], (name) => gates.open(name))
      yield* TestClock.adjust("5 seconds")
      assert.strictEqual(gates.arrived.length, 7)
    }).pipe(Effect.provide(engine()), Effect.provideService(CurrentLimits, four)),
  )
})

describe("Slots", () => {
  it("have room for nobody once all are taken, whoever has them", () => {
    const slots = new Slots({ runsAtOnce: 2, runsPerAccountPercent: 100 })
    const [a, b] = [AccountId.make("acc_a"), AccountId.make("acc_b")]
    for (const account of [a, b]) slots.take(account)
    assert.strictEqual(slots.free, 0)
    assert.isFalse(slots.hasRoomFor(AccountId.make("acc_c")))
    slots.give(b)
    assert.isTrue(slots.hasRoomFor(AccountId.make("acc_c")))
  })

  it("gives an account its percentage, at least one slot, and no more than there are", () => {
    const shares = [
      [1_000, 75],
      [4, 75],
      [2, 75],
      [1, 1],
      [10, 100],
      [10, 250],
    ].map(([runsAtOnce = 0, runsPerAccountPercent = 0]) =>
      shareOf({ runsAtOnce, runsPerAccountPercent }),
    )
    assert.deepStrictEqual(shares, [750, 3, 2, 1, 10, 10])
  })

  it("tells a claim of the accounts that it could give too much only", () => {
    const slots = new Slots({ runsAtOnce: 10, runsPerAccountPercent: 50 })
    const [a, b] = [AccountId.make("acc_a"), AccountId.make("acc_b")]
    for (let n = 0; n < 4; n++) slots.take(a)
    slots.take(b)
    assert.deepStrictEqual(slots.roomsFor(3), {
      roomPerAccount: undefined,
      rooms: new Map([[a, 1]]),
    })
    assert.deepStrictEqual(slots.roomsFor(9).roomPerAccount, 5)
    assert.deepStrictEqual(slots.roomsFor(5), {
      roomPerAccount: undefined,
      rooms: new Map([
        [a, 1],
        [b, 4],
      ]),
    })
    assert.deepStrictEqual(slots.roomsFor(4).rooms, new Map([[a, 1]]))
    assert.strictEqual(slots.roomsFor(6).roomPerAccount, 5)
    slots.take(a)
    assert.deepStrictEqual([slots.hasRoomFor(a), slots.hasRoomFor(b)], [false, true])
    // A run that this process owns must be executed, whether there is room or not.
    slots.take(a)
    assert.deepStrictEqual(slots.roomsFor(1).rooms, new Map([[a, 0]]))
    slots.give(a)
    for (let n = 0; n < 5; n++) slots.give(a)
    assert.deepStrictEqual(slots.roomsFor(4).rooms, new Map())
    assert.strictEqual(slots.free, 9)
  })
})
