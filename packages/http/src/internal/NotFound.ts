/**
 * Counts requests to unknown addresses, and with methods that an address does not have, like any
 * other request.
 *
 * Guarantees: with such requests nobody can exceed a limit or find out which tokens are good. The
 * request counts against its key, and the answer shows the key's limits. A bad token counts against
 * its address. Leaves out: requests without a token, and the interface for operators.
 */
import { limited } from "@millrace/core/engine/StoreDeadline"
import type { Layer, Types } from "effect"
import { Effect, Redacted } from "effect"
import { HttpEffect, HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import type { AuthDecision } from "./Authenticator.ts"
import { Authenticator, rateHeadersOf } from "./Authenticator.ts"
import { answerOf, logStorage, UnknownRoute } from "../Errors.ts"

/** The bearer token of a request, read as for operations; empty if there is none. */
const tokenOf = ({ headers }: HttpServerRequest.HttpServerRequest): Redacted.Redacted =>
  Redacted.make(/^bearer +(.+)$/is.exec(headers["authorization"] ?? "")?.[1] ?? "")

/** True for the interface for operators, which needs no API key. */
const isForOperators = ({ url }: HttpServerRequest.HttpServerRequest): boolean =>
  url.startsWith("/api/admin/")

type Answer = HttpServerResponse.HttpServerResponse

const codes = new Set(["unknown_route", "method_not_allowed"])

/** True for an answer that comes from no operation. */
const isNotFound = ({ body, headers, status }: Answer): boolean =>
  (status === 404 && body._tag === "Empty") || codes.has(headers["x-error-code"] ?? "")

const whole = (answer: Answer): Answer =>
  answer.body._tag === "Empty" ? answerOf(new UnknownRoute(), 404) : answer

const isTooMany = (decision: AuthDecision): boolean =>
  decision._tag === "Limited" ||
  (decision._tag === "Refused" && decision.refusal._tag !== "KeyRefused")

const answerFor = (answer: Answer, decision: AuthDecision): Answer => {
  const told =
    decision._tag !== "Admitted" && isTooMany(decision)
      ? answerOf(decision.refusal, 429)
      : whole(answer)
  return decision._tag === "Refused"
    ? told
    : HttpServerResponse.setHeaders(told, rateHeadersOf(decision.window))
}

/** How long the store may take before the answer goes out without it. */
const patienceMillis = 1_000

const make = Effect.map(
  Authenticator,
  (authenticator) => (route: Effect.Effect<Answer, Types.unhandled>) =>
    Effect.flatMap(HttpServerRequest.HttpServerRequest, (request) => {
      const token = tokenOf(request)
      const asked = limited("NotFound.ask", patienceMillis)(authenticator.ask(request, token))
      const account = (answer: Answer) =>
        Effect.match(Effect.tapError(Effect.interruptible(asked), logStorage), {
          onFailure: () => answer,
          onSuccess: (decision) => answerFor(answer, decision),
        })
      const isForeign = Redacted.value(token) === "" || isForOperators(request)
      return HttpEffect.withPreResponseHandler(route, (_, answer) =>
        isForeign || !isNotFound(answer) ? Effect.succeed(answer) : account(answer),
      )
    }),
)

/**
 * Watches every route of the router, also routes of other modules. Add it before the middleware
 * that sets headers of answers.
 */
export const layer: Layer.Layer<never, never, HttpRouter.HttpRouter | Authenticator> =
  HttpRouter.middleware(make, { global: true })
