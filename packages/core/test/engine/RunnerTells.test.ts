// What a process tells its operator and its store: blocks, lost runs, and a store that is away.
import { CurrentLimits, defaultLimits } from "@millrace/core/domain/Limits"
import { AccountId, RunnerId } from "@millrace/core/domain/Id"
import type { Blocked } from "@millrace/core/domain/Loss"
import { CurrentNode } from "@millrace/core/engine/CurrentNode"
import { define } from "@millrace/core/engine/NodeDefinition"
import { Runner } from "@millrace/core/engine/Runner"
import { Runs } from "@millrace/core/engine/Runs"
import { KeyStore } from "@millrace/core/ports/KeyStore"
import { CurrentRunnerOptions } from "@millrace/core/engine/RunnerOptions"
import { RunStore, StaleRun } from "@millrace/core/ports/RunStore"
import { StorageError } from "@millrace/core/ports/StorageError"
import { assert, describe, it } from "@effect/vitest"
import { Clock, Context, Effect, Logger } from "effect"
import { TestClock } from "effect/testing"
import { account, boot, Gates, node, runnerOptions, shared, start, types } from "./TestEngine.ts"

type Store = RunStore["Service"]

/** A process over a store that does something else besides, and what it logs. */
const listening = Effect.fnUntraced(function* (
  change: (store: Store) => Partial<Store> = () => ({}),
  known = types,
) {
  const store = yield* RunStore
  const lines: Array<string> = []
  const logger = Logger.make(({ logLevel, message }) => {
    lines.push(`${logLevel} ${(message as ReadonlyArray<unknown>).map(String).join(" ")}`)
  })
  const server = yield* boot(known).pipe(
    Effect.provideService(RunStore, { ...store, ...change(store) }),
    Effect.provide(Logger.layer([logger])),
  )
  return { lines, server }
})

const two = { ...defaultLimits, runsAtOnce: 2, runsPerAccountPercent: 100 }

const away = (operation: string) => new StorageError({ operation, cause: new Error("away") })

/** A clock that a handler moves by computing, and the node type of such handlers. */
const computing = Effect.gen(function* () {
  const machine = yield* Clock.Clock
  let computed = 0
  const clock = Object.assign({}, machine, {
    currentTimeMillisUnsafe: () => machine.currentTimeMillisUnsafe() + computed,
    monotonicTimeNanosUnsafe: () =>
      machine.monotonicTimeNanosUnsafe() + BigInt(computed) * 1_000_000n,
  })
  const block = (millis: number) => void (computed += millis)
  const compute = (millis: number) =>
    define({
      key: "compute",
      inputs: {},
      outputs: {},
      run: () => {
        block(millis)
        return Effect.succeed({})
      },
    })
  return { block, clock, compute }
})

