/**
 * The http_request node: calls a URL. Its output is the answer.
 *
 * Guarantees: calls go through the egress guard, so a URL of an internal network is never called.
 * Redirects are not followed. The timeout includes the whole exchange, but not the wait for a turn.
 * All attempts of a node that changes something have the same `Idempotency-Key`. Leaves out: binary
 * answers, which are read as text, and signing in.
 */
import type { Json as JsonValue } from "@millrace/core/domain/Json"
import { Json } from "@millrace/core/domain/Json"
import { callSeconds } from "@millrace/core/domain/Limits"
import { CurrentNode, NodeError } from "@millrace/core/engine/CurrentNode"
import { define, sentenceOf } from "@millrace/core/engine/NodeDefinition"
import type { Answer, Call, EgressFailed, EgressRefused } from "@millrace/egress/Egress"
import { Egress } from "@millrace/egress/Egress"
import { problemOfHeaders } from "@millrace/egress/Headers"
import { maxUrlLength } from "@millrace/egress/Policy"
import { Effect, Schema } from "effect"

type Headers = { readonly [name: string]: string }
type Query = { readonly [name: string]: string | number | boolean }

const isWebUrl = (text: string): boolean => /^https?:\/\//i.test(text) && URL.canParse(text)

const UrlInput = Schema.String.check(
  Schema.isMaxCodePoints(maxUrlLength),
  Schema.makeFilter((text: string) => isWebUrl(text) || "expected an http or https URL", {
    toJsonSchema: () => ({ format: "uri" }),
  }),
).annotate({ description: "The address to call: http or https, and public." })

const HeadersInput = Schema.Record(Schema.String, Schema.String)
  .annotate({ description: "Headers to send. Those that frame the request cannot be set." })
  .check(Schema.makeFilter((headers: Headers) => problemOfHeaders(headers)))

const QueryInput = Schema.Record(
  Schema.String,
  Schema.Union([Schema.String, Schema.Finite, Schema.Boolean]),
).annotate({ description: "Parameters to add to the URL." })

const methods = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD"] as const

const withQuery = (text: string, query: Query): string => {
  const url = new URL(text)
  for (const [name, value] of Object.entries(query)) url.searchParams.append(name, String(value))
  return url.href
}

const withDefault = (headers: Headers, name: string, value: string): Headers =>
  Object.keys(headers).some((each) => each.toLowerCase() === name)
    ? headers
    : { ...headers, [name]: value }

/** The text of a body and its type. Texts are sent as they are, other values as JSON. */
const encoded = (body: JsonValue): readonly [text: string, type: string] =>
  typeof body === "string"
    ? [body, "text/plain; charset=utf-8"]
    : [JSON.stringify(body), "application/json"]

const failure = (message: string, retryable: boolean) =>
  new NodeError(retryable ? { message } : { message, retryable })

const ofEgress = (error: EgressRefused | EgressFailed): NodeError =>
  failure(error.message, error._tag === "EgressFailed" && error.reason !== "too-large")

/** True for a status that another attempt may not get. */
const passing = (status: number): boolean => status >= 500 || [408, 425, 429].includes(status)

const problemOfStatus = (status: number, url: string): NodeError | undefined => {
  if (status >= 200 && status < 300) return undefined
  const note = status >= 300 && status < 400 ? "; redirects are not followed" : ""
  return failure(`HTTP ${status} from ${new URL(url).hostname}${note}`, passing(status))
}

const mediaType = (type: string): string => (type.split(";")[0] ?? "").trim().toLowerCase()

const isJson = (type: string): boolean =>
  ["application/json", "text/json"].includes(mediaType(type)) || mediaType(type).endsWith("+json")

const charset = /;\s*charset="?([\w.:-]{1,40})/i

const decoderFor = (type: string) => {
  const label = charset.exec(type)?.[1]
  try {
    return new TextDecoder(label)
  } catch {
    return new TextDecoder()
  }
}

