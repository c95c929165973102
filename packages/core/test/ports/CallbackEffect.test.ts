// An effect with a callback does the same in a fiber and without one.
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Fiber } from "effect"
import * as CallbackEffect from "../../src/ports/CallbackEffect.ts"

/** An effect that the test ends by hand, and what was asked of it. */
const held = () => {
  const asked: Array<string> = []
  const waiting: Array<CallbackEffect.Done<number, string>> = []
  const effect = CallbackEffect.make<number, string>((done) => {
    asked.push("begin")
    waiting.push(done)
    return () => asked.push("cancel")
  })
  return { asked, effect, end: (exit: Exit.Exit<number, string>) => waiting.shift()!(exit) }
}

const doubled = (exit: Exit.Exit<number, string>): Exit.Exit<number, string> =>
  Exit.map(exit, (value) => value * 2)

const broken = new Error("broken")

/** How an effect ends, once in a fiber and once without one. */
const both = Effect.fnUntraced(function* <A, E>(effect: Effect.Effect<A, E>) {
  const exits: Array<Exit.Exit<A, E>> = []
  CallbackEffect.begin(effect, Effect.runFork, (exit) => exits.push(exit))
  return [yield* Effect.exit(effect), ...exits]
})

const twice = <A>(value: A) => [value, value]
const at = (value: number) =>
  CallbackEffect.make<number, string>((done) => {
    done(Exit.succeed(value))
    return () => undefined
  })
const failing = CallbackEffect.make<number, string>((done) => {
  done(Exit.fail("bad"))
  return () => undefined
})

describe("CallbackEffect", () => {
  it.effect("begins nothing before somebody asks, and tells a fiber the outcome", () =>
    Effect.gen(function* () {
      const { asked, effect, end } = held()
      assert.deepStrictEqual(asked, [])
      const fiber = yield* Effect.forkChild(effect, { startImmediately: true })
      assert.deepStrictEqual(asked, ["begin"])
      end(Exit.succeed(1))
      assert.strictEqual(yield* Fiber.join(fiber), 1)
      assert.deepStrictEqual(asked, ["begin"])
    }),
  )

  it.effect("is canceled with the fiber that waits for it", () =>
    Effect.gen(function* () {
      const { asked, effect } = held()
      const fiber = yield* Effect.forkChild(effect, { startImmediately: true })
      yield* Fiber.interrupt(fiber)
      assert.deepStrictEqual(asked, ["begin", "cancel"])
    }),
  )

  it.effect("has the same outcome with and without a fiber", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* both(at(1)), twice(Exit.succeed(1)))
      assert.deepStrictEqual(yield* both(failing), twice(Exit.fail("bad")))
    }),
  )

  it.effect("does in a fiber what it says of fibers", () =>
    Effect.gen(function* () {
      const { effect } = held()
      const other = CallbackEffect.make<number, string>(
        (done) => effect.begin(done),
        () => Effect.succeed(2),
      )
      assert.strictEqual(yield* other, 2)
      assert.strictEqual(yield* other.mapExit(doubled), 4)
    }),
  )
})

describe("CallbackEffect.mapExit", () => {
  it.effect("changes the outcome with and without a fiber", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* both(at(2).mapExit(doubled)), twice(Exit.succeed(4)))
      assert.deepStrictEqual(yield* both(failing.mapExit(doubled)), twice(Exit.fail("bad")))
    }),
  )

  it.effect("makes a defect of what the function throws", () =>
    Effect.gen(function* () {
      const mapped = at(1).mapExit((): Exit.Exit<number> => {
        throw broken
      })
      assert.deepStrictEqual(yield* both(mapped), twice(Exit.die(broken)))
    }),
  )

  it("cancels what was begun", () => {
    const { asked, effect } = held()
    effect.mapExit(doubled).begin(() => undefined)()
    assert.deepStrictEqual(asked, ["begin", "cancel"])
  })
})

describe("onSuccess", () => {
  for (const [name, of] of [
    ["an effect with a callback", at],
    ["any other effect", (value: number): Effect.Effect<number, string> => Effect.succeed(value)],
  ] as const) {
    it.effect(`calls with what ${name} returns, and changes nothing`, () =>
      Effect.gen(function* () {
        const seen: Array<number> = []
        const watched = CallbackEffect.onSuccess(of(3), (value) => seen.push(value))
        assert.deepStrictEqual(yield* both(watched), twice(Exit.succeed(3)))
        assert.deepStrictEqual(seen, [3, 3])
      }),
    )
  }

  it.effect("does not call after a failure", () =>
    Effect.gen(function* () {
      const seen: Array<number> = []
      const watched = CallbackEffect.onSuccess(failing, (value) => seen.push(value))
      assert.deepStrictEqual(yield* both(watched), twice(Exit.fail("bad")))
      assert.deepStrictEqual(seen, [])
    }),
  )
})

describe("begin", () => {
  it("needs no fiber for an effect with a callback", () => {
    const { asked, effect } = held()
    const fork = () => {
      throw broken
    }
    CallbackEffect.begin(effect, fork, () => undefined)()
    assert.deepStrictEqual(asked, ["begin", "cancel"])
  })

  it("interrupts the fiber of any other effect", () => {
    const exits: Array<Exit.Exit<never>> = []
    const cancel = CallbackEffect.begin(Effect.never, Effect.runFork, (exit) => exits.push(exit))
    cancel()
    assert.deepStrictEqual(exits.map(Exit.hasInterrupts), [true])
  })
})
