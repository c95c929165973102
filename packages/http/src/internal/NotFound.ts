/**
 * Counts requests to unknown addresses, and with methods that an address does not have, like any
 * other request.
 *
 * Guarantees: with such requests nobody can exceed a limit or find out which tokens are good. The
 * request counts against its key, and the answer shows the key's limits. A bad token counts against
 * its address. Leaves out: requests without a token, and the interfaces without API keys.
 */
import { limited } from "@millrace/core/engine/StoreDeadline"
import type { Layer, Types } from "effect"
import { Effect, Redacted } from "effect"
import * as HttpEffect from "effect/http/HttpEffect"
import * as HttpRouter from "effect/http/HttpRouter"
import * as HttpServerRequest from "effect/http/HttpServerRequest"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import type { AuthDecision } from "./Authenticator.ts"
import { Authenticator, rateHeadersOf, tokenOf } from "./Authenticator.ts"
import { answerOf, logStorage, UnknownRoute } from "../Errors.ts"

/** True for the addresses that no API key opens. */
const isWithoutKeys = ({ url }: HttpServerRequest.HttpServerRequest): boolean =>
  /^\/(?:api\/(?:admin|console)|hooks|approvals)\//.test(url)

type Answer = HttpServerResponse.HttpServerResponse

const codes = new Set(["unknown_route", "method_not_allowed"])

/** True for an answer that comes from no operation. */
const isNotFound = ({ body, headers, status }: Answer): boolean =>
  (status === 404 && body._tag === "Empty") || codes.has(headers["x-error-code"] ?? "")

const whole = (answer: Answer): Answer =>
  answer.body._tag === "Empty" ? answerOf(new UnknownRoute()) : answer

const isTooMany = (decision: AuthDecision): boolean =>
  decision._tag === "Limited" ||
  (decision._tag === "Refused" && decision.refusal._tag !== "KeyRefused")

const answerFor = (answer: Answer, decision: AuthDecision): Answer => {
  if (decision._tag === "Authorized") return whole(answer)
  const told =
    decision._tag !== "Admitted" && isTooMany(decision) ? answerOf(decision.refusal) : whole(answer)
  return decision._tag === "Refused"
    ? told
    : HttpServerResponse.setHeaders(told, rateHeadersOf(decision.window))
}

/** How long the store may take before the answer goes out without it. */
const patienceMillis = 1_000

const make = Effect.map(Authenticator, (authenticator) => {
  const account = (request: HttpServerRequest.HttpServerRequest, answer: Answer) => {
    const token = tokenOf(request)
    if (Redacted.value(token) === "" || isWithoutKeys(request)) return Effect.succeed(answer)
    const asked = limited("NotFound.ask", patienceMillis)(authenticator.ask(request, token))
    return Effect.match(Effect.tapError(Effect.interruptible(asked), logStorage), {
      onFailure: () => answer,
      onSuccess: (decision) => answerFor(answer, decision),
    })
  }
  return (route: Effect.Effect<Answer, Types.unhandled>) =>
    // The request is read here, where it has the address that a proxy has forwarded.
    Effect.flatMap(HttpServerRequest.HttpServerRequest, (request) =>
      HttpEffect.withPreResponseHandler(route, (_, answer) =>
        isNotFound(answer) ? account(request, answer) : Effect.succeed(answer),
      ),
    )
})

/**
 * Watches every route of the router, also routes of other modules. Add it before the middleware
 * that sets headers of answers.
 */
export const layer: Layer.Layer<never, never, HttpRouter.HttpRouter | Authenticator> =
  HttpRouter.middleware(make, { global: true })
