// Which runs a process claims, when, and how many; and what it leaves to others.
import type { RunId } from "@millrace/core/domain/Id"
import { AccountId, RunnerId } from "@millrace/core/domain/Id"
import { Json } from "@millrace/core/domain/Json"
import { CurrentLimits, defaultLimits } from "@millrace/core/domain/Limits"
import { CurrentNode } from "@millrace/core/engine/CurrentNode"
import { define } from "@millrace/core/engine/NodeDefinition"
import { CurrentRunnerOptions } from "@millrace/core/engine/RunnerOptions"
import { Runs } from "@millrace/core/engine/Runs"
import type { ClaimRequest } from "@millrace/core/ports/RunStore"
import { Runner } from "@millrace/core/engine/Runner"
import { RunStore } from "@millrace/core/ports/RunStore"
import { StorageError } from "@millrace/core/ports/StorageError"
import { StoreManifest } from "@millrace/core/ports/StoreManifest"
import { manifest } from "@millrace/memory/Stores"
import { assert, describe, it } from "@effect/vitest"
import { Clock, Context, Effect } from "effect"
import { TestClock } from "effect/testing"
import { account, boot, byNode, Gates, node, nodeWith, runnerOptions } from "./TestEngine.ts"
import { runOf, shared, start, types } from "./TestEngine.ts"

const other = RunnerId.make("exe_other")

/** A process that tells of its claims. They fail as long as `isAway` is set, and take `millis`. */
const observed = Effect.fnUntraced(function* (known = types) {
  const store = yield* RunStore
  const seen = {
    claims: [] as Array<ClaimRequest>,
    taken: [] as Array<number>,
    isAway: false,
    millis: 0,
  }
  const away = new StorageError({ operation: "claim", cause: new Error("away") })
  const claim: typeof store.claim = (request) =>
    Effect.suspend(() => {
      seen.claims.push(request)
      if (seen.isAway) return Effect.fail(away)
      const taking = Effect.tap(store.claim(request), (found) =>
        Effect.sync(() => void seen.taken.push(found.length)),
      )
      return seen.millis === 0 ? taking : Effect.delay(taking, seen.millis)
    })
  const process = yield* Effect.provideService(boot(known), RunStore, { ...store, claim })
  yield* TestClock.adjust(1)
  return { process, seen }
})

/** Runs that are stored and that nobody owns, of nodes that wait at a gate. */
const queued = Effect.fnUntraced(function* (count: number) {
  const store = yield* RunStore
  const owner = yield* boot()
  yield* store.heartbeat(other, 3_600_000)
  const ids: Array<RunId> = []
  for (let n = 0; n < count; n++) {
    const { id } = yield* Effect.provideContext(start([node(`n${n}`, "gate")]), owner.context)
    yield* store.takeOver(account, id, other)
    ids.push(id)
  }
  yield* TestClock.adjust("8 seconds")
  yield* owner.stop
  yield* store.requeue(other, ids)
  return ids
})

/** A clock of a process whose event loop is blocked now and then. */
const blockable = Effect.gen(function* () {
  const clock = yield* Clock.Clock
  const state = { blockedMillis: 0 }
  const monotonicTimeNanosUnsafe = () =>
    clock.monotonicTimeNanosUnsafe() + BigInt(state.blockedMillis) * 1_000_000n
  return { state, clock: Object.assign({}, clock, { monotonicTimeNanosUnsafe }) }
})