describe("a process whose event loop was blocked", () => {
  it.effect("warns of it, and by whose handler it was", () =>
    Effect.gen(function* () {
      const { clock, compute } = yield* computing
      const known = [...types, compute(3_000)]
      const { lines, server } = yield* Effect.provideService(
        listening(undefined, known),
        Clock.Clock,
        clock,
      )
      yield* TestClock.adjust("2 seconds")
      assert.deepStrictEqual(lines, [])
      const { id } = yield* start([node("n", "compute")]).pipe(
        Effect.provideContext(server.context),
      )
      yield* TestClock.adjust("2 seconds")
      const what = `node "n" (compute) of run ${id} gave no control back meanwhile`
      assert.deepStrictEqual(lines, [`Warn The event loop was blocked for 3.0 s: ${what}`])
      yield* server.stop
    }).pipe(Effect.provide(shared())),
  )

  it.effect("names a handler that computes after it has waited, where that is watched", () =>
    Effect.gen(function* () {
      const { block, clock } = yield* computing
      const late = define({
        key: "late",
        inputs: {},
        outputs: {},
        run: Effect.fnUntraced(function* () {
          const { watched } = yield* CurrentNode
          yield* Effect.sleep("1 second")
          watched(() => block(3_000))
          return {}
        }),
      })
      const { lines, server } = yield* Effect.provideService(
        listening(undefined, [...types, late]),
        Clock.Clock,
        clock,
      )
      const { id } = yield* start([node("n", "late")]).pipe(Effect.provideContext(server.context))
      yield* TestClock.adjust("3 seconds")
      const what = `node "n" (late) of run ${id} gave no control back meanwhile`
      assert.deepStrictEqual(lines, [`Warn The event loop was blocked for 3.0 s: ${what}`])
      block(3_000)
      yield* TestClock.adjust("1 second")
      assert.include(lines[1], "no node was in progress")
      yield* server.stop
    }).pipe(Effect.provide(shared())),
  )

  it.effect("says nothing of it where no lag counts as one", () =>
    Effect.gen(function* () {
      const { block, clock } = yield* computing
      const { lines, server } = yield* Effect.provideService(listening(), Clock.Clock, clock)
      yield* TestClock.adjust("2 seconds")
      block(3_000)
      yield* TestClock.adjust("2 seconds")
      assert.deepStrictEqual(lines, [])
      yield* server.stop
    }).pipe(
      Effect.provide(shared()),
      Effect.provideService(CurrentRunnerOptions, {
        ...runnerOptions,
        lagMillis: Number.POSITIVE_INFINITY,
      }),
    ),
  )

  it.effect("knows that no node was in progress", () =>
    Effect.gen(function* () {
      const { block, clock } = yield* computing
      const { lines, server } = yield* Effect.provideService(listening(), Clock.Clock, clock)
      const gates = yield* Gates
      yield* start([node("quick", "pass"), node("slow", "gate")]).pipe(
        Effect.provideContext(server.context),
      )
      yield* gates.untilArrived("slow")
      yield* gates.open("slow")
      yield* TestClock.adjust("2 seconds")
      block(3_000)
      yield* TestClock.adjust("1 second")
      const what = "no node was in progress"
      assert.deepStrictEqual(lines, [`Warn The event loop was blocked for 3.0 s: ${what}`])
      yield* server.stop
    }).pipe(Effect.provide(shared())),
  )

  it.effect("tells its store with the next heartbeat that arrives, once", () =>
    Effect.gen(function* () {
      const { clock, compute } = yield* computing
      const told: Array<Blocked | undefined> = []
      const change = (store: Store): Partial<Store> => ({
        heartbeat: (runner, leaseMillis, blocked) => {
          told.push(blocked)
          return told.length === 2
            ? Effect.fail(away("heartbeat"))
            : store.heartbeat(runner, leaseMillis, blocked)
        },
      })
      const { lines, server } = yield* Effect.provideService(
        listening(change, [...types, compute(2_000)]),
        Clock.Clock,
        clock,
      )
      yield* TestClock.adjust(1)
      assert.deepStrictEqual(told, [undefined])
      const { id } = yield* start([node("n", "compute")]).pipe(
        Effect.provideContext(server.context),
      )
      const blocked = { run: id, millis: 2_000 }
      yield* TestClock.adjust("7500 millis")
      assert.deepStrictEqual(told.slice(1), [blocked])
      assert.isTrue(lines.some((line) => line.startsWith("Warn no heartbeat")))
      yield* TestClock.adjust("15 seconds")
      assert.deepStrictEqual(told.slice(1), [blocked, blocked, undefined])
      yield* server.stop
    }).pipe(Effect.provide(shared())),
  )
})

