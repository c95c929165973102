/**
 * Reads the bodies of requests. Every body is read by way of this module.
 *
 * Guarantees: reads at most `bodyBytes`, and nothing of a body whose `Content-Length` is larger; a
 * client that sent `Expect: 100-continue` is then not told to go on. The text is valid UTF-8 and
 * JSON. Its numbers are finite, and its depth and number of values are bounded, so every part of it
 * can be written as JSON again. An empty body counts as `{}`. Refuses in this order: media type and
 * content coding, size, depth, encoding, syntax, number of values, form.
 */
import type { Limits } from "@millrace/core/domain/Limits"
import { CurrentLimits } from "@millrace/core/domain/Limits"
import type { Schema } from "effect"
import { ByteSize, Effect, Result } from "effect"
import * as HttpServerRequest from "effect/http/HttpServerRequest"
import { BodyTooLarge, Compressed, InvalidRequest, NotJson } from "../Errors.ts"
import * as Form from "../Form.ts"
import { problemOfDepth, problemOfValues } from "./JsonBounds.ts"
import * as NodeBody from "./NodeBody.ts"

/** Of a longer body only the first problem is named, because naming all of them takes time. */
const fullReportLength = 65_536

const isJson = (contentType: string): boolean => {
  const [type, ...parameters] = contentType.split(";").map((part) => part.trim().toLowerCase())
  const charset = parameters.find((each) => each.startsWith("charset="))
  return type === "application/json" && /^charset="?utf-8"?$/.test(charset ?? "charset=utf-8")
}

/** True unless the bytes are compressed. A small compressed body could become a large one. */
export const isPlain = (contentEncoding: string): boolean =>
  contentEncoding.trim().toLowerCase() === "identity"

const utf8 = new TextDecoder("utf-8", { fatal: true })

const invalid = (message: string) =>
  Result.fail(new InvalidRequest({ message: `body: ${message}` }))

/** Reads text in UTF-8. */
export const readText = (bytes: ArrayBuffer): Result.Result<string, InvalidRequest> => {
  try {
    return Result.succeed(utf8.decode(bytes))
  } catch {
    return invalid("expected text in UTF-8")
  }
}

/** Reads JSON of bounded depth and number of values. A body of white space alone is `{}`. */
export const parseJson = (
  bytes: ArrayBuffer,
  limits: Limits,
): Result.Result<unknown, InvalidRequest> => {
  const tooDeep = problemOfDepth(new Uint8Array(bytes), limits)
  if (tooDeep !== undefined) return Result.fail(new InvalidRequest({ message: tooDeep }))
  const decoded = readText(bytes)
  if (Result.isFailure(decoded)) return Result.fail(decoded.failure)
  const text = decoded.success
  try {
    const value: unknown = text.trim() === "" ? {} : JSON.parse(text)
    const message = problemOfValues(value, limits)
    return message === undefined
      ? Result.succeed(value)
      : Result.fail(new InvalidRequest({ message }))
  } catch {
    return invalid("expected valid JSON")
  }
}

const bodyWasRead =
  "body: was read before Millrace got the request; mount Millrace in front of what reads bodies"

/** The bytes of a body, read by the HTTP adapter. */
const adapted = (request: HttpServerRequest.HttpServerRequest, limit: number) =>
  request.arrayBuffer.pipe(
    Effect.provideService(HttpServerRequest.MaxBodySize, ByteSize.bytes(limit)),
    Effect.mapError(({ reason }): NodeBody.BodyProblem =>
      reason._tag === "RequestParseError" && reason.reason === "BodyTooLarge"
        ? "too large"
        : "incomplete",
    ),
  )

/** Reads the bytes of a body, at most as many as it may have. */
export const readBytes = Effect.fnUntraced(function* (
  request: HttpServerRequest.HttpServerRequest,
  { bodyBytes }: Limits,
) {
  if ((request.source as Partial<Request>).bodyUsed === true) {
    return yield* new InvalidRequest({ message: bodyWasRead })
  }
  if (Number(request.headers["content-length"] ?? 0) > bodyBytes) {
    return yield* new BodyTooLarge({ limit: bodyBytes })
  }
  const message = NodeBody.messageOf(request)
  const bytes =
    message === undefined ? adapted(request, bodyBytes) : NodeBody.read(message, bodyBytes)
  return yield* Effect.mapError(bytes, (problem) =>
    problem === "too large"
      ? new BodyTooLarge({ limit: bodyBytes })
      : new InvalidRequest({ message: "body: could not be read" }),
  )
})

/**
 * A reader of bodies of this form. It returns the body and its bytes. Without a `Content-Type`, a
 * body counts as JSON.
 */
export const reader = <A, I>(schema: Schema.Codec<A, I>) => {
  const read = Form.reader(schema, "body")
  return Effect.fnUntraced(function* (request: HttpServerRequest.HttpServerRequest) {
    const { headers } = request
    if (!isJson(headers["content-type"] ?? "application/json")) return yield* new NotJson()
    if (!isPlain(headers["content-encoding"] ?? "identity")) return yield* new Compressed()
    const limits = yield* CurrentLimits
    const bytes = yield* readBytes(request, limits)
    const value = yield* Effect.fromResult(parseJson(bytes, limits))
    const errors = bytes.byteLength > fullReportLength ? "first" : "all"
    const body = yield* Effect.fromResult(read(value, errors))
    return { body, bytes: new Uint8Array(bytes) }
  })
}
