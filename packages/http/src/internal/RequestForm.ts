/**
 * Refuses requests whose path, query or headers have the wrong form.
 *
 * Guarantees: a query that is not UTF-8 is refused; otherwise U+FFFD would replace the bad bytes. A
 * refusal names the place of a wrong value and never shows the value. Leaves out: bodies, and
 * unknown addresses.
 */
import { RequestForm } from "@millrace/api/Authorization"
import { sentenceOf } from "@millrace/api/Sentence"
import type { AnsweredError } from "@millrace/api/WireError"
import type { Types } from "effect"
import { Effect, Layer } from "effect"
import { HttpServerRequest } from "effect/http"
import { HttpApiError } from "effect/http-api"
import { InvalidRequest, refuse } from "../Errors.ts"

const places = { Params: "path", Query: "query", Headers: "headers", Payload: "body" } as const

type Rejected = Effect.Effect<
  never,
  AnsweredError<"BadRequest"> | Types.unhandled,
  HttpServerRequest.HttpServerRequest
>

/** Refuses a request, and names what is wrong with a part of it. */
const wordFor = (error: HttpApiError.HttpApiSchemaError) =>
  error.kind === "Body" || error.kind === "ResponseHeaders"
    ? // Our own answer has the wrong form, which is a fault of the server.
      Effect.die(error.cause)
    : refuse(new InvalidRequest({ message: sentenceOf(error.cause.issue, places[error.kind]) }))

/** True for an address whose percent-encoding stands for UTF-8. */
const isDecodable = (url: string): boolean => {
  if (!url.includes("%")) return true
  try {
    decodeURIComponent(url)
    return true
  } catch {
    return false
  }
}

/** Refuses a path, a query or headers of the wrong form. */
export const layer: Layer.Layer<RequestForm> = Layer.succeed(RequestForm, (operation) =>
  Effect.flatMap(HttpServerRequest.HttpServerRequest, ({ url }) =>
    isDecodable(url)
      ? Effect.catch(operation, (error): Rejected =>
          HttpApiError.HttpApiSchemaError.is(error) ? wordFor(error) : Effect.fail(error),
        )
      : refuse(new InvalidRequest({ message: "query: expected percent-encoded UTF-8" })),
  ),
)