describe("a process that executes nothing", () => {
  it.effect("has its claims keep the lease, and asks twice in a lease what it owns", () =>
    Effect.gen(function* () {
      let beats = 0
      const change = (store: Store): Partial<Store> => ({
        heartbeat: (...of) => Effect.suspend(() => ((beats += 1), store.heartbeat(...of))),
      })
      const { server } = yield* listening(change)
      yield* TestClock.adjust("60 seconds")
      assert.isAtMost(beats, 31)
      assert.isAtLeast(beats, 28)
      yield* start([node("n", "gate")]).pipe(Effect.provideContext(server.context))
      beats = 0
      yield* TestClock.adjust("20 seconds")
      assert.strictEqual(beats, 20)
    }).pipe(
      Effect.provide(shared()),
      Effect.provideService(CurrentRunnerOptions, { ...runnerOptions, leaseMillis: 4_000 }),
    ),
  )

  it.effect("keeps the lease itself where its claims do not", () =>
    Effect.gen(function* () {
      let beats = 0
      const change = (store: Store): Partial<Store> => ({
        heartbeat: (...of) => Effect.suspend(() => ((beats += 1), store.heartbeat(...of))),
        claim: () => Effect.fail(away("claim")),
      })
      yield* listening(change)
      yield* TestClock.adjust("20 seconds")
      assert.isAtLeast(beats, 20)
    }).pipe(
      Effect.provide(shared()),
      Effect.provideService(CurrentRunnerOptions, { ...runnerOptions, leaseMillis: 4_000 }),
    ),
  )
})

describe("a run that has blocked its process", () => {
  /** Blocks its process while it is called, and then waits for so long. */
  const dozing = Effect.fnUntraced(function* (millis: number) {
    const { block, clock } = yield* computing
    const doze = define({
      key: "doze",
      inputs: {},
      outputs: {},
      run: Effect.fnUntraced(function* () {
        const { resumed, suspend } = yield* CurrentNode
        if (resumed !== undefined) return {}
        block(3_000)
        return yield* suspend({ until: clock.currentTimeMillisUnsafe() + millis }, null)
      }),
    })
    const clears: Array<boolean | undefined> = []
    const change = (store: Store): Partial<Store> => ({
      commit: (commit) => {
        if (commit.expected._tag === "Existing") clears.push(commit.clearsLosses)
        return store.commit(commit)
      },
    })
    const { server } = yield* Effect.provideService(
      listening(change, [...types, doze]),
      Clock.Clock,
      clock,
    )
    yield* start([node("n", "doze")]).pipe(Effect.provideContext(server.context))
    yield* TestClock.adjust("2 seconds")
    yield* server.stop
    return clears
  })

  it.effect("forgets what it was blamed for with its next progress, and no earlier", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* dozing(500), [false, false, true])
    }).pipe(Effect.provide(shared())),
  )

  it.effect("forgets it when it is parked", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* dozing(60_000), [true])
    }).pipe(Effect.provide(shared())),
  )
})

