// Caps that accounts have of their own, over several processes on one store.
import { AccountId } from "@millrace/core/domain/Id"
import type { RunId } from "@millrace/core/domain/Id"
import { cappedAccountsKnown, defaultLimits } from "@millrace/core/domain/Limits"
import { Caps } from "../../src/engine/internal/Caps.ts"
import { Runs } from "@millrace/core/engine/Runs"
import { Workflows } from "@millrace/core/engine/Workflows"
import { KeyStore } from "@millrace/core/ports/KeyStore"
import { RunStore } from "@millrace/core/ports/RunStore"
import { assert, describe, it } from "@effect/vitest"
import { Context, Effect } from "effect"
import { TestClock } from "effect/testing"
import { boot, Gates, node, shared } from "./TestEngine.ts"

type Process = Effect.Success<ReturnType<typeof boot>>

const capped = AccountId.make("acc_capped")
const free = AccountId.make("acc_free")

/** Starts a run of one node, which waits at the gate of this name. */
const start = Effect.fnUntraced(function* ({ context }: Process, account: AccountId, id: string) {
  const { id: workflowId } = yield* Context.get(context, Workflows).create(account, {
    name: id,
    description: null,
    thumbnailUrl: null,
    nodes: [node(id, "gate")],
    edges: [],
  })
  return yield* Context.get(context, Runs).start(account, { workflowId })
})

const ownerOf = Effect.fnUntraced(function* (account: AccountId, id: RunId) {
  const { run } = yield* Effect.flatMap((yield* RunStore).find(account, id), Effect.fromOption)
  return run.owner
})

const insert = Effect.fnUntraced(function* (id: AccountId, runsAtOnce: number | null) {
  const store = yield* KeyStore
  yield* store.insertAccount({ id, name: id, createdAt: 0, runsAtOnce })
})

describe("The cap of an account", () => {
  it.effect("holds over all processes, and others start as if there were none", () =>
    Effect.gen(function* () {
      const gates = yield* Gates
      yield* insert(capped, 2)
      const processes = [yield* boot(), yield* boot()]
      const names = ["a0", "a1", "a2", "a3", "a4", "a5"]
      for (const [n, name] of names.entries()) {
        const { owner } = yield* start(processes[n % 2]!, capped, name)
        assert.strictEqual(owner, null)
      }
      yield* TestClock.adjust("10 seconds")
      for (let ended = 0; ended < names.length; ended++) {
        assert.strictEqual(gates.arrived.length, Math.min(names.length, ended + 2))
        const other = yield* start(processes[ended % 2]!, free, `b${ended}`)
        assert.isNotNull(other.owner)
        yield* gates.untilArrived(`b${ended}`)
        gates.arrived.splice(gates.arrived.indexOf(`b${ended}`), 1)
        yield* gates.open(`b${ended}`)
        yield* gates.open(gates.arrived[ended]!)
        yield* TestClock.adjust("10 seconds")
      }
      for (const { stop } of processes) yield* stop
    }).pipe(Effect.provide(shared())),
  )

  it.effect("that is set anew holds for starts everywhere within eight seconds", () =>
    Effect.gen(function* () {
      const gates = yield* Gates
      yield* insert(capped, null)
      const processes = [yield* boot(), yield* boot()]
      const first = yield* start(processes[0]!, capped, "a")
      assert.isNotNull(first.owner)
      yield* (yield* KeyStore).updateAccount(capped, { runsAtOnce: 1 })
      yield* TestClock.adjust("7500 millis")
      for (const [n, process] of processes.entries()) {
        const { id } = yield* start(process, capped, `a${n}`)
        yield* TestClock.adjust("10 seconds")
        assert.isNull(yield* ownerOf(capped, id))
      }
      yield* (yield* KeyStore).updateAccount(capped, { runsAtOnce: null })
      yield* TestClock.adjust("10 seconds")
      assert.isNotNull((yield* start(processes[1]!, capped, "b")).owner)
      // A process that stops waits for what is in progress.
      for (const name of ["a", "a0", "a1", "b"]) yield* gates.open(name)
      yield* TestClock.adjust("10 seconds")
      for (const { stop } of processes) yield* stop
    }).pipe(Effect.provide(shared())),
  )
})

describe("Caps", () => {
  it("of the limits hold for everybody, and are asked for as they are", () => {
    const none = { runsPerAccount: Infinity, runsPerWorkflow: Infinity }
    const perAccount = new Caps({ ...none, runsPerAccount: 2 })
    assert.isTrue(perAccount.holdFor(free))
    assert.deepStrictEqual(perAccount.asked, { runsPerAccount: 2, runsPerWorkflow: undefined })
    const perWorkflow = new Caps({ ...none, runsPerWorkflow: 3 })
    assert.isTrue(perWorkflow.holdFor(free))
    assert.deepStrictEqual(perWorkflow.asked, { runsPerAccount: undefined, runsPerWorkflow: 3 })
    assert.isFalse(new Caps(none).holdFor(free))
  })

  it.effect("asks for nothing where nobody is capped, and holds for all beyond its bound", () =>
    Effect.gen(function* () {
      const store = yield* RunStore
      const caps = new Caps(defaultLimits)
      yield* caps.learn(store)
      assert.isFalse(caps.holdFor(free))
      assert.deepStrictEqual(caps.asked, { runsPerAccount: undefined, runsPerWorkflow: undefined })
      for (let n = 0; n < cappedAccountsKnown; n++) yield* insert(AccountId.make(`acc_${n}`), 5)
      yield* caps.learn(store)
      assert.isTrue(caps.holdFor(AccountId.make("acc_7")))
      assert.isFalse(caps.holdFor(free))
      assert.strictEqual(caps.asked.runsPerAccount, Number.POSITIVE_INFINITY)
      yield* insert(AccountId.make("acc_more"), 5)
      yield* caps.learn(store)
      assert.isTrue(caps.holdFor(free))
    }).pipe(Effect.provide(shared())),
  )
})
