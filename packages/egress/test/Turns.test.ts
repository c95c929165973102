/**
 * Turns of calls: how many are under way, who is next, and what becomes of those who leave.
 */
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, Schema } from "effect"
import type { CallBounds } from "../src/internal/Turns.ts"
import { Turns } from "../src/internal/Turns.ts"

const many: CallBounds = { atOnce: 100, perOrigin: 100, perAccount: 100, waitingPerAccount: 100 }

/** Calls that last until the test ends them, by a name. */
class Stage {
  readonly turns: Turns
  /** Under way, in the order in which they began. */
  readonly begun: Array<string> = []
  readonly #ends = new Map<string, Deferred.Deferred<void>>()

  constructor(bounds: Partial<CallBounds>) {
    this.turns = new Turns({ ...many, ...bounds })
  }

  /** Makes a call, whose name is `account origin number`. */
  readonly call = (name: string) => {
    const [account = "", origin = ""] = name.split(" ")
    const end = Deferred.makeUnsafe<void>()
    this.#ends.set(name, end)
    const last = Effect.suspend(() => {
      this.begun.push(name)
      return Deferred.await(end)
    })
    return Effect.forkChild(this.turns.inTurn(account, origin, last), { startImmediately: true })
  }

  /** Ends a call, and lets begin what can. */
  readonly end = (name: string) =>
    Effect.andThen(Deferred.succeed(this.#ends.get(name)!, undefined), settled)
}

const settled = Effect.repeat(Effect.yieldNow, { times: 20 })

describe("Turns.inTurn", () => {
  it.effect("lets so many begin at once, to an origin, for an account, and in all", () =>
    Effect.gen(function* () {
      const calls = ["a x 1", "a x 2", "a y 1", "a y 2", "b x 1", "b y 1", "b z 1", "c z 1"]
      const begun = Effect.fnUntraced(function* (bounds: Partial<CallBounds>) {
        const stage = new Stage(bounds)
        yield* Effect.forEach(calls, stage.call)
        return stage.begun.join(", ")
      })
      assert.strictEqual(yield* begun({}), calls.join(", "))
      assert.strictEqual(yield* begun({ perOrigin: 1 }), "a x 1, a y 1, b z 1")
      assert.strictEqual(yield* begun({ perAccount: 1 }), "a x 1, b x 1, c z 1")
      assert.strictEqual(yield* begun({ atOnce: 2 }), "a x 1, a x 2")
    }),
  )

  it.effect("gives turns to accounts by turns, however much one of them wants", () =>
    Effect.gen(function* () {
      const stage = new Stage({ perOrigin: 1 })
      const calls = ["a x 1", "a x 2", "a x 3", "a x 4", "b x 1", "b x 2", "c x 1"]
      yield* Effect.forEach(calls, stage.call)
      for (let index = 0; index < calls.length; index++) yield* stage.end(stage.begun[index]!)
      assert.strictEqual(stage.begun.join(", "), "a x 1, a x 2, b x 1, c x 1, a x 3, b x 2, a x 4")
    }),
  )

  it.effect(
    "gives turns to the origins of an account by turns, and passes by those that are full",
    () =>
      Effect.gen(function* () {
        const stage = new Stage({ perAccount: 2, perOrigin: 1 })
        const calls = ["a x 1", "a x 2", "a x 3", "a y 1", "a z 1", "b y 1"]
        yield* Effect.forEach(calls, stage.call)
        assert.strictEqual(stage.begun.join(", "), "a x 1, a y 1")
        yield* stage.end("a y 1")
        assert.strictEqual(stage.begun.slice(2).join(", "), "a z 1, b y 1")
        yield* stage.end("a z 1")
        assert.lengthOf(stage.begun, 4)
        yield* stage.end("a x 1")
        assert.strictEqual(stage.begun.at(-1), "a x 2")
      }),
  )

  it.effect("passes by an account that is full, and gives each origin its turn again", () =>
    Effect.gen(function* () {
      const stage = new Stage({ perAccount: 1 })
      const calls = ["a x 1", "b x 1", "a x 2", "a x 3", "a y 1", "a y 2", "a y 3"]
      yield* Effect.forEach(calls, stage.call)
      yield* stage.end("b x 1")
      assert.deepStrictEqual(stage.begun, ["a x 1", "b x 1"])
      const turns = ["a x 2", "a y 1", "a x 3", "a y 2", "a y 3"]
      for (const each of ["a x 1", ...turns]) yield* stage.end(each)
      assert.deepStrictEqual(stage.begun.slice(2), turns)
    }),
  )

  it.effect("refuses one account what it has too much of, and no other", () =>
    Effect.gen(function* () {
      const stage = new Stage({ atOnce: 1, waitingPerAccount: 2 })
      yield* Effect.forEach(["a x 1", "a x 2", "a x 3"], stage.call)
      const error = yield* Effect.flip(stage.turns.inTurn("a", "x", Effect.void))
      assert.strictEqual(error.reason, "crowded")
      assert.strictEqual(error.message, "Too many calls: 2 of this account already wait in turn")
      yield* stage.call("b x 1")
      yield* stage.end("a x 1")
      yield* stage.end("a x 2")
      assert.deepStrictEqual(stage.begun, ["a x 1", "a x 2", "b x 1"])
    }),
  )

  it.effect("forgets whoever is interrupted, waiting or not", () =>
    Effect.gen(function* () {
      const stage = new Stage({ atOnce: 1 })
      const first = yield* stage.call("a x 1")
      const second = yield* stage.call("a x 2")
      yield* stage.call("a x 3")
      yield* Fiber.interrupt(second)
      yield* Fiber.interrupt(first)
      yield* settled
      assert.deepStrictEqual(stage.begun, ["a x 1", "a x 3"])
      yield* stage.end("a x 3")
      yield* stage.call("b x 1")
      assert.deepStrictEqual(stage.begun, ["a x 1", "a x 3", "b x 1"])
    }),
  )

  const Step = Schema.Struct({
    account: Schema.Literals(["a", "b", "c"]),
    origin: Schema.Literals(["x", "y", "z"]),
    act: Schema.Literals(["call", "call", "end", "interrupt"]),
    which: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 1_000 })),
  })
  const Bounds = Schema.Struct({
    atOnce: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 6 })),
    perOrigin: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 4 })),
    perAccount: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 4 })),
  })

  it.effect.prop(
    "exceeds no bound, and lets nothing wait that could be made",
    { bounds: Bounds, steps: Schema.Array(Step) },
    ({ bounds, steps }) =>
      Effect.gen(function* () {
        const stage = new Stage(bounds)
        const open = new Map<string, Fiber.Fiber<unknown, unknown>>()
        for (const [number, { account, act, origin, which }] of steps.entries()) {
          const name = `${account} ${origin} ${number}`
          const known = [...open.keys()]
          const chosen = known[which % Math.max(1, known.length)]
          if (act === "call" || chosen === undefined) open.set(name, yield* stage.call(name))
          else {
            if (act === "interrupt") yield* Fiber.interrupt(open.get(chosen)!)
            else if (stage.begun.includes(chosen)) yield* stage.end(chosen)
            else continue
            open.delete(chosen)
          }
          yield* settled
          const under = stage.begun.filter((each) => open.has(each))
          const count = (place: number, key: string) =>
            under.filter((each) => each.split(" ")[place] === key).length
          const fits = (each: string, more: number) => {
            const [owner = "", to = ""] = each.split(" ")
            return (
              under.length + more <= bounds.atOnce &&
              count(0, owner) + more <= bounds.perAccount &&
              count(1, to) + more <= bounds.perOrigin
            )
          }
          for (const each of open.keys()) {
            assert.strictEqual(fits(each, under.includes(each) ? 0 : 1), under.includes(each))
          }
        }
      }),
  )
})