describe("a process that has lost a run", () => {
  it.effect("warns of another owner, and of no run that was canceled", () =>
    Effect.gen(function* () {
      const [gates, store] = [yield* Gates, yield* RunStore]
      const { lines, server } = yield* listening()
      const elsewhere = yield* boot()
      const ids = ["a", "b", "c", "d"]
      const runs = yield* Effect.forEach(ids, (id) => start([node(id, "gate")])).pipe(
        Effect.provideContext(server.context),
      )
      yield* Effect.forEach(ids, gates.untilArrived)
      const [a, b, c, d] = runs
      const cancel = Context.get(elsewhere.context, Runs).cancel
      yield* cancel(account, a!.id)
      yield* cancel(account, b!.id)
      // One that hears of it with its next commit, and one with the next heartbeat.
      yield* gates.open("a")
      yield* TestClock.adjust("8 seconds")
      assert.deepStrictEqual(gates.interrupted, ["b"])
      assert.deepStrictEqual(lines, [])
      const other = RunnerId.make("exe_other")
      yield* store.heartbeat(other, 3_600_000)
      for (const run of [c!, d!]) yield* store.takeOver(account, run.id, other)
      yield* gates.open("c")
      yield* TestClock.adjust(1)
      assert.strictEqual(lines.length, 1)
      assert.include(lines[0], `Warn lost run ${c!.id} to somebody else`)
      yield* TestClock.adjust("8 seconds")
      assert.strictEqual(lines.length, 2)
      assert.include(lines[1], `Warn lost run ${d!.id} to somebody else`)
      yield* server.stop
    }).pipe(Effect.provide(shared())),
  )

  it.effect("says nothing where its store does not tell who has the run, and goes on", () =>
    Effect.gen(function* () {
      const [gates, store] = [yield* Gates, yield* RunStore]
      let beats = 0
      const { lines, server } = yield* listening((own) => ({
        find: () => Effect.fail(away("find")),
        heartbeat: (...of) => Effect.suspend(() => ((beats += 1), own.heartbeat(...of))),
      }))
      const { id } = yield* start([node("n", "gate")]).pipe(Effect.provideContext(server.context))
      yield* gates.untilArrived("n")
      const other = RunnerId.make("exe_other")
      yield* store.heartbeat(other, 3_600_000)
      yield* store.takeOver(account, id, other)
      yield* TestClock.adjust("8 seconds")
      assert.deepStrictEqual([gates.interrupted, lines], [["n"], []])
      const before = beats
      yield* TestClock.adjust("15 seconds")
      assert.isAbove(beats, before)
      yield* server.stop
    }).pipe(Effect.provide(shared())),
  )

  it.effect("does not warn where a commit was refused and nobody else has the run", () =>
    Effect.gen(function* () {
      const gates = yield* Gates
      let refused = 0
      const change = (store: Store): Partial<Store> => ({
        commit: (commit) =>
          commit.run.revision === 2 && refused++ === 0
            ? Effect.fail(new StaleRun({ runId: commit.run.id }))
            : store.commit(commit),
      })
      const { lines, server } = yield* listening(change)
      yield* start([node("n", "gate")]).pipe(Effect.provideContext(server.context))
      yield* gates.untilArrived("n")
      yield* gates.open("n")
      yield* TestClock.adjust(1)
      assert.deepStrictEqual([refused, lines], [1, []])
      yield* server.stop
    }).pipe(Effect.provide(shared())),
  )

  it.effect("executes it anew where it gets it back, in place of the execution before", () =>
    Effect.gen(function* () {
      const [gates, store] = [yield* Gates, yield* RunStore]
      const { server } = yield* listening()
      const runner = Context.get(server.context, Runner)
      const { id } = yield* start([node("n", "gate")]).pipe(Effect.provideContext(server.context))
      yield* gates.untilArrived("n")
      yield* store.requeue(runner.id, [id])
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual([gates.arrived, gates.interrupted], [["n", "n"], ["n"]])
      assert.strictEqual(runner.status().runsInProgress, 1)
      // Its slot is taken once.
      assert.isTrue(runner.takeSlot(account))
      assert.isFalse(runner.takeSlot(account))
      runner.giveSlot(account)
      yield* gates.open("n")
      yield* TestClock.adjust(1)
      const { run } = yield* Effect.flatMap(store.find(account, id), Effect.fromOption)
      assert.deepStrictEqual([run.status, run.attempts], ["COMPLETED", 2])
      const slots = [1, 2, 3].map(() => runner.takeSlot(account))
      assert.deepStrictEqual(slots, [true, true, false])
      yield* server.stop
    }).pipe(Effect.provide(shared()), Effect.provideService(CurrentLimits, two)),
  )

  const bug = (): never => {
    throw new Error("a bug")
  }
  const bugs = { throws: bug, dies: () => Effect.die(new Error("a bug")) }
  it.effect.each(["throws", "dies"] as const)("tells that an execution %s, and goes on", (how) =>
    Effect.gen(function* () {
      const gates = yield* Gates
      let broken = ""
      const change = (store: Store): Partial<Store> => ({
        commit: (commit) => (commit.run.id === broken ? bugs[how]() : store.commit(commit)),
      })
      const { lines, server } = yield* listening(change)
      const runs = yield* Effect.forEach(["a", "b"], (id) => start([node(id, "gate")])).pipe(
        Effect.provideContext(server.context),
      )
      yield* Effect.forEach(["a", "b"], gates.untilArrived)
      broken = runs[0]!.id
      yield* Effect.forEach(["a", "b"], gates.open)
      yield* TestClock.adjust(1)
      assert.strictEqual(lines.length, 1)
      assert.include(lines[0], `Error an execution broke off ${broken}`)
      const store = yield* RunStore
      const ended = yield* Effect.flatMap(store.find(account, runs[1]!.id), Effect.fromOption)
      assert.strictEqual(ended.run.status, "COMPLETED")
      // It is given back by the second heartbeat that finds it, and somebody goes on with it.
      broken = ""
      yield* TestClock.adjust("16 seconds")
      const again = yield* Effect.flatMap(store.find(account, runs[0]!.id), Effect.fromOption)
      assert.deepStrictEqual([again.run.status, again.run.attempts], ["COMPLETED", 2])
      yield* server.stop
    }).pipe(Effect.provide(shared())),
  )
})

