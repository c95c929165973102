/**
 * Deadlines, alone and as the guard keeps them, on a clock that moves when it is told to and that
 * counts who sleeps by it.
 */
import { describe, it } from "@effect/vitest"
import { Clock, Duration, Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { expect } from "vitest"
import { Deadlines } from "../src/internal/Deadlines.ts"
import { Egress } from "../src/Egress.ts"
import { openWeb } from "../src/Policy.ts"
import * as LocalServer from "./LocalServer.ts"

/** The test's clock, whose sleepers are counted, and wake some milliseconds early if told to. */
const counting = Effect.fnUntraced(function* (earlyMillis = 0) {
  const inner = yield* Clock.Clock
  let sleepers = 0
  const clock: Clock.Clock = {
    currentTimeMillis: inner.currentTimeMillis,
    currentTimeMillisUnsafe: () => inner.currentTimeMillisUnsafe(),
    currentTimeNanos: inner.currentTimeNanos,
    currentTimeNanosUnsafe: () => inner.currentTimeNanosUnsafe(),
    monotonicTimeNanos: inner.monotonicTimeNanos,
    monotonicTimeNanosUnsafe: () => inner.monotonicTimeNanosUnsafe(),
    sleep: (duration) => {
      const millis = Duration.toMillis(duration)
      const enter = Effect.sync(() => (sleepers += 1))
      const leave = Effect.sync(() => (sleepers -= 1))
      const sleep = inner.sleep(Duration.millis(millis > earlyMillis ? millis - earlyMillis : 1))
      return Effect.acquireUseRelease(
        enter,
        () => sleep,
        () => leave,
      )
    },
  }
  return { clock, sleepers: () => sleepers }
})

/** Deadlines by that clock, and what has expired of them so far. */
const watched = Effect.fnUntraced(function* (earlyMillis = 0) {
  const { clock, sleepers } = yield* counting(earlyMillis)
  const deadlines = yield* Effect.provideService(Deadlines.make, Clock.Clock, clock)
  const expired: Array<string> = []
  const add = (name: string, millis: number, then = () => {}) => {
    const expire = () => {
      expired.push(name)
      then()
    }
    const deadline = { at: deadlines.after(millis), expire }
    deadlines.add(deadline)
    return deadline
  }
  return { add, remove: deadlines.remove.bind(deadlines), expired, sleepers }
})

describe("Deadlines", () => {
  it.effect("expire when their time has come, not a millisecond before, and once", () =>
    Effect.gen(function* () {
      const { add, expired } = yield* watched()
      add("second", 2_000)
      add("first", 1_500)
      yield* TestClock.adjust(1_499)
      expect(expired).toEqual([])
      yield* TestClock.adjust(1)
      expect(expired).toEqual(["first"])
      yield* TestClock.adjust(499)
      expect(expired).toEqual(["first"])
      yield* TestClock.adjust(1)
      expect(expired).toEqual(["first", "second"])
      yield* TestClock.adjust(10_000)
      expect(expired).toEqual(["first", "second"])
    }),
  )

  it.effect("do not expire early where a timer does", () =>
    Effect.gen(function* () {
      const { add, expired } = yield* watched(5)
      add("only", 1_000)
      yield* TestClock.adjust(999)
      expect(expired).toEqual([])
      yield* TestClock.adjust(1)
      expect(expired).toEqual(["only"])
    }),
  )

  it.effect("are noticed when they come before all the others", () =>
    Effect.gen(function* () {
      const { add, expired } = yield* watched()
      add("long", 10_000)
      yield* TestClock.adjust(100)
      add("short", 50)
      yield* TestClock.adjust(49)
      expect(expired).toEqual([])
      yield* TestClock.adjust(1)
      expect(expired).toEqual(["short"])
      yield* TestClock.adjust(9_850)
      expect(expired).toEqual(["short", "long"])
    }),
  )

  it.effect("do not expire once they are removed, and others still do", () =>
    Effect.gen(function* () {
      const { add, expired, remove } = yield* watched()
      const gone = add("gone", 100)
      add("stays", 200)
      remove(gone)
      remove(gone)
      yield* TestClock.adjust(199)
      expect(expired).toEqual([])
      yield* TestClock.adjust(1)
      expect(expired).toEqual(["stays"])
    }),
  )

  it.effect("can be added and removed by what expires", () =>
    Effect.gen(function* () {
      const { add, expired, remove, sleepers } = yield* watched()
      add("one", 100, () => {
        add("three", 20)
        remove(two)
      })
      const two = add("two", 100)
      yield* TestClock.adjust(119)
      expect(expired).toEqual(["one"])
      yield* TestClock.adjust(1)
      expect(expired).toEqual(["one", "three"])
      expect(sleepers()).toBe(0)
    }),
  )

  it.effect("never expire while they are being added, however late they are", () =>
    Effect.gen(function* () {
      const { add, expired, sleepers } = yield* watched()
      add("late", -1_000)
      add("no number", Number.NaN)
      expect(expired).toEqual([])
      yield* TestClock.adjust(1)
      expect(expired).toEqual(["late", "no number"])
      expect(sleepers()).toBe(0)
    }),
  )

  it.effect("have one sleeper for all of them, and none where none is left", () =>
    Effect.gen(function* () {
      const { add, remove, sleepers } = yield* watched()
      expect(sleepers()).toBe(0)
      const all = [300, 200, 100, 400].map((millis) => add(`${millis}`, millis))
      expect(sleepers()).toBe(1)
      yield* TestClock.adjust(100)
      expect(sleepers()).toBe(1)
      for (const each of all) remove(each)
      expect(sleepers()).toBe(0)
      add("again", 100)
      expect(sleepers()).toBe(1)
      yield* TestClock.adjust(100)
      expect(sleepers()).toBe(0)
    }),
  )
})

describe("Egress.request, by its deadline", () => {
  /** Calls a server that never answers, under a name that takes its time to resolve. */
  const call = Effect.fnUntraced(function* (host: string) {
    const { clock, sleepers } = yield* counting()
    let arrived: () => void = () => {}
    const arrival = new Promise<void>((resolve) => (arrived = resolve))
    const server = yield* LocalServer.tcp((socket) => socket.once("data", () => arrived()))
    const slowly = () => Effect.delay(Effect.succeed(["127.0.0.1"]), 150)
    const guard = Egress.layer({ ...openWeb, allow: [{ cidr: "127.0.0.0/8" }] }, slowly)
    const url = `http://${host}:${server.port}/`
    const fiber = yield* Egress.use((egress) =>
      egress.request({ method: "GET", url, timeoutMillis: 200 }),
    ).pipe(
      Effect.flip,
      Effect.provide(guard),
      Effect.provideService(Clock.Clock, clock),
      Effect.forkChild({ startImmediately: true }),
    )
    return { arrival: Effect.promise(() => arrival), fiber, sleepers }
  })

  for (const host of ["slow.test", "127.0.0.1"]) {
    it.effect(`bounds resolving and answering together, for ${host}`, () =>
      Effect.gen(function* () {
        const { arrival, fiber, sleepers } = yield* call(host)
        yield* TestClock.adjust(150)
        yield* arrival
        yield* TestClock.adjust(49)
        expect([fiber.pollUnsafe(), sleepers()]).toEqual([undefined, 1])
        yield* TestClock.adjust(1)
        const error = yield* Fiber.join(fiber)
        expect([error.reason, sleepers()]).toEqual(["timeout", 0])
        expect(error.message).toBe("No complete answer came within 0.2 s")
      }),
    )
  }

  it.effect("leaves nobody asleep when a call is interrupted", () =>
    Effect.gen(function* () {
      const { arrival, fiber, sleepers } = yield* call("127.0.0.1")
      yield* arrival
      expect(sleepers()).toBe(1)
      yield* Fiber.interrupt(fiber)
      expect(sleepers()).toBe(0)
    }),
  )
})
