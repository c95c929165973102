/**
 * How long a request may take.
 *
 * Leaves out: whether what was given up still happens; a write carries what it expects, and whoever
 * needs to know reads.
 */
import { noAnswer, orFirst } from "@millrace/core/engine/StoreDeadline"
import { answerOf, logStorage } from "@millrace/http/Errors"
import type { Layer } from "effect"
import { Effect } from "effect"
import { HttpRouter, HttpServerRequest } from "effect/http"
import type { IncomingMessage } from "node:http"

/** Sleeps for so long once the whole request is here: what its client takes does not count. */
const patience = (request: HttpServerRequest.HttpServerRequest, millis: number) => {
  const message = request.source as IncomingMessage
  const sleep = Effect.suspend((): Effect.Effect<void> => {
    const hasArrived = message.complete
    return Effect.andThen(Effect.sleep(millis), hasArrived ? Effect.void : sleep)
  })
  // A request of one packet is complete a moment after its handler was called.
  return Effect.andThen(Effect.yieldNow, sleep)
}

const giveUp = Effect.fnUntraced(function* (millis: number) {
  const error = noAnswer("request", millis)
  yield* logStorage(error)
  return answerOf(error, 503)
})

/**
 * Answers every request within so many milliseconds of its arrival: 503 where its operation takes
 * longer. To be added after whatever dresses answers.
 */
export const layerRequests = (millis: number): Layer.Layer<never, never, HttpRouter.HttpRouter> =>
  HttpRouter.middleware(
    (route) =>
      Effect.flatMap(HttpServerRequest.HttpServerRequest, (request) =>
        Effect.interruptible(
          orFirst(Effect.andThen(patience(request, millis), giveUp(millis)))(route),
        ),
      ),
    { global: true },
  )