describe("a claim", () => {
  it.effect("asks again as long as it gets as many as it asked for", () =>
    Effect.gen(function* () {
      yield* queued(5)
      const { seen, process } = yield* observed()
      assert.deepStrictEqual(
        seen.claims.map(({ limit }) => limit),
        [2, 2, 2],
      )
      assert.deepStrictEqual(seen.taken, [2, 2, 1])
      assert.isTrue(seen.claims.every(({ leaseMillis }) => leaseMillis === 30_000))
      yield* TestClock.adjust("1 minute")
      yield* process.stop.pipe(Effect.forkChild)
      yield* TestClock.adjust("1 minute")
    }).pipe(
      Effect.provide(shared()),
      Effect.provideService(CurrentRunnerOptions, { ...runnerOptions, claimLimit: 2 }),
    ),
  )

  it.effect("takes no more than there is room for, and asks for nothing without room", () =>
    Effect.gen(function* () {
      yield* queued(5)
      const gates = yield* Gates
      const { seen } = yield* observed()
      assert.deepStrictEqual(
        seen.claims.map(({ limit }) => limit),
        [2, 1],
      )
      yield* TestClock.adjust("10 seconds")
      assert.strictEqual(seen.claims.length, 2)
      yield* gates.open(gates.arrived.at(-1)!)
      yield* TestClock.adjust("1 second")
      assert.deepInclude(
        seen.claims.slice(2).map(({ limit }) => limit),
        1,
      )
      assert.strictEqual(
        seen.taken.slice(2).reduce((sum, count) => sum + count, 0),
        1,
      )
    }).pipe(
      Effect.provide(shared()),
      Effect.provideService(CurrentRunnerOptions, { ...runnerOptions, claimLimit: 2 }),
      Effect.provideService(CurrentLimits, {
        ...defaultLimits,
        runsAtOnce: 3,
        runsPerAccountPercent: 100,
      }),
    ),
  )

  /** Ends a run that waits at a gate, and tells how many runs are taken within so many ms. */
  const takenAfterEnd = Effect.fnUntraced(function* (
    { taken }: { readonly taken: ReadonlyArray<number> },
    nodeId: string,
    millis: number,
  ) {
    const before = taken.length
    yield* (yield* Gates).open(nodeId)
    yield* TestClock.adjust(millis)
    return taken.slice(before).reduce((sum, count) => sum + count, 0)
  })

  it.effect(
    "is made 10 ms after a slot was given back, once for all that were, while runs wait",
    () =>
      Effect.gen(function* () {
        yield* queued(6)
        const { seen } = yield* observed()
        assert.deepStrictEqual(seen.taken, [2, 1])
        assert.strictEqual(yield* takenAfterEnd(seen, "n0", 5), 0)
        assert.strictEqual(yield* takenAfterEnd(seen, "n1", 5), 2)
        assert.deepStrictEqual(seen.taken, [2, 1, 1, 1])
        assert.strictEqual(yield* takenAfterEnd(seen, "n2", 10), 1)
        assert.strictEqual(yield* takenAfterEnd(seen, "n3", 10), 0)
        // Nobody waits any more, as the last claim has found.
        const { length } = seen.claims
        assert.strictEqual(yield* takenAfterEnd(seen, "n4", 10), 0)
        assert.strictEqual(seen.claims.length, length)
      }).pipe(
        Effect.provide(shared()),
        Effect.provideService(CurrentLimits, {
          ...defaultLimits,
          runsAtOnce: 3,
          runsPerAccountPercent: 100,
        }),
      ),
  )

  for (const [bound, limits] of [
    ["its share of the process", { runsAtOnce: 10, runsPerAccountPercent: 20 }],
    ["its cap over all processes", { runsPerAccount: 2 }],
  ] as const) {
    it.effect(`is made 10 ms after an account that had reached ${bound} has room again`, () =>
      Effect.gen(function* () {
        yield* queued(4)
        const { seen } = yield* observed()
        assert.strictEqual(Math.max(...seen.taken), 2)
        assert.strictEqual(yield* takenAfterEnd(seen, "n0", 10), 1)
        assert.strictEqual(yield* takenAfterEnd(seen, "n1", 10), 1)
      }).pipe(
        Effect.provide(shared()),
        Effect.provideService(CurrentLimits, { ...defaultLimits, ...limits }),
      ),
    )
  }

  it.effect("leaves starts half of what is free, and they leave it the other half", () =>
    Effect.gen(function* () {
      const { process, seen } = yield* observed()
      const { hasSlot } = Context.get(process.context, Runner)
      const startOne = (id: string) =>
        Effect.provideContext(start([node(id, "gate")]), process.context)
      yield* startOne("first")
      seen.millis = 100
      yield* TestClock.adjust("550 millis")
      assert.strictEqual(seen.claims.at(-1)?.limit, 9)
      const names = Array.from({ length: 12 }, (_, n) => `n${n}`)
      const started = yield* Effect.forEach(names, startOne)
      assert.strictEqual(started.filter(({ owner }) => owner !== null).length, 8)
      // The others would have room, once the claim is over; nobody has to be refused.
      assert.isTrue(hasSlot(account))
      yield* TestClock.adjust("1 second")
      const gates = yield* Gates
      assert.sameMembers(gates.arrived, ["first", ...names])
    }).pipe(
      Effect.provide(shared()),
      Effect.provideService(CurrentLimits, { ...defaultLimits, runsAtOnce: 20 }),
    ),
  )

  it.effect("is made at every poll, and goes on after a store that was away", () =>
    Effect.gen(function* () {
      const { seen } = yield* observed()
      assert.strictEqual(seen.claims.length, 1)
      yield* TestClock.adjust("498 millis")
      assert.strictEqual(seen.claims.length, 1)
      yield* TestClock.adjust("1 milli")
      assert.strictEqual(seen.claims.length, 2)
      seen.isAway = true
      yield* TestClock.adjust("2 seconds")
      assert.strictEqual(seen.claims.length, 6)
      seen.isAway = false
      yield* queued(1)
      yield* TestClock.adjust("1 second")
      assert.strictEqual(seen.taken.at(-2), 1)
    }).pipe(Effect.provide(shared())),
  )

  it.effect("goes round the accounts: it begins after the one that it took last", () =>
    Effect.gen(function* () {
      const { seen } = yield* observed()
      assert.isUndefined(seen.claims.at(-1)?.after)
      yield* queued(1)
      yield* TestClock.adjust("2 seconds")
      assert.strictEqual(seen.claims.at(-1)?.after, account)
    }).pipe(Effect.provide(shared())),
  )

  it.effect("is not made by a process that lags, until it keeps its times again", () =>
    Effect.gen(function* () {
      const { clock, state } = yield* blockable
      const { process, seen } = yield* Effect.provideService(observed(), Clock.Clock, clock)
      const count = () => seen.claims.length
      const lag = () => Context.get(process.context, Runner).status().lagMillis
      const first = count()
      state.blockedMillis = 250
      yield* TestClock.adjust("500 millis")
      assert.deepStrictEqual([count(), lag()], [first + 1, 250])
      state.blockedMillis = 501
      yield* TestClock.adjust("500 millis")
      assert.deepStrictEqual([count(), lag()], [first + 1, 251])
      yield* TestClock.adjust("500 millis")
      assert.deepStrictEqual([count(), lag()], [first + 2, 0])
    }).pipe(Effect.provide(shared())),
  )

  it.effect("is made once at the time at which a run that was parked here is due", () =>
    Effect.gen(function* () {
      const { process, seen } = yield* observed()
      const { id } = yield* Effect.provideContext(
        start([node("n", "nap", { millis: 1_700 })]),
        process.context,
      )
      yield* TestClock.adjust("1699 millis")
      const before = seen.claims.length
      assert.isNotNull((yield* runOf(id)).dueAt)
      yield* TestClock.adjust("1 milli")
      assert.strictEqual((yield* runOf(id)).status, "COMPLETED")
      assert.strictEqual(seen.claims.length, before + 1)
      yield* TestClock.adjust("499 millis")
      assert.strictEqual(seen.claims.length, before + 1)
      yield* TestClock.adjust("1 milli")
      assert.strictEqual(seen.claims.length, before + 2)
    }).pipe(Effect.provide(shared())),
  )

  it.effect("is made half as often while nothing is executed and other processes are heard", () =>
    Effect.gen(function* () {
      const wakeups = { announce: Effect.void, listen: () => Effect.void, isHeard: () => true }
      const { process, seen } = yield* Effect.provideService(observed(), StoreManifest, {
        ...manifest,
        wakeups,
      })
      yield* TestClock.adjust("998 millis")
      assert.strictEqual(seen.claims.length, 1)
      yield* TestClock.adjust("1 milli")
      assert.strictEqual(seen.claims.length, 2)
      yield* Effect.provideContext(start([node("n", "gate")]), process.context)
      yield* TestClock.adjust("1 second")
      assert.strictEqual(seen.claims.length, 3)
      yield* TestClock.adjust("1 second")
      assert.strictEqual(seen.claims.length, 5)
    }).pipe(Effect.provide(shared())),
  )

  it.effect("is made at once where another process announces a run, or a start finds no slot", () =>
    Effect.gen(function* () {
      const heard: Array<() => void> = []
      let announced = 0
      const wakeups = {
        announce: Effect.sync(() => void (announced += 1)),
        listen: (listener: () => void) => Effect.sync(() => void heard.push(listener)),
        isHeard: () => false,
      }
      const { process, seen } = yield* Effect.provideService(observed(), StoreManifest, {
        ...manifest,
        wakeups,
      })
      const before = seen.claims.length
      heard[0]?.()
      yield* TestClock.adjust(1)
      assert.strictEqual(seen.claims.length, before + 1)
      const run = yield* Effect.provideContext(start([node("n", "gate")]), process.context)
      assert.strictEqual(run.status, "QUEUED")
      assert.strictEqual(announced, 1)
      yield* TestClock.adjust(1)
      assert.strictEqual((yield* runOf(run.id)).status, "RUNNING")
    }).pipe(
      Effect.provide(shared()),
      Effect.provideService(CurrentLimits, { ...defaultLimits, runsPerAccount: 9 }),
    ),
  )
})

