import { assert, describe, it } from "@effect/vitest"
import { problemOfClock, StoreClock } from "@millrace/core/engine/StoreClock"
import { RunStore } from "@millrace/core/ports/RunStore"
import { StorageError } from "@millrace/core/ports/StorageError"
import * as Memory from "@millrace/memory/Stores"
import { Clock, Context, Duration, Effect, Fiber, Layer, Logger } from "effect"
import { TestClock } from "effect/testing"
import { shifted } from "./ShiftedClock.ts"

const epoch = 1_700_000_000_000
const minute = 60_000

/** A machine and a store, each with its own idea of the time, and the way between them. */
interface World {
  machineMillis: number
  storeMillis: number
  /** How long a question and its answer are on their way. */
  thereMillis: number
  backMillis: number
  isAway: boolean
  /** How often the store was asked. */
  asked: number
}

const scene = Effect.fnUntraced(function* (given: Partial<World>) {
  yield* TestClock.setTime(epoch)
  const world: World = {
    machineMillis: 0,
    storeMillis: 0,
    thereMillis: 0,
    backMillis: 0,
    isAway: false,
    asked: 0,
    ...given,
  }
  const clock = yield* Clock.Clock
  const away = new StorageError({ operation: "RunStore.now", cause: new Error("away") })
  const over = Layer.effect(
    RunStore,
    Effect.map(RunStore, (store) =>
      RunStore.of({
        ...store,
        now: Effect.suspend(() => {
          const { backMillis, isAway, thereMillis } = world
          world.asked += 1
          const storeClock = shifted(clock, () => world.storeMillis)
          const told = Effect.provideService(store.now, Clock.Clock, storeClock)
          const answer = isAway ? Effect.fail(away) : told
          return answer.pipe(
            Effect.delay(thereMillis),
            Effect.flatMap((now) => Effect.delay(Effect.succeed(now), backMillis)),
          )
        }),
      }),
    ),
  ).pipe(Layer.provide(Memory.layer))
  const machine = shifted(clock, () => world.machineMillis)
  const layer = StoreClock.layer.pipe(
    Layer.provide(over),
    Layer.provide(Layer.succeed(Clock.Clock, machine)),
  )
  const built = yield* Effect.forkScoped(Layer.build(Layer.fresh(layer)))
  yield* TestClock.adjust(10_000)
  const { aheadMillis, clock: told } = Context.get(yield* Fiber.join(built), StoreClock)
  /** By how much the clock differs from the store's own. */
  const error = () =>
    told.currentTimeMillisUnsafe() - clock.currentTimeMillisUnsafe() - world.storeMillis
  return { world, told, aheadMillis, error }
})

