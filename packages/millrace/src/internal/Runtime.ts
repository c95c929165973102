/**
 * The bridge from effects to promises: one managed runtime per engine.
 *
 * Guarantees: a call resolves or rejects with a `MillraceError`, or is given up by its signal; once
 * closing has begun every call rejects, also those that were waiting. Leaves out: what is called.
 */
import type { Effect, Layer } from "effect"
import { Exit, ManagedRuntime } from "effect"
import type { Refusal } from "./Refusal.ts"
import { closed, ofCause } from "./Refusal.ts"

/** Runs effects over the services of one engine. */
export interface Runtime<R> {
  readonly call: <A>(effect: Effect.Effect<A, Refusal, R>) => Promise<A>
  /** The same until the signal is aborted: then the call rejects with the signal's reason. */
  readonly callUntil: <A>(
    effect: Effect.Effect<A, Refusal, R>,
    signal: AbortSignal | undefined,
  ) => Promise<A>
  /** Resolves when everything is shut down; calling it again waits for the same. */
  readonly close: () => Promise<void>
}

/** Builds the services; rejects with the one reason why it cannot, and leaves nothing behind. */
export const open = async <R>(layer: Layer.Layer<R, Refusal>): Promise<Runtime<R>> => {
  const runtime = ManagedRuntime.make(layer)
  let closing: Promise<void> | undefined
  const close = () => (closing ??= runtime.dispose())
  const callUntil: Runtime<R>["callUntil"] = async (effect, signal) => {
    if (closing !== undefined) throw closed()
    const exit = await runtime.runPromiseExit(effect, signal === undefined ? {} : { signal })
    if (Exit.isSuccess(exit)) return exit.value
    if (closing === undefined && Exit.hasInterrupts(exit)) signal?.throwIfAborted()
    throw closing === undefined ? ofCause(exit.cause) : closed()
  }
  const built = await runtime.runPromiseExit(runtime.contextEffect)
  if (Exit.isFailure(built)) {
    await close()
    throw ofCause(built.cause)
  }
  return { call: (effect) => callUntil(effect, undefined), callUntil, close }
}