/** A type in a version of its own, which waits until the test opens it. */
const later = (version: number) =>
  define({
    key: "later",
    version,
    inputs: {},
    outputs: {},
    run: Effect.fnUntraced(function* () {
      const { nodeId } = yield* CurrentNode
      yield* Effect.flatMap(Gates, (gates) => gates.pass(nodeId))
      return {}
    }),
  })

describe("a run that a process cannot execute", () => {
  /** The times, in seconds, at which a process without this type has got the run. */
  const offeredTo = Effect.fnUntraced(function* (
    known: typeof types,
    drawn: ReturnType<typeof node>,
  ) {
    const store = yield* RunStore
    const knowing = yield* boot([...types, later(2)])
    yield* store.heartbeat(other, 3_600_000)
    const { id } = yield* Effect.provideContext(start([drawn]), knowing.context)
    yield* store.takeOver(account, id, other)
    yield* TestClock.adjust("8 seconds")
    yield* knowing.stop
    yield* store.requeue(other, [id])
    const { seen } = yield* observed(known)
    const begun = yield* Clock.currentTimeMillis
    const times: Array<number> = []
    for (let n = 0; n < 65; n++) {
      const before = seen.taken.filter((count) => count > 0).length
      yield* TestClock.adjust("1 second")
      const now = yield* Clock.currentTimeMillis
      if (seen.taken.filter((count) => count > 0).length > before) times.push(now - begun)
    }
    return { id, seen, times: times.map((millis) => millis / 1_000) }
  })

  it.effect("is given back at once, and not claimed again for half a minute", () =>
    Effect.gen(function* () {
      const drawn = nodeWith("n", "later", {}, {})
      const { id, seen, times } = yield* offeredTo(types, drawn)
      assert.deepStrictEqual(seen.claims[1]?.except, [id])
      assert.deepStrictEqual(times, [30, 60])
      assert.strictEqual((yield* runOf(id)).owner, null)
    }).pipe(Effect.provide(shared())),
  )

  it.effect(
    "is one of another version of a type, too, also if its node was drawn without one",
    () =>
      Effect.gen(function* () {
        const gates = yield* Gates
        const { id } = yield* offeredTo([...types, later(1)], nodeWith("n", "later", {}, {}))
        const run = yield* runOf(id)
        assert.deepStrictEqual([run.owner, run.status], [null, "RUNNING"])
        yield* gates.open("n")
        const knowing = yield* boot([...types, later(2)])
        yield* TestClock.adjust("1 second")
        assert.strictEqual((yield* runOf(id)).status, "COMPLETED")
        yield* knowing.stop
      }).pipe(Effect.provide(shared())),
  )

  it.effect("is none where the type is there in its version, beside an older one, too", () =>
    Effect.gen(function* () {
      const gates = yield* Gates
      yield* offeredTo([...types, later(1), later(2)], nodeWith("n", "later", {}, {}))
      assert.deepStrictEqual(gates.arrived, ["n", "n"])
    }).pipe(Effect.provide(shared())),
  )
})