describe("StoreClock", () => {
  for (const millis of [-2 * minute, 0, 2 * minute]) {
    it.effect(`tells the store's time on a machine that is ${millis} ms ahead`, () =>
      Effect.gen(function* () {
        const { aheadMillis, error } = yield* scene({ machineMillis: millis })
        assert.strictEqual(error(), 0)
        assert.strictEqual(aheadMillis(), millis)
        yield* TestClock.adjust(60 * minute)
        assert.strictEqual(error(), 0)
      }),
    )
  }

  it.effect("goes on as before when the machine's clock is set", () =>
    Effect.gen(function* () {
      const { aheadMillis, error, world } = yield* scene({})
      world.machineMillis = 60 * minute
      assert.strictEqual(error(), 0)
      assert.strictEqual(aheadMillis(), 60 * minute)
      yield* TestClock.adjust(1)
      assert.strictEqual(error(), 0)
    }),
  )

  it.effect("follows the store's clock within five seconds, forwards and back", () =>
    Effect.gen(function* () {
      const { error, world } = yield* scene({})
      for (const millis of [2 * minute, -2 * minute]) {
        world.storeMillis = millis
        yield* TestClock.adjust(5_000)
        assert.strictEqual(error(), 0)
      }
    }),
  )

  it.effect("is wrong by what the quickest answer took at most", () =>
    Effect.gen(function* () {
      const { error, world } = yield* scene({ thereMillis: 300, machineMillis: minute })
      assert.isAtMost(Math.abs(error()), 150)
      world.thereMillis = 2
      yield* TestClock.adjust(6_000)
      assert.isAtMost(Math.abs(error()), 2)
      // What a slow answer says, it knows better.
      world.backMillis = 4_000
      yield* TestClock.adjust(20_000)
      assert.isAtMost(Math.abs(error()), 2)
    }),
  )

  it.effect("does not go back by less than a second: it stands still until the time has come", () =>
    Effect.gen(function* () {
      const { told, world } = yield* scene({})
      const before = told.currentTimeMillisUnsafe()
      world.storeMillis = -600
      let last = before
      for (let millis = 0; millis < 7_000; millis += 100) {
        yield* TestClock.adjust(100)
        const now = told.currentTimeMillisUnsafe()
        assert.isAtLeast(now, last)
        last = now
      }
    }),
  )

  it.effect("is wrong by half of what the first answer took at most, whichever way was slow", () =>
    Effect.gen(function* () {
      const { error } = yield* scene({ backMillis: 300, storeMillis: minute })
      assert.isAtMost(Math.abs(error()), 151)
    }),
  )

  it.effect("asks again at the start as long as an answer takes long, a few times", () =>
    Effect.gen(function* () {
      const counts: Array<number> = []
      for (const backMillis of [0, 20, 21]) {
        const { world } = yield* scene({ backMillis })
        counts.push(world.asked)
      }
      assert.deepStrictEqual(counts, [3, 2, 6])
    }),
  )

  it.effect("has the machine's timers and monotonic time, and its own in nanoseconds", () =>
    Effect.gen(function* () {
      const { told } = yield* scene({ storeMillis: minute })
      const machine = yield* Clock.Clock
      assert.strictEqual(told.monotonicTimeNanosUnsafe(), machine.monotonicTimeNanosUnsafe())
      assert.strictEqual(yield* told.monotonicTimeNanos, yield* machine.monotonicTimeNanos)
      const nanos = BigInt(told.currentTimeMillisUnsafe()) * 1_000_000n
      assert.deepStrictEqual(
        [told.currentTimeNanosUnsafe(), yield* told.currentTimeNanos],
        [nanos, nanos],
      )
      assert.strictEqual(yield* told.currentTimeMillis, told.currentTimeMillisUnsafe())
      const sleeping = yield* Effect.forkChild(told.sleep(Duration.millis(700)))
      yield* TestClock.adjust(699)
      assert.isUndefined(sleeping.pollUnsafe())
      yield* TestClock.adjust(1)
      yield* Fiber.join(sleeping)
    }),
  )

  it.effect("goes on while the store is away", () =>
    Effect.gen(function* () {
      const { error, world } = yield* scene({ machineMillis: -minute })
      world.isAway = true
      yield* TestClock.adjust(60 * minute)
      assert.strictEqual(error(), 0)
      world.isAway = false
      world.storeMillis = 2 * minute
      yield* TestClock.adjust(5_000)
      assert.strictEqual(error(), 0)
    }),
  )

  it.effect("tells once of a machine that is wrong by more than two seconds", () => {
    const lines: Array<string> = []
    const logger = Logger.make(({ message }) => void lines.push(String(message)))
    return Effect.gen(function* () {
      const { world } = yield* scene({ machineMillis: 1_900 })
      yield* TestClock.adjust(minute)
      assert.deepStrictEqual(lines, [])
      world.machineMillis = -120_000
      yield* TestClock.adjust(minute)
      assert.deepStrictEqual(lines, [problemOfClock(-120_000)])
      yield* scene({ machineMillis: 5_000 })
      assert.strictEqual(lines.length, 2)
    }).pipe(Effect.provide(Logger.layer([logger])))
  })
})

describe("StoreClock.problemOfClock", () => {
  it("says by how many seconds and on which side, from two seconds on", () => {
    assert.isUndefined(problemOfClock(2_000))
    assert.isUndefined(problemOfClock(-2_000))
    assert.match(problemOfClock(2_001)!, /machine is 2\.0 s ahead of the database's/)
    assert.match(problemOfClock(-120_400)!, /machine is 120\.4 s behind the database's/)
  })
})
