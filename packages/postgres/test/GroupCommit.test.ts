/**
 * Group commit over a flush that the test lets through by hand.
 */
import { assert, describe, it } from "@effect/vitest"
import { AsyncLocalStorage } from "node:async_hooks"
import * as CallbackEffect from "@millrace/core/ports/CallbackEffect"
import * as GroupCommit from "../src/internal/GroupCommit.ts"
import { Deferred, Effect, Exit, Fiber, Scope } from "effect"
import { TestClock } from "effect/testing"

/** A store of members that records each flush and holds it until the gate is opened. */
const make = Effect.fnUntraced(function* (
  check: (members: ReadonlyArray<string>) => Effect.Effect<void, string> = () => Effect.void,
  maxMembers = 100,
  flushesAtOnce = 1,
) {
  const flushes: Array<ReadonlyArray<string>> = []
  const gates: Array<Deferred.Deferred<void>> = []
  const add = yield* GroupCommit.make<string, string, string>({
    keyOf: (member) => member.slice(0, 1),
    exclusivityKeyOf: (member) => (member.endsWith("$") ? "$" : undefined),
    flush: Effect.fnUntraced(function* (members: ReadonlyArray<string>) {
      flushes.push(members)
      const gate = Deferred.makeUnsafe<void>()
      gates.push(gate)
      yield* Deferred.await(gate)
      yield* check(members)
      return members.map((member) => `did ${member}`)
    }),
    isOneMembers: (error) => error === "bad member",
    closed: "closed",
    late: "late",
    flushMillis: 1_000,
    maxMembers,
    flushesAtOnce,
  })
  const submit = (member: string) =>
    CallbackEffect.make<string, string>((done) => add(member, done))
  const settle = Effect.gen(function* () {
    for (let n = 0; n < 10; n++) yield* Effect.yieldNow
  })
  return {
    flushes,
    /** Submits, and waits until the member is where it has to be. */
    start: (member: string) => Effect.tap(Effect.forkChild(submit(member)), () => settle),
    /** Lets the flush in flight through. */
    open: Effect.suspend(() => Deferred.succeed(gates.shift()!, undefined)).pipe(
      Effect.andThen(settle),
    ),
    submit,
    add,
    settle,
  }
})

