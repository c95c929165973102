/**
 * The http_request node: calls a URL. Its output is the answer.
 *
 * Guarantees: all calls, those that redirects lead to as well, go through the egress guard, so a
 * URL of an internal network is never called. The timeout includes the whole exchange, but not the
 * wait for a turn. All attempts of a node that changes something have the same `Idempotency-Key`.
 */
import type { Json as JsonValue } from "@millrace/core/domain/Json"
import { Json } from "@millrace/core/domain/Json"
import {
  callSeconds,
  expressionLength,
  pagesPerRequest,
  redirectsFollowed,
} from "@millrace/core/domain/Limits"
import type { KnownInputs } from "@millrace/core/domain/NodeType"
import { CurrentNode } from "@millrace/core/engine/CurrentNode"
import { define, sentenceOf } from "@millrace/core/engine/NodeDefinition"
import { problemOfHeaders } from "@millrace/egress/Headers"
import { maxUrlLength } from "@millrace/egress/Policy"
import { Effect, Schema } from "effect"
import { failure, problemOfStatus, read } from "./HttpAnswer.ts"
import type { Auth } from "./HttpAuth.ts"
import { AuthInput, headerOf } from "./HttpAuth.ts"
import type { BodyType } from "./HttpBody.ts"
import { bodyTypes, encodeBody } from "./HttpBody.ts"
import { allPages, scriptOf } from "./HttpPages.ts"
import type { Arrival, Journey } from "./Redirects.ts"
import { isRead, locationOf, send } from "./Redirects.ts"

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

const whole = (minimum: number, maximum: number) =>
  Schema.Int.check(Schema.isBetween({ minimum, maximum }))

const inputs = {
  url: UrlInput,
  method: Schema.optionalKey(
    Schema.Literals(methods).annotate({ description: "How to ask.", default: "GET" }),
  ),
  auth: Schema.optionalKey(AuthInput),
  headers: Schema.optionalKey(HeadersInput),
  query: Schema.optionalKey(QueryInput),
  body: Schema.optionalKey(
    Json.annotate({ description: "What to send; bodyType says how. GET and HEAD send nothing." }),
  ),
  bodyType: Schema.optionalKey(
    Schema.Literals(bodyTypes).annotate({
      description:
        "auto: a text as it is, everything else as JSON. form, multipart: an object of fields; " +
        "with multipart, a file is { filename, content, type, encoding: text or base64 }.",
      default: "auto",
    }),
  ),
  redirects: Schema.optionalKey(
    whole(0, redirectsFollowed).annotate({
      description: "How many redirects are followed. Another host gets no auth and no cookies.",
      default: redirectsFollowed,
    }),
  ),
  next: Schema.optionalKey(
    Schema.String.annotate({
      description:
        "Where the next page is: an expression over response, body and page (from 1), such as " +
        "{{ body.next }}. The body is then an array of the pages' bodies.",
    }).check(Schema.isMaxLength(expressionLength)),
  ),
  maxPages: Schema.optionalKey(
    whole(1, pagesPerRequest).annotate({
      description: "How many pages are called; the address of a further one is put out as next.",
      default: 10,
    }),
  ),
  acceptAnyStatus: Schema.optionalKey(
    Schema.Boolean.annotate({ description: "True: no status is a failure.", default: false }),
  ),
  timeoutSeconds: Schema.optionalKey(
    whole(1, callSeconds).annotate({
      description: "For the whole exchange; for each, where there are redirects.",
      default: 30,
    }),
  ),
}

interface Inputs {
  readonly url: string
  readonly method?: (typeof methods)[number]
  readonly auth?: Auth
  readonly headers?: Headers
  readonly query?: Query
  readonly body?: JsonValue
  readonly bodyType?: BodyType
  readonly redirects?: number
  readonly next?: string
  readonly maxPages?: number
  readonly acceptAnyStatus?: boolean
  readonly timeoutSeconds?: number
}

const withQuery = (text: string, query: Query): string => {
  const entries = Object.entries(query)
  if (entries.length === 0) return text
  const url = new URL(text)
  for (const [name, value] of entries) url.searchParams.append(name, String(value))
  return url.href
}

