// Who hears of commits of a run in this process.
import { RunId } from "@millrace/core/domain/Id"
import { RunNotifier } from "@millrace/core/engine/RunNotifier"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Latch, Scope } from "effect"

const [one, two] = [RunId.make("run_1"), RunId.make("run_2")]

/** True if the latch is open. */
const isOpen = (latch: Latch.Latch) =>
  Effect.map(Effect.forkChild(latch.await, { startImmediately: true }), (fiber) => {
    const exit = fiber.pollUnsafe()
    fiber.interruptUnsafe()
    return exit !== undefined
  })

describe("RunNotifier", () => {
  it.effect("opens the latch of every listener of the run, and of no other one", () =>
    Effect.gen(function* () {
      const notifier = yield* RunNotifier
      notifier.tell(one)
      const latches = [
        yield* notifier.listen(one),
        yield* notifier.listen(one),
        yield* notifier.listen(two),
      ]
      assert.deepStrictEqual(yield* Effect.forEach(latches, isOpen), [false, false, false])
      notifier.tell(RunId.make("run_3"))
      notifier.tell(one)
      assert.deepStrictEqual(yield* Effect.forEach(latches, isOpen), [true, true, false])
    }).pipe(Effect.provide(RunNotifier.layer)),
  )

  it.effect("tells a listener again that has closed its latch", () =>
    Effect.gen(function* () {
      const notifier = yield* RunNotifier
      const latch = yield* notifier.listen(one)
      notifier.tell(one)
      Latch.closeUnsafe(latch)
      assert.isFalse(yield* isOpen(latch))
      notifier.tell(one)
      assert.isTrue(yield* isOpen(latch))
    }).pipe(Effect.provide(RunNotifier.layer)),
  )

  it.effect("forgets a listener with its scope, and tells the others", () =>
    Effect.gen(function* () {
      const notifier = yield* RunNotifier
      const scope = yield* Scope.make()
      const gone = yield* Effect.provideService(notifier.listen(one), Scope.Scope, scope)
      const here = yield* notifier.listen(one)
      yield* Scope.close(scope, Exit.void)
      notifier.tell(one)
      assert.deepStrictEqual(yield* Effect.forEach([gone, here], isOpen), [false, true])
    }).pipe(Effect.provide(RunNotifier.layer)),
  )

  it.effect("hears anew after all have gone", () =>
    Effect.gen(function* () {
      const notifier = yield* RunNotifier
      yield* Effect.scoped(notifier.listen(one))
      const latch = yield* notifier.listen(one)
      notifier.tell(one)
      assert.isTrue(yield* isOpen(latch))
    }).pipe(Effect.provide(RunNotifier.layer)),
  )
})
