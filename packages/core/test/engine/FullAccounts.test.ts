// Starts that would have to wait: what becomes of them when they are not to, and when too many do.
import type { Limits } from "@millrace/core/domain/Limits"
import { CurrentLimits, defaultLimits } from "@millrace/core/domain/Limits"
import { Runs, type StartRequest } from "@millrace/core/engine/Runs"
import { KeyStore } from "@millrace/core/ports/KeyStore"
import { RunStore } from "@millrace/core/ports/RunStore"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Option } from "effect"
import { TestClock } from "effect/testing"
import { account, engine, Gates, node, save } from "./TestEngine.ts"

const under =
  (limits: Partial<Limits>) =>
  <A, E, R>(effect: Effect.Effect<A, E, R>) =>
    effect.pipe(
      Effect.provide(engine()),
      Effect.provideService(CurrentLimits, { ...defaultLimits, ...limits }),
    )

const refuse = { whenFull: "refuse" } as const

/** Starts of one workflow, whose runs stay at the gate. */
const starting = Effect.gen(function* () {
  const runs = yield* Runs
  const { id: workflowId } = yield* save([node("g", "gate")])
  return (more: Partial<StartRequest> = {}) => runs.start(account, { workflowId, ...more })
})

const refusalOf = <A, E extends Error & { readonly _tag: string }, R>(
  start: Effect.Effect<A, E, R>,
) => Effect.flip(start)

const stored = RunStore.use((store) =>
  Effect.map(store.list({ account, limit: 50 }), ({ items }) => items.length),
)

describe('a start with whenFull: "refuse"', () => {
  it.effect("is refused where its run would be QUEUED, and nothing is stored", () =>
    Effect.gen(function* () {
      const start = yield* starting
      const first = yield* start(refuse)
      assert.strictEqual(first.status, "RUNNING")
      const refusal = yield* refusalOf(start(refuse))
      assert.strictEqual(refusal._tag, "RunsFull")
      assert.propertyVal(refusal, "retryAfterSeconds", 1)
      assert.match(refusal.message, /^The run would have to wait: this server has no slot for/)
      assert.strictEqual(yield* stored, 1)
      assert.strictEqual((yield* start({ whenFull: "wait" })).status, "QUEUED")
    }).pipe(under({ runsAtOnce: 2, runsPerAccountPercent: 50 })),
  )

  it.effect("finds room under a cap of all servers, as long as there is some", () =>
    Effect.gen(function* () {
      const gates = yield* Gates
      const start = yield* starting
      yield* start(refuse)
      yield* start(refuse)
      assert.strictEqual((yield* refusalOf(start(refuse)))._tag, "RunsFull")
      yield* TestClock.adjust(1_000)
      assert.strictEqual((yield* refusalOf(start(refuse)))._tag, "RunsFull")
      yield* gates.open("g")
      yield* TestClock.adjust(1_000)
      assert.strictEqual((yield* start(refuse)).status, "QUEUED")
    }).pipe(under({ runsPerAccount: 2 })),
  )

  it.effect("knows the account's own cap", () =>
    Effect.gen(function* () {
      const keys = yield* KeyStore
      yield* keys.insertAccount({ id: account, name: "Small", createdAt: 0, runsAtOnce: 1 })
      yield* TestClock.adjust(10_000)
      const start = yield* starting
      yield* start(refuse)
      const refusal = yield* refusalOf(start(refuse))
      assert.match(refusal.message, /: the account has as many runs at work as it may;/)
    }).pipe(under({})),
  )

  it.effect("is refused where another run has its concurrency key, or waits for it", () =>
    Effect.gen(function* () {
      const start = yield* starting
      yield* start({ ...refuse, concurrencyKey: "a" })
      const refusal = yield* refusalOf(start({ ...refuse, concurrencyKey: "a" }))
      assert.match(refusal.message, /as many runs as may have its concurrency key are open/)
      assert.strictEqual((yield* start({ ...refuse, concurrencyKey: "b" })).status, "QUEUED")
    }).pipe(under({})),
  )

  it.effect("cannot start later", () =>
    Effect.gen(function* () {
      const start = yield* starting
      const refusal = yield* refusalOf(start({ ...refuse, startAt: 9_000 }))
      assert.match(refusal.message, /^whenFull: a start that comes later waits/)
    }).pipe(under({})),
  )
})

describe("runsQueuedPerAccount", () => {
  it.effect("holds for starts that come together, and gives the room of canceled runs back", () =>
    Effect.gen(function* () {
      const runs = yield* Runs
      const start = yield* starting
      const starts = Array.from({ length: 50 }, () => Effect.option(start()))
      const started = yield* Effect.all(starts, { concurrency: "unbounded" })
      assert.strictEqual(started.filter(Option.isSome).length, 4)
      assert.strictEqual(yield* stored, 4)
      const { items } = yield* RunStore.use(({ list }) =>
        list({ account, limit: 50, status: "QUEUED" }),
      )
      yield* runs.cancel(account, items[0]!.id)
      yield* TestClock.adjust(1_000)
      yield* start()
      assert.strictEqual((yield* refusalOf(start()))._tag, "QueueFull")
    }).pipe(under({ runsAtOnce: 2, runsPerAccountPercent: 50, runsQueuedPerAccount: 3 })),
  )

  it.effect("bounds the runs of an account that wait, and those that start at once are free", () =>
    Effect.gen(function* () {
      const gates = yield* Gates
      const start = yield* starting
      const statuses = yield* Effect.forEach([1, 2, 3], () => start())
      assert.deepStrictEqual(
        statuses.map(({ status }) => status),
        ["RUNNING", "QUEUED", "QUEUED"],
      )
      const refusal = yield* refusalOf(start())
      assert.strictEqual(refusal._tag, "QueueFull")
      assert.strictEqual(
        refusal.message,
        "The account has 2 runs that wait, which is the limit; start this one later",
      )
      assert.strictEqual(yield* stored, 3)
      yield* gates.open("g")
      yield* TestClock.adjust(3_000)
      assert.strictEqual((yield* start()).status, "RUNNING")
    }).pipe(under({ runsAtOnce: 2, runsPerAccountPercent: 50, runsQueuedPerAccount: 2 })),
  )

  it.effect("counts runs that wait for a key, too", () =>
    Effect.gen(function* () {
      const start = yield* starting
      for (let n = 0; n < 3; n++) {
        yield* start({ concurrencyKey: "k" })
        yield* TestClock.adjust(1_500)
      }
      const refusal = yield* refusalOf(start({ concurrencyKey: "k" }))
      assert.strictEqual(refusal._tag, "QueueFull")
    }).pipe(under({ runsQueuedPerAccount: 2 })),
  )
})
