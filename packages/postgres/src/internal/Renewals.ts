/**
 * The renewals in progress. A thread waits for them before it ends a lease.
 *
 * Guarantees: after `over`, no renewal that began before is sent. Leaves out: when to renew.
 */
import { Effect, Fiber } from "effect"

/** Runs an effect, and stops waiting after a time even if the effect ignores interrupts. */
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

  /** Begins a renewal, which may take `millis` at most. */
  begin<A, E>(millis: number, renewal: Effect.Effect<A, E>): Effect.Effect<void> {
    return Effect.map(Effect.forkDetach(within(millis, renewal)), (fiber) => {
      this.#current.add(fiber)
      fiber.addObserver(() => this.#current.delete(fiber))
    })
  }

  /** Waits until all have ended, and interrupts them after `millis`. */
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
