/**
 * Renewals of leases that are on their way, so that no lease is let go while one may still come.
 *
 * Guarantees: after `over` no renewal that was begun before it is sent any more. Leaves out: when
 * to renew.
 */
import { Effect, Fiber } from "effect"

/** Does something for so long at most, also where the database does not even answer to a cancel. */
export const within = <A, E>(millis: number, effect: Effect.Effect<A, E>): Effect.Effect<void> =>
  Effect.gen(function* () {
    const fiber = yield* Effect.forkDetach(effect)
    yield* Effect.ensuring(
      Effect.raceFirst(Fiber.await(fiber), Effect.sleep(millis)),
      Effect.sync(() => fiber.interruptUnsafe()),
    )
  })

/** The renewals of one thread. Mutable. */
export class Renewals {
  readonly #current = new Set<Fiber.Fiber<void>>()

  /** Begins a renewal, which may take so long at most. */
  begin<A, E>(millis: number, renewal: Effect.Effect<A, E>): Effect.Effect<void> {
    return Effect.map(Effect.forkDetach(within(millis, renewal)), (fiber) => {
      this.#current.add(fiber)
      fiber.addObserver(() => this.#current.delete(fiber))
    })
  }

  /** Waits until all have ended, and breaks off those that take longer than so long. */
  over(millis: number): Effect.Effect<void> {
    return Effect.suspend(() => {
      const all = [...this.#current]
      return Effect.andThen(
        within(millis, Fiber.awaitAll(all)),
        Effect.sync(() => {
          for (const fiber of all) fiber.interruptUnsafe()
        }),
      )
    })
  }
}
