// Runs with a concurrency key: which of them execute, and in which order.
import type { RunId } from "@millrace/core/domain/Id"
import { CurrentLimits, defaultLimits } from "@millrace/core/domain/Limits"
import type { WorkflowSettings } from "@millrace/core/domain/Workflow"
import { Runs } from "@millrace/core/engine/Runs"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { found } from "./TestCredits.ts"
import { account, engine, Gates, node, save, start } from "./TestEngine.ts"

const at = Effect.provide(engine())

const statusOf = (id: RunId) => Effect.map(found(id), ({ run }) => run.status)

const statusesOf = (ids: ReadonlyArray<RunId>) => Effect.forEach(ids, statusOf)

/** A workflow whose runs stay at the gate that a value of theirs names. */
const made = (settings: WorkflowSettings) =>
  Effect.gen(function* () {
    const runs = yield* Runs
    const { id: workflowId } = yield* save([node("g", "gate")], [], settings)
    return (customer: string, more: object = {}) =>
      Effect.tap(
        Effect.map(
          runs.start(account, { workflowId, values: { customer }, ...more }),
          ({ id }) => id,
        ),
        () => TestClock.adjust(1_000),
      )
  })

describe("a run with a concurrency key", () => {
  it.effect("waits until the one before it has ended, and others do not wait for it", () =>
    Effect.gen(function* () {
      const gates = yield* Gates
      const begin = yield* made({ concurrencyKey: "{{ values.customer }}" })
      const ids = [yield* begin("a"), yield* begin("a"), yield* begin("b")]
      assert.deepStrictEqual(yield* statusesOf(ids), ["RUNNING", "QUEUED", "RUNNING"])
      assert.deepInclude((yield* found(ids[1]!)).run, { concurrencyKey: "a", concurrency: 1 })
      yield* gates.open("g")
      yield* TestClock.adjust(2_000)
      assert.deepStrictEqual(yield* statusesOf(ids), ["COMPLETED", "COMPLETED", "COMPLETED"])
    }).pipe(at),
  )

  it.effect("waits for as many as the workflow allows, and may bring a key of its own", () =>
    Effect.gen(function* () {
      const begin = yield* made({ concurrency: 2 })
      const own = { concurrencyKey: "x-{{ values.customer }}" }
      const ids = yield* Effect.forEach([1, 2, 3], () => begin("a", own))
      const free = yield* begin("a")
      assert.deepStrictEqual(yield* statusesOf([...ids, free]), [
        ...(["RUNNING", "RUNNING", "QUEUED"] as const),
        "RUNNING",
      ])
      assert.strictEqual((yield* found(ids[0]!)).run.concurrencyKey, "x-a")
    }).pipe(at),
  )

  it.effect("lets the next one start when it is canceled", () =>
    Effect.gen(function* () {
      const runs = yield* Runs
      const begin = yield* made({ concurrencyKey: "all" })
      const [one, two, three] = yield* Effect.forEach(["a", "b", "c"], (name) => begin(name))
      yield* runs.cancel(account, two!)
      yield* runs.cancel(account, one!)
      yield* TestClock.adjust(1_000)
      assert.deepStrictEqual(yield* statusesOf([one!, two!, three!]), [
        "CANCELED",
        "CANCELED",
        "RUNNING",
      ])
    }).pipe(at),
  )

  it.effect("holds its key while it is parked", () =>
    Effect.gen(function* () {
      const wish = { concurrencyKey: "k" }
      const runs = yield* Runs
      const { id: workflowId } = yield* save([node("n", "nap", { millis: 60_000 })])
      const one = yield* runs.start(account, { workflowId, ...wish })
      const two = yield* runs.start(account, { workflowId, ...wish })
      yield* TestClock.adjust(30_000)
      assert.deepInclude((yield* found(one.id)).run, { status: "RUNNING", owner: null })
      assert.strictEqual(yield* statusOf(two.id), "QUEUED")
      yield* TestClock.adjust(32_000)
      assert.deepStrictEqual(yield* statusesOf([one.id, two.id]), ["COMPLETED", "RUNNING"])
    }).pipe(at),
  )

  it.effect("is refused where its text gives no key, by the name of the field", () =>
    Effect.gen(function* () {
      const begin = yield* made({ concurrencyKey: "{{ values.nobody }}" })
      const refused = (yield* Effect.flip(begin("a"))) as Error
      const clause = '{{ values.nobody }}: "values.nobody" is undefined'
      assert.strictEqual(refused.message, `settings.concurrencyKey: ${clause}`)
      const own = yield* Effect.flip(begin("a", { concurrencyKey: "{{ values.other }}" }))
      assert.match((own as Error).message, /^concurrencyKey: \{\{ values\.other }}/)
    }).pipe(at),
  )

  it.effect("is executed under caps, too", () =>
    Effect.gen(function* () {
      const run = yield* start([node("n", "pass")], [], { concurrencyKey: "k" })
      yield* TestClock.adjust(1_000)
      assert.strictEqual(yield* statusOf(run.id), "COMPLETED")
    }).pipe(at, Effect.provideService(CurrentLimits, { ...defaultLimits, runsPerAccount: 5 })),
  )
})
