/**
 * The deadline of a request.
 *
 * One timer watches all requests, because each of them has the same time and hardly any needs it.
 * Leaves out: undoing the operation. A write may still happen after its request got 503; a client
 * that needs to know reads.
 */
import { monotonicMillis } from "@millrace/core/engine/StoreClock"
import { noAnswer } from "@millrace/core/engine/StoreDeadline"
import { refuse } from "@millrace/http/Errors"
import type { Layer, Types } from "effect"
import { Clock, Effect } from "effect"
import * as HttpRouter from "effect/http/HttpRouter"
import * as HttpServerRequest from "effect/http/HttpServerRequest"
import type { HttpServerResponse } from "effect/http"
import type { IncomingMessage } from "node:http"

/** A request whose operation goes on. Mutable. */
interface Pending {
  readonly message: IncomingMessage
  readonly giveUp: () => void
  /** False while the client may still be sending it. */
  hasArrived: boolean
  dueAt: number
}

/** The requests in progress. The time of each begins when the whole request has arrived. */
class Deadlines {
  readonly #millis: number
  readonly #clock: Clock.Clock
  /** In the order in which they are due. */
  readonly #pending = new Set<Pending>()
  #fresh: Array<Pending> = []

  constructor(millis: number, clock: Clock.Clock) {
    this.#millis = millis
    this.#clock = clock
  }

  add(message: IncomingMessage, giveUp: () => void): Pending {
    const dueAt = monotonicMillis(this.#clock) + this.#millis
    const pending: Pending = { message, giveUp, hasArrived: false, dueAt }
    this.#pending.add(pending)
    // A request in one packet becomes complete a moment after the call of its handler.
    if (this.#fresh.length === 0) setImmediate(() => this.#lookAtFresh())
    this.#fresh.push(pending)
    return pending
  }

  remove(pending: Pending): void {
    this.#pending.delete(pending)
  }

  #lookAtFresh(): void {
    for (const pending of this.#fresh) pending.hasArrived = pending.message.complete
    this.#fresh = []
  }

  /** Gives up what is late. Answers in how many milliseconds something may be late again. */
  look(): number {
    const now = monotonicMillis(this.#clock)
    for (const pending of this.#pending) {
      if (pending.dueAt > now) return pending.dueAt - now
      this.#pending.delete(pending)
      if (pending.hasArrived) {
        pending.giveUp()
        continue
      }
      pending.hasArrived = pending.message.complete
      pending.dueAt = now + this.#millis
      this.#pending.add(pending)
    }
    return this.#millis
  }
}

type Route = Effect.Effect<HttpServerResponse.HttpServerResponse, Types.unhandled>

const make = Effect.fnUntraced(function* (millis: number) {
  const deadlines = new Deadlines(millis, yield* Clock.Clock)
  const look = Effect.suspend(() => Effect.sleep(Math.max(1, deadlines.look())))
  yield* Effect.forkScoped(Effect.forever(look))
  const late = Effect.suspend(() => refuse(noAnswer("request", millis)))

  const within = (route: Route, message: IncomingMessage): Route =>
    // A database that does not answer does not answer to an interruption either: nobody waits for
    // the fiber of a late operation.
    Effect.flatMap(Effect.forkDetach(route, { startImmediately: true }), (fiber) => {
      const exit = fiber.pollUnsafe()
      if (exit !== undefined) return exit
      let pending: Pending | undefined
      const first: Route = Effect.callback((resume) => {
        pending = deadlines.add(message, () => resume(late))
        fiber.addObserver(resume)
      })
      const over = Effect.sync(() => {
        if (pending !== undefined) deadlines.remove(pending)
        fiber.interruptUnsafe()
      })
      return Effect.ensuring(Effect.interruptible(first), over)
    })

  return (route: Route) =>
    Effect.flatMap(HttpServerRequest.HttpServerRequest, ({ source }) =>
      Effect.uninterruptible(within(Effect.interruptible(route), source as IncomingMessage)),
    )
})

/**
 * Answers every request within `millis` of its arrival: 503 if its operation takes longer. Add this
 * layer after the middleware that sets headers of answers.
 */
export const layerRequests = (millis: number): Layer.Layer<never, never, HttpRouter.HttpRouter> =>
  HttpRouter.middleware(make(millis), { global: true })
