/**
 * Requests to addresses where there is nothing, and with methods that an address does not have:
 * they are answered as such, and counted as any other.
 *
 * Guarantees: nobody gets around a limit, or learns which tokens are good, by asking for nothing:
 * a key pays for the request and is told of its limits, a bad token counts against its address.
 * Leaves out: requests without a token, which are told what they would be told anyway, and the
 * interface for operators.
 */
import { limited } from "@millrace/core/engine/StoreDeadline"
import type { Layer, Types } from "effect"
import { Effect, Redacted } from "effect"
import { HttpEffect, HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import type { AuthDecision } from "./Authenticator.ts"
import { Authenticator, rateHeadersOf } from "./Authenticator.ts"
import { answerOf, logStorage, UnknownRoute } from "../Errors.ts"

/** The bearer token of a request, as operations read it; empty where there is none. */
const tokenOf = ({ headers }: HttpServerRequest.HttpServerRequest): Redacted.Redacted =>
  Redacted.make(/^bearer +(.+)$/is.exec(headers["authorization"] ?? "")?.[1] ?? "")

/** Where operators are spoken to; keys and their limits have no say there. */
const isForOperators = ({ url }: HttpServerRequest.HttpServerRequest): boolean =>
  url.startsWith("/api/admin/")

type Answer = HttpServerResponse.HttpServerResponse

const codes = new Set(["unknown_route", "method_not_allowed"])

/** True for an answer that no operation gave. */
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
 * Watches every route of the router, those of others too. To be added before whatever dresses
 * answers.
 */
export const layer: Layer.Layer<never, never, HttpRouter.HttpRouter | Authenticator> =
  HttpRouter.middleware(make, { global: true })
