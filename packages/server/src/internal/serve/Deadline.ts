/**
 * The deadline of a request.
 *
 * Leaves out: undoing the operation. A write may still happen after its request got 503; a client
 * that needs to know reads.
 */
import { noAnswer, orFirst } from "@millrace/core/engine/StoreDeadline"
import { answerOf, logStorage } from "@millrace/http/Errors"
import type { Layer } from "effect"
import { Effect } from "effect"
import { HttpRouter, HttpServerRequest } from "effect/http"
import type { IncomingMessage } from "node:http"

/** Sleeps for `millis` after the whole request has arrived. The client's upload does not count. */
const patience = (request: HttpServerRequest.HttpServerRequest, millis: number) => {
  const message = request.source as IncomingMessage
  const sleep = Effect.suspend((): Effect.Effect<void> => {
    const hasArrived = message.complete
    return Effect.andThen(Effect.sleep(millis), hasArrived ? Effect.void : sleep)
  })
  // A request in one packet becomes complete a moment after the call of its handler.
  return Effect.andThen(Effect.yieldNow, sleep)
}

const giveUp = Effect.fnUntraced(function* (millis: number) {
  const error = noAnswer("request", millis)
  yield* logStorage(error)
  return answerOf(error, 503)
})

/**
 * Answers every request within `millis` of its arrival: 503 if its operation takes longer. Add this
 * layer after the middleware that sets headers of answers.
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
