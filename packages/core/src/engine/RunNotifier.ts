/**
 * Tells listeners of every commit of a run by this engine.
 *
 * Leaves out: commits of other engines. So a listener reads the store, and polls as well.
 */
import { Context, Effect, Layer, Queue, type Scope } from "effect"
import type { AccountId, RunId } from "../domain/Id.ts"
import type { Run } from "../domain/Run.ts"
import { isFollowed } from "../domain/RunEndTrigger.ts"

/** What is told of a run. */
type ToldRun = Pick<Run, "id" | "accountId" | "mode" | "parent" | "status">

export class RunNotifier extends Context.Service<
  RunNotifier,
  {
    /** Tells the listeners of a run and of its account of a commit. One synchronous step. */
    readonly tell: (run: ToldRun) => void
    /** Has something whenever this process has ended a run that triggers may follow. */
    readonly ends: Queue.Dequeue<void>
    /** Calls a function after every commit of the run, or of the account's runs, until the scope
     * closes. */
    readonly listen: (
      id: RunId | AccountId,
      call: () => void,
    ) => Effect.Effect<void, never, Scope.Scope>
  }
>()("@millrace/core/engine/RunNotifier") {
  static readonly layer: Layer.Layer<RunNotifier> = Layer.effect(
    RunNotifier,
    Effect.suspend(() => Effect.map(Queue.sliding<void>(1), make)),
  )
}

const make = (ends: Queue.Queue<void>): RunNotifier["Service"] => {
  const listeners = new Map<RunId | AccountId, Set<() => void>>()
  const remove = (id: RunId | AccountId, listener: () => void) => {
    const known = listeners.get(id)!
    known.delete(listener)
    if (known.size === 0) listeners.delete(id)
  }
  return {
    tell: (run) => {
      listeners.get(run.id)?.forEach((call) => call())
      listeners.get(run.accountId)?.forEach((call) => call())
      if (isFollowed(run)) Queue.offerUnsafe(ends, undefined)
    },
    ends,
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
