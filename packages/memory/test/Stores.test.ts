/**
 * What is particular to the stores in memory: they follow Effect's clock, and each build is empty.
 */
import { assert, describe, it } from "@effect/vitest"
import { Samples } from "@millrace/conformance"
import { KeyStore } from "@millrace/core/ports/KeyStore"
import { RunStore } from "@millrace/core/ports/RunStore"
import { WorkflowStore } from "@millrace/core/ports/WorkflowStore"
import { Stores } from "@millrace/memory"
import { Effect, Option } from "effect"
import { TestClock } from "effect/testing"

describe("Stores.layer", () => {
  it.effect("ends a lease when the clock has come so far", () =>
    Effect.gen(function* () {
      const samples = yield* Samples.make
      const store = yield* RunStore
      const [owner, other] = [samples.runner(), samples.runner()]
      yield* store.commit(Samples.newRun(samples.run({ status: "RUNNING", owner })))
      yield* store.heartbeat(owner, 1_000)
      const request = { runner: other, leaseMillis: 1_000, limit: 1 }
      yield* TestClock.adjust("999 millis")
      assert.strictEqual((yield* store.claim(request)).length, 0)
      yield* TestClock.adjust("1 millis")
      assert.strictEqual((yield* store.claim(request)).length, 1)
    }).pipe(Effect.provide(Stores.layer)),
  )

  it.effect("renews the windows of a key when the clock enters the next one", () =>
    Effect.gen(function* () {
      const samples = yield* Samples.make
      const store = yield* KeyStore
      const hash = samples.hash()
      yield* store.insertAccount(samples.accountOf())
      yield* store.insert(samples.key({ perMinute: 1, perDay: 2 }), hash)
      const outcomes: Array<string> = []
      for (const step of ["0 millis", "59 seconds", "1 seconds", "1 minute", "1 day"] as const) {
        yield* TestClock.adjust(step)
        outcomes.push((yield* store.admit(hash))._tag)
      }
      assert.deepStrictEqual(outcomes, ["Admitted", "Limited", "Admitted", "Limited", "Admitted"])
      const refused = yield* store.admit(hash)
      assert.strictEqual(refused._tag, "Limited")
      if (refused._tag === "Limited") assert.strictEqual(refused.retryAfterMillis, 60_000)
    }).pipe(Effect.provide(Stores.layer)),
  )

  it.effect("lets the name of a start go after 24 hours, to another run", () =>
    Effect.gen(function* () {
      const samples = yield* Samples.make
      const store = yield* RunStore
      const start = Effect.fnUntraced(function* (bodyHash: string) {
        const run = samples.run()
        const definition = Samples.definitionFor(run)
        const expected = {
          _tag: "New",
          definition,
          idempotencyKey: { key: "k", bodyHash },
        } as const
        const exit = yield* Effect.exit(store.commit(Samples.newRun(run, { expected })))
        return exit._tag
      })
      const known = Effect.map(store.findStart(samples.account, "k"), Option.getOrUndefined)
      assert.strictEqual(yield* start("first"), "Success")
      yield* TestClock.adjust("86399999 millis")
      assert.strictEqual(yield* start("second"), "Failure")
      assert.strictEqual((yield* known)?.bodyHash, "first")
      yield* TestClock.adjust("1 millis")
      assert.isUndefined(yield* known)
      assert.strictEqual(yield* start("third"), "Success")
      assert.strictEqual((yield* known)?.bodyHash, "third")
    }).pipe(Effect.provide(Stores.layer)),
  )

  it.effect("lets a key expire when the clock has come so far", () =>
    Effect.gen(function* () {
      const samples = yield* Samples.make
      const store = yield* KeyStore
      const hash = samples.hash()
      yield* store.insertAccount(samples.accountOf())
      yield* store.insert(samples.key({ expiresAt: 5_000 }), hash)
      yield* TestClock.adjust("4999 millis")
      assert.strictEqual((yield* store.admit(hash))._tag, "Admitted")
      yield* TestClock.adjust("1 millis")
      assert.strictEqual((yield* store.admit(hash))._tag, "Refused")
    }).pipe(Effect.provide(Stores.layer)),
  )

  it.effect("is empty in every build", () =>
    Effect.gen(function* () {
      const samples = yield* Samples.make
      const workflow = samples.workflow()
      const insert = WorkflowStore.use((store) => store.insert(workflow))
      const find = WorkflowStore.use((store) => store.find(samples.account, workflow.id))
      yield* Effect.provide(insert, Stores.layer)
      assert.isTrue(Option.isNone(yield* Effect.provide(find, Stores.layer)))
    }),
  )
})
