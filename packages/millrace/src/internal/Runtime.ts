/**
 * The bridge from effects to promises: one managed runtime per engine.
 *
 * Guarantees: a call resolves or rejects with a `MillraceError`, never with anything else; once
 * closing has begun every call rejects, also those that were waiting. Leaves out: what is called.
 */
import type { Effect, Layer } from "effect"
import { Exit, ManagedRuntime } from "effect"
import type { Refusal } from "../MillraceError.ts"
import { closed, ofCause } from "../MillraceError.ts"

/** Runs effects over the services of one engine. */
export interface Runtime<R> {
  readonly call: <A>(effect: Effect.Effect<A, Refusal, R>) => Promise<A>
  /** True once closing has begun. */
  readonly isClosed: () => boolean
  /** Resolves when everything is shut down; calling it again waits for the same. */
  readonly close: () => Promise<void>
}

/** Builds the services; rejects with the one reason why it cannot, and leaves nothing behind. */
export const open = async <R>(layer: Layer.Layer<R, Refusal>): Promise<Runtime<R>> => {
  const runtime = ManagedRuntime.make(layer)
  let closing: Promise<void> | undefined
  const close = () => (closing ??= runtime.dispose())
  const call: Runtime<R>["call"] = async (effect) => {
    if (closing !== undefined) throw closed()
    const exit = await runtime.runPromiseExit(effect)
    if (Exit.isSuccess(exit)) return exit.value
    throw closing === undefined ? ofCause(exit.cause) : closed()
  }
  const built = await runtime.runPromiseExit(runtime.contextEffect)
  if (Exit.isFailure(built)) {
    await close()
    throw ofCause(built.cause)
  }
  return { call, isClosed: () => closing !== undefined, close }
}
