/**
 * An effect that can also be awaited with a callback, without a fiber.
 *
 * A fiber that waits has a stack, a context and an async resource of Node. That is more than the
 * rest of a commit, or of a call of a handler that returns a promise, takes. So a store and a node
 * type may return such an effect, and the engine then begins it with a callback. They need not: the
 * engine takes any effect.
 *
 * Guarantees: the same outcome in a fiber and without one. Whoever wraps it in another effect gets
 * an ordinary effect, so no wrapper is left out by mistake. Leaves out: services; without a fiber
 * there are none.
 */
import * as Effect from "effect/Effect"
import * as Effectable from "effect/Effectable"
import * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"

/** Called once with the outcome, in the asynchronous context of the caller. It must not throw. */
export type Done<A, E> = (exit: Exit.Exit<A, E>) => void

/** Stops what was begun, if it goes on and can be stopped. `done` may still be called. */
export type Cancel = () => void

export abstract class CallbackEffect<A, E = never> extends Effectable.Class<A, E> {
  /** Does the same outside of a fiber. */
  abstract begin(done: Done<A, E>): Cancel

  asEffect(): Effect.Effect<A, E> {
    return Effect.callback((resume) => {
      const cancel = this.begin(resume)
      return Effect.sync(cancel)
    })
  }

  /** The same with another outcome. What `map` throws is a defect. */
  mapExit<B, F>(map: MapExit<A, E, B, F>): CallbackEffect<B, F> {
    return new Mapped(this, map)
  }
}

type MapExit<A, E, B, F> = (exit: Exit.Exit<A, E>) => Exit.Exit<B, F>

class Mapped<A, E, B, F> extends CallbackEffect<B, F> {
  readonly #effect: CallbackEffect<A, E>
  readonly #map: MapExit<A, E, B, F>

  constructor(effect: CallbackEffect<A, E>, map: MapExit<A, E, B, F>) {
    super()
    this.#effect = effect
    this.#map = map
  }

  begin(done: Done<B, F>): Cancel {
    return this.#effect.begin((exit) => done(this.#mapped(exit)))
  }

  override asEffect(): Effect.Effect<B, F> {
    return Effect.flatMap(Effect.exit(this.#effect), (exit) => this.#mapped(exit))
  }

  #mapped(exit: Exit.Exit<A, E>): Exit.Exit<B, F> {
    try {
      return this.#map(exit)
    } catch (error) {
      return Exit.die(error)
    }
  }
}

/** Begins something. It may call `done` before it returns. */
type Begin<A, E> = (done: Done<A, E>) => Cancel

class Made<A, E> extends CallbackEffect<A, E> {
  readonly #begin: Begin<A, E>
  readonly #inFiber: (() => Effect.Effect<A, E>) | undefined

  constructor(made: Begin<A, E>, inFiber: (() => Effect.Effect<A, E>) | undefined) {
    super()
    this.#begin = made
    this.#inFiber = inFiber
  }

  begin(done: Done<A, E>): Cancel {
    return this.#begin(done)
  }

  override asEffect(): Effect.Effect<A, E> {
    return this.#inFiber === undefined ? super.asEffect() : this.#inFiber()
  }
}

/** An effect of a function that begins something, and of what a fiber does instead, if anything. */
export const make = <A, E = never>(
  made: Begin<A, E>,
  inFiber?: () => Effect.Effect<A, E>,
): CallbackEffect<A, E> => new Made(made, inFiber)

/** Calls a function with what an effect returns. It keeps a {@link CallbackEffect} one. */
export const onSuccess = <A, E, R>(
  self: Effect.Effect<A, E, R>,
  call: (value: A) => void,
): Effect.Effect<A, E, R> => {
  if (!(self instanceof CallbackEffect)) {
    return Effect.tap(self, (value) => Effect.sync(() => call(value)))
  }
  return (self as CallbackEffect<A, E>).mapExit((exit) => {
    if (Exit.isSuccess(exit)) call(exit.value)
    return exit
  })
}

/** Begins an effect: with `fork`, unless it needs no fiber. Returns what stops it. */
export const begin = <A, E, R>(
  self: Effect.Effect<A, E, R>,
  fork: (effect: Effect.Effect<A, E, R>) => Fiber.Fiber<A, E>,
  done: Done<A, E>,
): Cancel => {
  if (self instanceof CallbackEffect) return (self as CallbackEffect<A, E>).begin(done)
  const fiber = fork(self)
  fiber.addObserver(done)
  return () => fiber.interruptUnsafe()
}