describe("messages to a run", () => {
  /** Waits for a message. */
  const wait = define({
    key: "wait",
    inputs: {},
    outputs: { output: Json },
    run: Effect.fnUntraced(function* () {
      const { message, suspend } = yield* CurrentNode
      if (message === undefined) return yield* suspend({ for: "go" }, null)
      return { output: message.payload }
    }),
  })

  it.effect("are read by a process that lags, which claims nothing", () =>
    Effect.gen(function* () {
      const [gates, store] = [yield* Gates, yield* RunStore]
      const { clock, state } = yield* blockable
      const known = [...types, wait]
      const { process } = yield* Effect.provideService(observed(known), Clock.Clock, clock)
      const drawn = [node("g", "gate"), node("w", "wait")]
      const { id } = yield* Effect.provideContext(start(drawn), process.context)
      yield* gates.untilArrived("g")
      yield* TestClock.adjust(1)
      yield* store.send(account, id, { id: "m", name: "go", payload: 7 })
      state.blockedMillis = 1_000
      yield* TestClock.adjust("500 millis")
      const found = yield* Effect.flatMap(store.find(account, id), Effect.fromOption)
      assert.deepStrictEqual(byNode(found)["w"]?.output, { output: 7 })
      yield* gates.open("g")
    }).pipe(Effect.provide(shared())),
  )

  it.effect("are read while a run waits for one, and only then", () =>
    Effect.gen(function* () {
      const [gates, store] = [yield* Gates, yield* RunStore]
      const asked: Array<number> = []
      const inboxes: typeof store.inboxes = (requests) => {
        asked.push(requests.length)
        return store.inboxes(requests)
      }
      const server = yield* Effect.provideService(boot([...types, wait]), RunStore, {
        ...store,
        inboxes,
      })
      const drawn = [node("g", "gate"), node("w", "wait")]
      yield* Effect.provideContext(start([node("h", "gate")]), server.context)
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(asked, [])
      yield* Effect.provideContext(start(drawn), server.context)
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(asked, [1, 1])
      yield* gates.open("g")
      yield* gates.open("h")
    }).pipe(Effect.provide(shared())),
  )

  it.effect("that come when their run is not executed any more disturb nothing", () =>
    Effect.gen(function* () {
      const [gates, store] = [yield* Gates, yield* RunStore]
      const inboxes: typeof store.inboxes = (requests) =>
        Effect.delay(store.inboxes(requests), "700 millis")
      const server = yield* Effect.provideService(boot([...types, wait]), RunStore, {
        ...store,
        inboxes,
      })
      const draw = (gate: string) =>
        Effect.provideContext(start([node(gate, "gate"), node("w", "wait")]), server.context)
      const { id } = yield* draw("g")
      yield* store.send(account, id, { id: "m", name: "go", payload: 7 })
      yield* TestClock.adjust("600 millis")
      yield* Context.get(server.context, Runs).cancel(account, id)
      yield* TestClock.adjust("1 second")
      const { id: next } = yield* draw("h")
      yield* store.send(account, next, { id: "m", name: "go", payload: 8 })
      yield* TestClock.adjust("4 seconds")
      const found = yield* Effect.flatMap(store.find(account, next), Effect.fromOption)
      assert.deepStrictEqual(byNode(found)["w"]?.output, { output: 8 })
      yield* gates.open("h")
    }).pipe(Effect.provide(shared())),
  )

  it.effect("are announced once each, and not again when they are sent again", () =>
    Effect.gen(function* () {
      let announced = 0
      const announce = Effect.sync(() => void (announced += 1))
      const { context } = yield* Effect.provideService(boot([...types, wait]), StoreManifest, {
        ...manifest,
        wakeups: { announce, listen: () => Effect.void, isHeard: () => false },
      })
      const runs = Context.get(context, Runs)
      const { id } = yield* Effect.provideContext(start([node("w", "wait")]), context)
      yield* TestClock.adjust(1)
      const stop = { id: "m", name: "stop", payload: null }
      assert.strictEqual(yield* runs.send(account, id, stop), 1)
      assert.strictEqual(announced, 1)
      assert.strictEqual(yield* runs.send(account, id, stop), 1)
      yield* Effect.flip(runs.send(AccountId.make("acc_no"), id, stop))
      assert.strictEqual(announced, 1)
    }).pipe(Effect.provide(shared())),
  )
})