describe("GroupCommit.submit", () => {
  it.effect("sends what arrives in one turn of the event loop together", () =>
    Effect.gen(function* () {
      const { add, flushes, settle } = yield* make()
      for (const member of ["a", "b", "c"]) add(member, () => undefined)
      assert.deepStrictEqual(flushes, [])
      yield* settle
      assert.deepStrictEqual(flushes, [["a", "b", "c"]])
    }),
  )

  it.effect("sends one member at once, and the others together behind it", () =>
    Effect.gen(function* () {
      const { flushes, open, start } = yield* make()
      const fibers = [yield* start("a"), yield* start("b"), yield* start("c")]
      assert.deepStrictEqual(flushes, [["a"]])
      yield* open
      assert.deepStrictEqual(flushes, [["a"], ["b", "c"]])
      yield* open
      const outcomes = yield* Effect.forEach(fibers, Fiber.join)
      assert.deepStrictEqual(outcomes, ["did a", "did b", "did c"])
    }),
  )

  it.effect("never puts two members of one key into a flush, and keeps their order", () =>
    Effect.gen(function* () {
      const { flushes, open, start } = yield* make()
      for (const member of ["x", "a1", "a2", "b1", "a3"]) yield* start(member)
      for (let n = 0; n < 4; n++) yield* open
      assert.deepStrictEqual(flushes, [["x"], ["a1", "b1"], ["a2"], ["a3"]])
    }),
  )

  it.effect("sends no more members together than it may", () =>
    Effect.gen(function* () {
      const { flushes, open, start } = yield* make(undefined, 2)
      for (const member of ["x", "a", "b", "c", "d", "e"]) yield* start(member)
      for (let n = 0; n < 4; n++) yield* open
      assert.deepStrictEqual(flushes, [["x"], ["a", "b"], ["c", "d"], ["e"]])
    }),
  )

  it.effect("sends a second flush of 16 members while the first is in flight, and no third", () =>
    Effect.gen(function* () {
      const { flushes, start } = yield* make(undefined, 100, 2)
      const sizes = () => flushes.map(({ length }) => length)
      const many = (from: number, count: number) =>
        Effect.forEach(Array.from({ length: count }), (_, n) =>
          start(String.fromCharCode(from + n)),
        )
      yield* many(0x4e00, 16)
      assert.deepStrictEqual(sizes(), [1])
      yield* many(0x5e00, 1)
      assert.deepStrictEqual(sizes(), [1, 16])
      yield* many(0x6e00, 16)
      assert.deepStrictEqual(sizes(), [1, 16])
    }),
  )

  it.effect("sends a second flush of fewer members once the first takes 10 ms, and no third", () =>
    Effect.gen(function* () {
      const { flushes, open, start } = yield* make(undefined, 100, 2)
      for (const member of ["a", "b", "c"]) yield* start(member)
      yield* TestClock.adjust("9 millis")
      assert.deepStrictEqual(flushes, [["a"]])
      yield* TestClock.adjust("1 millis")
      assert.deepStrictEqual(flushes, [["a"], ["b", "c"]])
      for (const member of ["d", "e"]) yield* start(member)
      yield* TestClock.adjust("10 millis")
      assert.deepStrictEqual(flushes, [["a"], ["b", "c"]])
      yield* open
      assert.deepStrictEqual(flushes, [["a"], ["b", "c"], ["d", "e"]])
    }),
  )

  it.effect("sends few members once the flush in flight has landed", () =>
    Effect.gen(function* () {
      const { flushes, open, start } = yield* make(undefined, 100, 2)
      for (const member of ["a", "b", "c"]) yield* start(member)
      yield* open
      assert.deepStrictEqual(flushes, [["a"], ["b", "c"]])
    }),
  )

  it.effect("never has two members of one key in flight", () =>
    Effect.gen(function* () {
      const { flushes, open, start } = yield* make(undefined, 100, 2)
      for (const member of ["a1", "a2", "a3", "b1"]) yield* start(member)
      yield* TestClock.adjust("10 millis")
      assert.deepStrictEqual(flushes, [["a1"], ["b1"]])
      for (let n = 0; n < 3; n++) yield* open
      assert.deepStrictEqual(flushes, [["a1"], ["b1"], ["a2"], ["a3"]])
    }),
  )

  it.effect("never has two flushes of one exclusivity key in flight, and lets others pass", () =>
    Effect.gen(function* () {
      const { flushes, open, start } = yield* make(undefined, 100, 2)
      for (const member of ["a$", "b$", "c", "d$"]) yield* start(member)
      yield* TestClock.adjust("10 millis")
      assert.deepStrictEqual(flushes, [["a$"], ["c"]])
      yield* open
      yield* TestClock.adjust("10 millis")
      assert.deepStrictEqual(flushes, [["a$"], ["c"], ["b$", "d$"]])
    }),
  )

  it.effect("sends the next of a lane before it tells of what has landed", () =>
    Effect.gen(function* () {
      const { flushes, open, settle, start, submit } = yield* make()
      const seen: Array<number> = []
      yield* Effect.forkChild(
        Effect.tap(submit("a$"), () => Effect.sync(() => seen.push(flushes.length))),
      )
      yield* settle
      yield* start("b$")
      yield* open
      assert.deepStrictEqual(seen, [2])
    }),
  )

  it.effect("gathers what callers submit while they are told, though nothing is in flight", () =>
    Effect.gen(function* () {
      const { flushes, open, start, submit } = yield* make()
      yield* start("x")
      for (const member of ["a$", "b$"]) {
        yield* Effect.forkChild(Effect.andThen(submit(member), submit(`${member[0]}2$`)))
        yield* Effect.yieldNow
      }
      yield* open
      yield* open
      assert.deepStrictEqual(flushes, [["x"], ["a$", "b$"], ["a2$", "b2$"]])
    }),
  )

  it.effect("divides many members among the flushes, so that they take turns", () =>
    Effect.gen(function* () {
      const { flushes, open, start } = yield* make(undefined, 1_000, 2)
      yield* start("x")
      yield* start("y")
      yield* TestClock.adjust("10 millis")
      for (let n = 0; n < 100; n++) yield* start(String.fromCharCode(0x4e00 + n))
      yield* open
      yield* open
      assert.deepStrictEqual(
        flushes.map(({ length }) => length),
        [1, 1, 51, 49],
      )
    }),
  )

  it.effect("divides the members of a lane with those that are about to come back", () =>
    Effect.gen(function* () {
      const { flushes, open, start } = yield* make(undefined, 1_000, 2)
      const many = (from: number, count: number) =>
        Effect.forEach(Array.from({ length: count }), (_, n) =>
          start(`${String.fromCharCode(from + n)}$`),
        )
      yield* many(0x4e00, 61)
      yield* open
      yield* many(0x6e00, 60)
      yield* open
      // Of 88 that wait and 32 that have landed, half.
      assert.deepStrictEqual(
        flushes.map(({ length }) => length),
        [1, 32, 60],
      )
    }),
  )

  it.effect("takes back what an interrupted caller had waiting, and nothing else", () =>
    Effect.gen(function* () {
      const { flushes, open, start } = yield* make()
      const inFlight = yield* start("a")
      const waiting = yield* start("b")
      const other = yield* start("c")
      yield* Fiber.interrupt(waiting)
      yield* Fiber.interrupt(inFlight)
      yield* open
      yield* open
      assert.strictEqual(yield* Fiber.join(other), "did c")
      assert.deepStrictEqual(flushes, [["a"], ["c"]])
    }),
  )

  it.effect("tells every member when a flush fails as a whole", () =>
    Effect.gen(function* () {
      const { flushes, open, start } = yield* make((members) =>
        members.length > 1 ? Effect.fail("no connection") : Effect.void,
      )
      yield* start("x")
      const fibers = [yield* start("a"), yield* start("b")]
      yield* open
      yield* open
      const exits = yield* Effect.forEach(fibers, Fiber.await)
      assert.deepStrictEqual(exits, [Exit.fail("no connection"), Exit.fail("no connection")])
      const later = yield* start("c")
      yield* open
      assert.strictEqual(yield* Fiber.join(later), "did c")
      assert.deepStrictEqual(flushes, [["x"], ["a", "b"], ["c"]])
    }),
  )

  it.effect("lets a member that cannot be written spoil only its own outcome", () =>
    Effect.gen(function* () {
      const { flushes, open, start } = yield* make((members) =>
        members.includes("b") ? Effect.fail("bad member") : Effect.void,
      )
      yield* start("x")
      const fibers = [yield* start("a"), yield* start("b"), yield* start("c")]
      for (let n = 0; n < 5; n++) yield* open
      const exits = yield* Effect.forEach(fibers, Fiber.await)
      const expected = [Exit.succeed("did a"), Exit.fail("bad member"), Exit.succeed("did c")]
      assert.deepStrictEqual(exits, expected)
      assert.deepStrictEqual(flushes, [["x"], ["a", "b", "c"], ["a"], ["b"], ["c"]])
    }),
  )

  it.effect("tells each of them as soon as it is known", () =>
    Effect.gen(function* () {
      const check = (members: ReadonlyArray<string>) =>
        members.includes("b") ? Effect.fail("bad member") : Effect.void
      const { open, start } = yield* make(check)
      yield* start("x")
      const [first, , last] = [yield* start("a"), yield* start("b"), yield* start("c")]
      for (let n = 0; n < 3; n++) yield* open
      assert.isDefined(first.pollUnsafe())
      assert.isUndefined(last.pollUnsafe())
    }),
  )

  it.effect("lets a member that cannot be encoded spoil only its own outcome", () =>
    Effect.gen(function* () {
      const { open, start } = yield* make((members) =>
        members.includes("b") ? Effect.die("cannot encode") : Effect.void,
      )
      yield* start("x")
      const fibers = [yield* start("a"), yield* start("b")]
      for (let n = 0; n < 4; n++) yield* open
      const exits = yield* Effect.forEach(fibers, Fiber.await)
      assert.deepStrictEqual(exits, [Exit.succeed("did a"), Exit.die("cannot encode")])
    }),
  )

  it.effect("gives a flush up that nobody answers, and goes on with the next", () =>
    Effect.gen(function* () {
      const { flushes, open, start } = yield* make()
      const fibers = [yield* start("a"), yield* start("b")]
      yield* TestClock.adjust("999 millis")
      assert.deepStrictEqual(flushes, [["a"]])
      yield* TestClock.adjust("1 millis")
      assert.deepStrictEqual(flushes, [["a"], ["b"]])
      yield* open
      yield* open
      const exits = yield* Effect.forEach(fibers, Fiber.await)
      assert.deepStrictEqual(exits, [Exit.fail("late"), Exit.succeed("did b")])
    }),
  )

  it.effect("lets nobody wait for ever when the scope closes", () =>
    Effect.gen(function* () {
      const scope = yield* Scope.make()
      const { start, submit } = yield* Scope.provide(make(), scope)
      const fibers = [yield* start("a"), yield* start("b")]
      yield* Scope.close(scope, Exit.void)
      const exits = yield* Effect.forEach(fibers, Fiber.await)
      assert.deepStrictEqual(exits, [Exit.fail("closed"), Exit.fail("closed")])
      assert.deepStrictEqual(yield* Effect.exit(submit("c")), Exit.fail("closed"))
    }),
  )

  it.effect("tells each caller without a fiber in its own asynchronous context", () =>
    Effect.gen(function* () {
      const { add, flushes, open, settle } = yield* make()
      const storage = new AsyncLocalStorage<string>()
      const told: Array<unknown> = []
      for (const member of ["a", "b", "c"]) {
        storage.run(member, () => add(member, (exit) => told.push([storage.getStore(), exit])))
      }
      yield* settle
      yield* open
      assert.deepStrictEqual(flushes, [["a", "b", "c"]])
      const expected = ["a", "b", "c"].map((member) => [member, Exit.succeed(`did ${member}`)])
      assert.deepStrictEqual(told, expected)
    }),
  )

  it.effect("leaves out the member of a caller without a fiber that cancels while it waits", () =>
    Effect.gen(function* () {
      const { add, flushes, open, settle } = yield* make()
      const told: Array<string> = []
      const cancels = ["a", "b", "c"].map((member) => add(member, () => told.push(member)))
      cancels[1]!()
      yield* settle
      yield* open
      assert.deepStrictEqual(flushes, [["a", "c"]])
      assert.deepStrictEqual(told, ["a", "c"])
    }),
  )

  it.effect("has interrupted what is in flight once the scope is closed", () =>
    Effect.gen(function* () {
      const ended: Array<string> = []
      const scope = yield* Scope.make()
      const flush = (members: ReadonlyArray<string>) =>
        Effect.onInterrupt(Effect.never, () =>
          Effect.andThen(
            Effect.yieldNow,
            Effect.sync(() => ended.push(...members)),
          ),
        )
      const options = { keyOf: () => undefined, isOneMembers: () => false, flushesAtOnce: 2 }
      const times = { closed: "closed", late: "late", flushMillis: 1_000, maxMembers: 1 }
      const made = GroupCommit.make<string, string, string>({ ...options, ...times, flush })
      const submit = yield* Scope.provide(made, scope)
      for (const member of ["a", "b"]) submit(member, () => undefined)
      for (let n = 0; n < 10; n++) yield* Effect.yieldNow
      yield* Scope.close(scope, Exit.void)
      assert.deepStrictEqual(ended, ["a", "b"])
    }),
  )
})
