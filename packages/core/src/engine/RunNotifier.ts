/**
 * Tells listeners of every commit of a run by this engine.
 *
 * Leaves out: commits of other engines. So a listener reads the store, and polls as well.
 */
import { Context, Effect, Layer, type Scope } from "effect"
import type { RunId } from "../domain/Id.ts"

export class RunNotifier extends Context.Service<
  RunNotifier,
  {
    /** Tells the listeners of a run that it had a commit. One synchronous step. */
    readonly tell: (id: RunId) => void
    /** Calls a function after every commit of the run, until the scope closes. */
    readonly listen: (id: RunId, call: () => void) => Effect.Effect<void, never, Scope.Scope>
  }
>()("@millrace/core/engine/RunNotifier") {
  static readonly layer: Layer.Layer<RunNotifier> = Layer.sync(RunNotifier, () => make())
}

const make = (): RunNotifier["Service"] => {
  const listeners = new Map<RunId, Set<() => void>>()
  const remove = (id: RunId, listener: () => void) => {
    const known = listeners.get(id)!
    known.delete(listener)
    if (known.size === 0) listeners.delete(id)
  }
  return {
    tell: (id) => listeners.get(id)?.forEach((call) => call()),
    listen: (id, call) =>
      Effect.asVoid(
        Effect.acquireRelease(
          Effect.sync(() => {
            // Its own, so that one function may listen twice.
            const listener = () => call()
            const known = listeners.get(id)
            if (known === undefined) listeners.set(id, new Set([listener]))
            else known.add(listener)
            return listener
          }),
          (listener) => Effect.sync(() => remove(id, listener)),
        ),
      ),
  }
}