/** The body of an answer: parsed JSON, or text, or `null` if it is empty. */
const decoded = ({ body, headers }: Answer): JsonValue => {
  const coding = headers["content-encoding"] ?? "identity"
  if (coding !== "identity" && body.byteLength > 0) {
    throw new Error(`the answer is encoded as ${coding.slice(0, 40)}, which was not asked for`)
  }
  const type = headers["content-type"] ?? ""
  if (!isJson(type)) return decoderFor(type).decode(body)
  if (body.byteLength === 0) return null
  try {
    return JSON.parse(new TextDecoder().decode(body)) as JsonValue
  } catch {
    throw new Error("the answer says that it is JSON, but it is not")
  }
}

interface Inputs {
  readonly url: string
  readonly method?: (typeof methods)[number]
  readonly headers?: Headers
  readonly query?: Query
  readonly body?: JsonValue
  readonly timeoutSeconds?: number
}

/** True for a method that changes nothing. */
const isRead = (method: string): boolean => method === "GET" || method === "HEAD"

const callOf = (inputs: Inputs, node: CurrentNode["Service"]): Call => {
  const { body, headers = {}, method = "GET", query = {}, timeoutSeconds = 30, url } = inputs
  const agent = withDefault(headers, "user-agent", "millrace")
  const named = isRead(method) ? agent : withDefault(agent, "idempotency-key", node.idempotencyKey)
  const base = {
    method,
    account: node.accountId,
    url: Object.keys(query).length === 0 ? url : withQuery(url, query),
    timeoutMillis: timeoutSeconds * 1_000,
  }
  if (body === undefined) return { ...base, headers: named }
  const [text, type] = encoded(body)
  return { ...base, headers: withDefault(named, "content-type", type), body: text }
}

const outputsOf = (answer: Answer) => {
  const { headers, status } = answer
  return { response: { status, headers }, body: decoded(answer) }
}

const call = Effect.fnUntraced(function* (inputs: Inputs, acceptAnyStatus: boolean) {
  const { body, method = "GET", url } = inputs
  if (body !== undefined && isRead(method)) {
    return yield* failure(`a ${method} request has no body`, false)
  }
  const egress = yield* Egress
  const outgoing = callOf(inputs, yield* CurrentNode)
  const answer = yield* Effect.mapError(egress.request(outgoing), ofEgress)
  const problem = acceptAnyStatus ? undefined : problemOfStatus(answer.status, url)
  if (problem !== undefined) return yield* problem
  return yield* Effect.try({
    try: () => outputsOf(answer),
    catch: (error) => failure(sentenceOf(error), false),
  })
})

/** `http_request`: calls a URL. An answer outside 2xx fails the node unless it is accepted. */
export const httpRequest = define({
  key: "http_request",
  effects: "writes",
  name: "HTTP request",
  description:
    "Calls a public URL and puts out the answer; JSON is parsed. But for GET and HEAD, every " +
    "attempt has the same Idempotency-Key, unless the headers set one.",
  category: "network",
  inputs: {
    url: UrlInput,
    method: Schema.optionalKey(
      Schema.Literals(methods).annotate({ description: "How to ask.", default: "GET" }),
    ),
    headers: Schema.optionalKey(HeadersInput),
    query: Schema.optionalKey(QueryInput),
    body: Schema.optionalKey(
      Json.annotate({ description: "A text is sent as it is, everything else as JSON." }),
    ),
    acceptAnyStatus: Schema.optionalKey(
      Schema.Boolean.annotate({ description: "True: no status is a failure.", default: false }),
    ),
    timeoutSeconds: Schema.optionalKey(
      Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: callSeconds })).annotate({
        description: "For the whole exchange.",
        default: 30,
      }),
    ),
  },
  secrets: ["headers"],
  outputs: {
    response: Schema.Struct({
      status: Schema.Int,
      headers: Schema.Record(Schema.String, Schema.String),
    }).annotate({ description: "Status and headers; names of headers are in lower case." }),
    body: Json.annotate({ description: "The answer's body; JSON is parsed." }),
  },
  example: {
    inputs: { url: "https://example.com/orders", query: { day: "today" } },
    outputs: {
      response: { status: 200, headers: { "content-type": "application/json" } },
      body: [{ id: 1 }],
    },
  },
  run: ({ acceptAnyStatus = false, ...inputs }) => call(inputs, acceptAnyStatus),
})