describe("a process whose store is away", () => {
  it.effect("warns of runs that it cannot look for, and of caps that it cannot read", () =>
    Effect.gen(function* () {
      let isAway = false
      const change = (store: Store): Partial<Store> => ({
        claim: (request) =>
          Effect.suspend(() => (isAway ? Effect.fail(away("claim")) : store.claim(request))),
        cappedAccounts: (limit) =>
          Effect.suspend(() =>
            isAway ? Effect.fail(away("cappedAccounts")) : store.cappedAccounts(limit),
          ),
      })
      const { lines, server } = yield* listening(change)
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(lines, [])
      isAway = true
      yield* TestClock.adjust("7 seconds")
      const kinds = new Set(lines.map((line) => line.split(" StorageError")[0]))
      assert.deepStrictEqual(
        [...kinds].toSorted((left, right) => left!.localeCompare(right!)),
        ["Warn could not look for runs", "Warn could not read which accounts have caps"],
      )
      // It knows of a cap that was set meanwhile once the store is there again.
      isAway = false
      const keys = yield* KeyStore
      const capped = AccountId.make("acc_capped")
      yield* keys.insertAccount({ id: capped, name: "C", createdAt: 0, runsAtOnce: 1 })
      const runner = Context.get(server.context, Runner)
      assert.isTrue(runner.takeSlot(capped))
      runner.giveSlot(capped)
      yield* TestClock.adjust("7500 millis")
      assert.isFalse(runner.takeSlot(capped))
      yield* server.stop
    }).pipe(Effect.provide(shared())),
  )

  it.effect("does not start where the store cannot be asked for caps", () =>
    Effect.gen(function* () {
      const store = yield* RunStore
      const cappedAccounts = () => Effect.fail(away("cappedAccounts"))
      const error = yield* Effect.flip(
        Effect.provideService(boot(), RunStore, { ...store, cappedAccounts }),
      )
      assert.strictEqual(error._tag, "StorageError")
    }).pipe(Effect.provide(shared())),
  )
})

describe("the slots of a process", () => {
  it.effect("bound what it takes at once, and are given back by whoever took them", () =>
    Effect.gen(function* () {
      const server = yield* boot()
      const runner = Context.get(server.context, Runner)
      assert.deepStrictEqual(
        [1, 2, 3].map(() => runner.takeSlot(account)),
        [true, true, false],
      )
      runner.giveSlot(account)
      assert.isTrue(runner.takeSlot(account))
      yield* server.stop
    }).pipe(Effect.provide(shared()), Effect.provideService(CurrentLimits, two)),
  )
})
