/**
 * Tells listeners of every commit of a run by this engine.
 *
 * Leaves out: commits of other engines. So a listener reads the store, and polls as well.
 */
import { Context, Effect, Layer, type Scope } from "effect"
import type { AccountId, RunId } from "../domain/Id.ts"

export class RunNotifier extends Context.Service<
  RunNotifier,
  {
    /** Tells the listeners of a run and of its account of a commit. One synchronous step. */
    readonly tell: (id: RunId, account: AccountId) => void
    /** Calls a function after every commit of the run, or of the account's runs, until the scope
     * closes. */
    readonly listen: (
      id: RunId | AccountId,
      call: () => void,
    ) => Effect.Effect<void, never, Scope.Scope>
  }
>()("@millrace/core/engine/RunNotifier") {
  static readonly layer: Layer.Layer<RunNotifier> = Layer.sync(RunNotifier, () => make())
}

const make = (): RunNotifier["Service"] => {
  const listeners = new Map<RunId | AccountId, Set<() => void>>()
  const remove = (id: RunId | AccountId, listener: () => void) => {
    const known = listeners.get(id)!
    known.delete(listener)
    if (known.size === 0) listeners.delete(id)
  }
  return {
    tell: (id, account) => {
      listeners.get(id)?.forEach((call) => call())
      listeners.get(account)?.forEach((call) => call())
    },
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
