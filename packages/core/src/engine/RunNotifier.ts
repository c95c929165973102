/**
 * Notifies listeners of every commit of a run by this engine.
 *
 * Guarantees: a notification that comes while a listener is busy is not lost. Leaves out: commits
 * of other engines. So a listener reads the store, and polls as well.
 */
import { Context, Effect, Latch, Layer, type Scope } from "effect"
import type { RunId } from "../domain/Id.ts"

export class RunNotifier extends Context.Service<
  RunNotifier,
  {
    /** Notifies the listeners of a run that it had a commit. One synchronous step. */
    readonly tell: (id: RunId) => void
    /** A latch that every commit of the run opens, until the scope closes. */
    readonly listen: (id: RunId) => Effect.Effect<Latch.Latch, never, Scope.Scope>
  }
>()("@millrace/core/engine/RunNotifier") {
  static readonly layer: Layer.Layer<RunNotifier> = Layer.sync(RunNotifier, () => make())
}

const make = (): RunNotifier["Service"] => {
  const listeners = new Map<RunId, Set<Latch.Latch>>()
  const add = (id: RunId) => {
    const latch = Latch.makeUnsafe(false)
    const known = listeners.get(id)
    if (known === undefined) listeners.set(id, new Set([latch]))
    else known.add(latch)
    return latch
  }
  const remove = (id: RunId, latch: Latch.Latch) => {
    const known = listeners.get(id)!
    known.delete(latch)
    if (known.size === 0) listeners.delete(id)
  }
  return {
    tell: (id) => listeners.get(id)?.forEach((latch) => void Latch.openUnsafe(latch)),
    listen: (id) =>
      Effect.acquireRelease(
        Effect.sync(() => add(id)),
        (latch) => Effect.sync(() => remove(id, latch)),
      ),
  }
}
