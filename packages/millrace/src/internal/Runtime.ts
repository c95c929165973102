/**
 * Runs effects as promises, with one managed runtime per engine.
 *
 * Guarantees: a call resolves, rejects with a `MillraceError`, or rejects because its signal was
 * aborted. Once closing has begun, every call rejects, also calls in progress.
 */
import type { Layer } from "effect"
import { Effect, Exit, Fiber, ManagedRuntime } from "effect"
import type { Refusal } from "./Refusal.ts"
import { closed, ofCause, ofOpening } from "./Refusal.ts"

/** Runs effects over the services of one engine. */
export interface Runtime<R> {
  readonly call: <A>(effect: Effect.Effect<A, Refusal, R>) => Promise<A>
  /** The same until the signal is aborted: then the call rejects with the signal's reason. */
  readonly callUntil: <A>(
    effect: Effect.Effect<A, Refusal, R>,
    signal: AbortSignal | undefined,
  ) => Promise<A>
  /** Resolves when everything is shut down. A second call waits for the first. */
  readonly close: () => Promise<void>
}

/** Builds the services. If that fails, rejects with the reason and leaves nothing behind. */
export const open = async <R>(layer: Layer.Layer<R, Refusal>): Promise<Runtime<R>> => {
  const runtime = ManagedRuntime.make(layer)
  const built = await runtime.runPromiseExit(runtime.contextEffect)
  if (Exit.isFailure(built)) {
    await runtime.dispose()
    throw ofOpening(built.cause)
  }
  const run = Effect.runPromiseExitWith(built.value)
  // The runtime would know its calls, too, but that takes several times as long for each.
  const calls = new Set<Fiber.Fiber<unknown, unknown>>()
  const onFiberStart = (fiber: Fiber.Fiber<unknown, unknown>) => {
    calls.add(fiber)
    fiber.addObserver(() => calls.delete(fiber))
  }
  let closing: Promise<void> | undefined
  const close = () =>
    (closing ??= Effect.runPromise(Fiber.interruptAll(calls)).then(() => runtime.dispose()))
  const callUntil: Runtime<R>["callUntil"] = async (effect, signal) => {
    if (closing !== undefined) throw closed()
    const exit = await run(
      effect,
      signal === undefined ? { onFiberStart } : { onFiberStart, signal },
    )
    if (Exit.isSuccess(exit)) return exit.value
    if (closing === undefined && Exit.hasInterrupts(exit)) signal?.throwIfAborted()
    throw closing === undefined ? ofCause(exit.cause) : closed()
  }
  return { call: (effect) => callUntil(effect, undefined), callUntil, close }
}