/** The headers with the one that says who asks. */
const withAuth = (headers: Headers, auth: Auth | undefined): Headers => {
  if (auth === undefined) return headers
  const [name, value] = headerOf(auth)
  const same = Object.keys(headers).find((each) => each.toLowerCase() === name.toLowerCase())
  if (same === undefined) return { ...headers, [name]: value }
  throw new Error(`headers: ${same} is set by auth, too; keep one of them`)
}

const bodyless = (method: string): string => `a ${method} request has no body`

/** The request of a node. Throws an `Error` with a clause if it has none. */
const journeyOf = (given: Inputs): Journey => {
  const { auth, body, headers = {}, url } = given
  const { bodyType = "auto", method = "GET", query = {}, timeoutSeconds = 30 } = given
  const begun = {
    method,
    url: withQuery(url, query),
    headers: withAuth(headers, auth),
    timeoutMillis: timeoutSeconds * 1_000,
  }
  if (body === undefined) return begun
  if (isRead(method)) throw new Error(bodyless(method))
  const { content, type } = encodeBody(body, bodyType)
  return { ...begun, body: content, bodyType: type }
}

const onlyGet = "only GET has pages"

/** What is known to be wrong before the node executes. */
const problemsOfInputs = ({ mayHave, values: { body, method, next } }: KnownInputs) => {
  const asked = mayHave("method") ? method : "GET"
  if (typeof asked !== "string") return []
  const problems: Array<readonly [port: string, clause: string]> = []
  if (next !== undefined && asked !== "GET") problems.push(["next", onlyGet])
  if (body !== undefined && isRead(asked)) problems.push(["body", bodyless(asked)])
  return problems
}

/** What follows the status of a redirect that was not followed. */
const noteOf = ({ answer }: Arrival, redirects: number): string => {
  if (locationOf(answer) === undefined) return ""
  return redirects === 0 ? "; redirects are not followed" : ` after ${redirects} redirects`
}

const call = Effect.fnUntraced(function* (given: Inputs) {
  const { acceptAnyStatus = false, maxPages = 10, next, redirects = redirectsFollowed } = given
  const journey = yield* Effect.try({
    try: () => journeyOf(given),
    catch: (error) => failure(sentenceOf(error), false),
  })
  const node = yield* CurrentNode
  const fetch = Effect.fnUntraced(function* (begun: Journey) {
    const arrival = yield* send(begun, redirects, node)
    const { answer, journey: last } = arrival
    const problem = problemOfStatus(answer, last.url, noteOf(arrival, redirects))
    if (problem !== undefined && !acceptAnyStatus) return yield* problem
    return { ...(yield* read(answer)), bytes: answer.body.byteLength, journey: last }
  })
  if (next === undefined) {
    const { body, response } = yield* fetch(journey)
    return { response, body }
  }
  if (journey.method !== "GET") return yield* failure(`next: ${onlyGet}`, false)
  return yield* allPages(journey, next, maxPages, node, fetch)
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
  icon: "globe",
  inputs,
  secrets: ["auth", "headers"],
  raw: {
    next: (text) =>
      scriptOf(text) === undefined ? ["expected one expression: {{ body.next }}"] : [],
  },
  scripts: { next: scriptOf },
  problemsOfInputs,
  outputs: {
    response: Schema.Struct({
      status: Schema.Int,
      headers: Schema.Record(Schema.String, Schema.String),
    }).annotate({ description: "Status and headers; names of headers are in lower case." }),
    body: Json.annotate({ description: "The answer's body; JSON is parsed." }),
    next: Schema.optionalKey(
      Schema.String.annotate({ description: "The page after the last one that was called." }),
    ),
  },
  example: {
    inputs: {
      url: "https://example.com/orders",
      auth: { type: "bearer", token: "{{ secrets.orders }}" },
      query: { day: "today" },
    },
    outputs: {
      response: { status: 200, headers: { "content-type": "application/json" } },
      body: [{ id: 1 }],
    },
  },
  run: call,
})
