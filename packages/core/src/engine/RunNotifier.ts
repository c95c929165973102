/**
 * Notifies listeners in this process of every commit of a run.
 *
 * Guarantees: a notification that comes while a listener is busy is not lost. Leaves out: commits
 * of other processes. So a listener reads the store, and polls as well.
 */
import { Context, Effect, Latch, type Scope } from "effect"
import type { RunId } from "../domain/Id.ts"

/** Listeners by run. Mutable; every method is one synchronous step. */
export class RunNotifier {
  readonly #listeners = new Map<RunId, Set<Latch.Latch>>()

  /** Notifies the listeners of a run that it had a commit. */
  tell(id: RunId): void {
    this.#listeners.get(id)?.forEach((latch) => void Latch.openUnsafe(latch))
  }

  /** A latch that every commit of the run opens, until the scope closes. */
  listen(id: RunId): Effect.Effect<Latch.Latch, never, Scope.Scope> {
    return Effect.acquireRelease(
      Effect.sync(() => {
        const latch = Latch.makeUnsafe(false)
        const known = this.#listeners.get(id)
        if (known === undefined) this.#listeners.set(id, new Set([latch]))
        else known.add(latch)
        return latch
      }),
      (latch) =>
        Effect.sync(() => {
          const known = this.#listeners.get(id)!
          known.delete(latch)
          if (known.size === 0) this.#listeners.delete(id)
        }),
    )
  }
}

/** The listeners of this process. */
export const CurrentRunNotifier = Context.Reference<RunNotifier>(
  "@millrace/core/engine/RunNotifier",
  {
    defaultValue: () => new RunNotifier(),
  },
)
