// The slots of a process: no account takes more than its share, so that others find some free.
import { AccountId } from "@millrace/core/domain/Id"
import { CurrentLimits, defaultLimits } from "@millrace/core/domain/Limits"
import { Runs, type StartRequest } from "@millrace/core/engine/Runs"
import { reservedOf, shareOf, Slots } from "../../src/engine/internal/Slots.ts"
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
const start = Effect.fnUntraced(function* (
  account: string,
  id: string,
  more: Partial<StartRequest> = {},
) {
  const accountId = AccountId.make(account)
  const workflows = yield* Workflows
  const runs = yield* Runs
  const { id: workflowId } = yield* workflows.create(accountId, content(id))
  return yield* runs.start(accountId, { workflowId, ...more })
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

const twenty = { ...defaultLimits, runsAtOnce: 20 }

describe("A process whose ordinary slots are full of calls that do not end", () => {
  it.effect("starts the run of an account that has none, and claims one that waits", () =>
    Effect.gen(function* () {
      const gates = yield* Gates
      for (const account of ["a", "b", "c"]) {
        for (let n = 0; n < 20; n++) yield* start(`acc_${account}`, `${account}${n}`)
      }
      yield* TestClock.adjust("5 seconds")
      const arrived = (account: string) => gates.arrived.filter((each) => each.startsWith(account))
      // The third has one of the kept slots, as everybody may.
      assert.deepStrictEqual(
        [arrived("a"), arrived("b"), arrived("c")].map(({ length }) => length),
        [15, 3, 1],
      )
      const later = yield* start("acc_d", "d", { startAt: 8_000 })
      assert.strictEqual(later.status, "QUEUED")
      yield* TestClock.adjust("5 seconds")
      assert.deepStrictEqual(arrived("d"), ["d"])
      // All slots are taken; whoever comes now waits for one, and then has it first.
      assert.isNull((yield* start("acc_e", "e")).owner)
      yield* gates.open("d")
      yield* TestClock.adjust("2 seconds")
      assert.deepStrictEqual(arrived("e"), ["e"])
      yield* gates.open("e")
      yield* TestClock.adjust("2 seconds")
      const quiet = yield* start("acc_f", "f")
      assert.isNotNull(quiet.owner)
      yield* gates.untilArrived("f")
      for (const account of ["a", "b", "c", "f"]) {
        for (let n = 0; n < 20; n++) yield* gates.open(`${account}${n}`)
      }
      yield* gates.open("f")
      yield* TestClock.adjust("60 seconds")
      assert.strictEqual(gates.arrived.length, 63)
    }).pipe(Effect.provide(engine()), Effect.provideService(CurrentLimits, twenty)),
  )
})

describe("Slots", () => {
  it("have room for nobody once all are taken, whoever has them", () => {
    const slots = new Slots({ runsAtOnce: 2, runsPerAccountPercent: 100, slotsKeptPercent: 10 })
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

  it("keep a percentage, rounded down, and no more than one account's share leaves", () => {
    const kept = [
      [1_000, 75, 10],
      [19, 75, 10],
      [9, 75, 10],
      [10, 95, 50],
      [10, 100, 10],
      [10, 250, 10],
      [10, 50, 0],
      [4, 50, 900],
    ].map(([runsAtOnce = 0, runsPerAccountPercent = 0, slotsKeptPercent = 0]) =>
      reservedOf({ runsAtOnce, runsPerAccountPercent, slotsKeptPercent }),
    )
    assert.deepStrictEqual(kept, [100, 1, 0, 0, 0, 0, 0, 2])
  })

  it("give the kept ones to accounts that have none, one each", () => {
    const slots = new Slots({ runsAtOnce: 6, runsPerAccountPercent: 50, slotsKeptPercent: 34 })
    const [a, b, c] = ["acc_a", "acc_b", "acc_c"].map((id) => AccountId.make(id)) as [
      AccountId,
      AccountId,
      AccountId,
    ]
    for (let n = 0; n < 3; n++) slots.take(a)
    assert.strictEqual(slots.boundsFor(9).limit, 1)
    slots.take(b)
    const of = (...accounts: ReadonlyArray<AccountId>) => accounts.map((id) => slots.hasRoomFor(id))
    assert.deepStrictEqual(of(a, b, c), [false, false, true])
    const none = new Map([
      [a, 0],
      [b, 0],
    ])
    assert.deepStrictEqual(slots.boundsFor(9), { limit: 2, roomPerAccount: 1, rooms: none })
    slots.take(c)
    assert.deepStrictEqual(of(b, c, AccountId.make("acc_d")), [false, false, true])
    assert.strictEqual(slots.boundsFor(9).limit, 1)
    slots.give(a)
    slots.give(a)
    assert.deepStrictEqual(of(a, b, c), [true, true, true])
    // What a claim that is under way may take is not for starts, unless they have nothing.
    const { limit } = slots.boundsFor(9)
    slots.claiming(limit)
    assert.isFalse(slots.takeForStart(a))
    assert.deepStrictEqual(of(a, b, c), [true, true, true])
    assert.isTrue(slots.takeForStart(AccountId.make("acc_d")))
    slots.give(AccountId.make("acc_d"))
    slots.claiming(0)
    assert.isTrue(slots.takeForStart(a))
  })

  it("let starts take the half that a first claim leaves them", () => {
    const slots = new Slots({ runsAtOnce: 20, runsPerAccountPercent: 75, slotsKeptPercent: 10 })
    const account = AccountId.make("acc_a")
    slots.take(account)
    const { limit } = slots.boundsFor(100, 0.5)
    assert.deepStrictEqual([limit, slots.boundsFor(100).limit], [9, 17])
    slots.claiming(limit)
    const taken = Array.from({ length: 12 }, () => slots.takeForStart(account))
    assert.strictEqual(taken.filter(Boolean).length, 8)
    assert.isTrue(slots.hasRoomFor(account))
  })

  it("tells a claim of the accounts that it could give too much only", () => {
    const slots = new Slots({ runsAtOnce: 10, runsPerAccountPercent: 50, slotsKeptPercent: 0 })
    const [a, b] = [AccountId.make("acc_a"), AccountId.make("acc_b")]
    for (let n = 0; n < 4; n++) slots.take(a)
    slots.take(b)
    assert.deepStrictEqual(slots.boundsFor(3), {
      limit: 3,
      roomPerAccount: undefined,
      rooms: new Map([[a, 1]]),
    })
    assert.deepStrictEqual(
      [slots.boundsFor(9).limit, slots.boundsFor(9).roomPerAccount],
      [5, undefined],
    )
    assert.deepStrictEqual(slots.boundsFor(5), {
      limit: 5,
      roomPerAccount: undefined,
      rooms: new Map([
        [a, 1],
        [b, 4],
      ]),
    })
    assert.deepStrictEqual(slots.boundsFor(4).rooms, new Map([[a, 1]]))
    slots.take(a)
    assert.deepStrictEqual([slots.hasRoomFor(a), slots.hasRoomFor(b)], [false, true])
    // A run that this process owns must be executed, whether there is room or not.
    slots.take(a)
    assert.deepStrictEqual(slots.boundsFor(1).rooms, new Map([[a, 0]]))
    slots.give(a)
    for (let n = 0; n < 5; n++) slots.give(a)
    assert.deepStrictEqual(slots.boundsFor(4).rooms, new Map())
    assert.strictEqual(slots.free, 9)
    assert.deepStrictEqual(slots.boundsFor(6), {
      limit: 6,
      roomPerAccount: 5,
      rooms: new Map([[b, 4]]),
    })
  })
})
