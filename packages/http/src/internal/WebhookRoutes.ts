/**
 * `/hooks/{token}`: the addresses of inbound webhooks, at which other systems start runs.
 *
 * Guarantees: an address that is wrong and one that is switched off get the answer of every address
 * where there is nothing. Limits hold before anything of a body is read, and its signature is
 * checked before anything of it is parsed. Nothing of a request is logged. What comes to a test
 * address is judged in the same way, starts nothing, and is kept for the owner. Leaves out: which
 * values a request brings, and starting runs.
 */
import type { InboundWebhook } from "@millrace/core/domain/InboundWebhook"
import type { Json, JsonObject } from "@millrace/core/domain/Json"
import type { Limits } from "@millrace/core/domain/Limits"
import { CurrentLimits, webhookWaitMillis } from "@millrace/core/domain/Limits"
import { testPrefix } from "@millrace/core/domain/WebhookTest"
import type { TextParts, WebhookBody, WebhookRequest } from "@millrace/core/engine/InboundWebhooks"
import { InboundWebhooks, isFromNetworks } from "@millrace/core/engine/InboundWebhooks"
import { LargeValues } from "@millrace/core/engine/LargeValues"
import { Runs, type StartedOnce } from "@millrace/core/engine/Runs"
import { WebhookTests } from "@millrace/core/engine/WebhookTests"
import { Clock, Effect, Option, Redacted, Result } from "effect"
import * as HttpRouter from "effect/http/HttpRouter"
import * as HttpServerRequest from "effect/http/HttpServerRequest"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import type { Refusal } from "../Errors.ts"
import {
  Compressed,
  errorOf,
  InvalidRequest,
  NetworkRefused,
  UnknownMediaType,
  refuse,
  SenderRefused,
  TooManyBadTokens,
  UnknownRoute,
  WebhookLimited,
  withoutBalance,
  WrongMethod,
} from "../Errors.ts"
import { hookAddress } from "../Addresses.ts"
import { readText, isPlain, parseJson, readBytes } from "./Body.ts"
import { FailedAuthLimiter } from "./FailedAuthLimiter.ts"
import { MinuteCounts } from "./MinuteCounts.ts"

type Request = HttpServerRequest.HttpServerRequest

/** How a body is read. */
type Kind = "json" | "form" | "text"

/** How a body of this media type is read; `undefined`: not at all. */
const kindOf = (contentType: string): Kind | undefined => {
  const [type = "", ...parameters] = contentType.split(";").map((each) => each.trim().toLowerCase())
  const charset = parameters.find((each) => each.startsWith("charset="))
  if (!/^charset="?utf-8"?$/.test(charset ?? "charset=utf-8")) return undefined
  if (/^application\/(?:[\w.+-]+\+)?json$/.test(type)) return "json"
  if (type === "application/x-www-form-urlencoded") return "form"
  return /^(?:text\/[\w.+-]+|application\/(?:[\w.+-]+\+)?xml)$/.test(type) ? "text" : undefined
}

/** The fields of a form, or of a query. */
const partsOf = (form: string): TextParts => {
  const parts = new Map<string, string | ReadonlyArray<string>>()
  for (const [name, value] of new URLSearchParams(form)) {
    const known = parts.get(name)
    parts.set(name, known === undefined ? value : [known, value].flat())
  }
  return Object.fromEntries(parts)
}

const queryOf = ({ url }: Request): string => {
  const at = url.indexOf("?")
  return at < 0 ? "" : url.slice(at + 1)
}

/** Reads a body. One that is empty has the fields of the query. */
const bodyOf = (
  bytes: ArrayBuffer,
  kind: Kind,
  query: TextParts,
  limits: Limits,
): Result.Result<WebhookBody, InvalidRequest> => {
  if (bytes.byteLength === 0) return Result.succeed({ _tag: "Texts", value: query })
  if (kind === "json") {
    return Result.map(parseJson(bytes, limits), (value) => ({ _tag: "Json", value: value as Json }))
  }
  return Result.map(readText(bytes), (text) =>
    kind === "form" ? { _tag: "Texts", value: partsOf(text) } : { _tag: "Json", value: text },
  )
}

const servicesOf = Effect.all({
  webhooks: InboundWebhooks,
  tests: WebhookTests,
  runs: Runs,
  values: LargeValues,
  badTokens: FailedAuthLimiter,
  clock: Clock.Clock,
  limits: CurrentLimits,
})
type Services = Effect.Success<typeof servicesOf> & { readonly counts: MinuteCounts }

/** What is at an address. A bad one counts as a bad token does. */
const known = Effect.fnUntraced(function* <A, E>(
  { badTokens }: Services,
  request: Request,
  find: Effect.Effect<Option.Option<A>, E>,
) {
  const found = yield* find
  if (Option.isSome(found)) return found.value
  const retryAfterSeconds = yield* badTokens.count(request)
  if (retryAfterSeconds === undefined) return yield* new UnknownRoute()
  return yield* new TooManyBadTokens({ retryAfterSeconds })
})

/** Refuses what can be refused by its head. */
const checkHead = Effect.fnUntraced(function* (
  { clock, counts }: Services,
  webhook: InboundWebhook,
  request: Request,
) {
  const { id, methods, networks } = webhook
  const retryAfterSeconds = counts.add(id, clock.currentTimeMillisUnsafe())
  if (retryAfterSeconds !== undefined) return yield* new WebhookLimited({ retryAfterSeconds })
  const { headers, method } = request
  if (!methods.some((each) => each === method)) {
    return yield* new WrongMethod({ method, allowed: methods })
  }
  const address = Option.getOrUndefined(request.remoteAddress)
  if (networks !== null && !isFromNetworks(networks, address)) return yield* new NetworkRefused()
  if (!isPlain(headers["content-encoding"] ?? "identity")) return yield* new Compressed()
  const kind = kindOf(headers["content-type"] ?? "application/json")
  return kind ?? (yield* new UnknownMediaType())
})

const noFields =
  "body: expected an object or a form; say with `into` which field another body goes to"

/** A request whose sender has shown who it is, and whose body was not read yet. */
interface Proven {
  readonly sent: WebhookRequest
  readonly bytes: ArrayBuffer
  readonly kind: Kind
}

/** Judges a request by its head, and by the signature of its bytes. */
const proven = Effect.fnUntraced(function* (
  services: Services,
  webhook: InboundWebhook,
  request: Request,
) {
  const { limits, webhooks } = services
  const kind = yield* checkHead(services, webhook, request)
  const hasBody = request.method !== "GET"
  const bytes = hasBody ? yield* readBytes(request, limits) : new ArrayBuffer(0)
  const { headers, method } = request
  const query = partsOf(queryOf(request))
  const sent: WebhookRequest = { method, headers, query, body: new Uint8Array(bytes) }
  if (!(yield* webhooks.verify(webhook, sent))) return yield* new SenderRefused()
  return { bytes, kind, sent } satisfies Proven
})

/** The body of a request, for `use`, which has nothing where the body has no fields. */
const withBody = Effect.fnUntraced(function* <A, E>(
  { limits }: Services,
  { bytes, kind, sent }: Proven,
  use: (sent: WebhookRequest, body: WebhookBody) => Effect.Effect<A | undefined, E>,
) {
  const body = yield* Effect.fromResult(bodyOf(bytes, kind, sent.query, limits))
  return (yield* use(sent, body)) ?? (yield* new InvalidRequest({ message: noFields }))
})

/** Judges a request, and starts its run. */
const started = Effect.fnUntraced(function* (
  services: Services,
  webhook: InboundWebhook,
  request: Request,
) {
  const came = yield* proven(services, webhook, request)
  return yield* withBody(services, came, (...given) => services.webhooks.start(webhook, ...given))
})

const unfinished = "The run did not complete"

/** The output of a run, once it has ended; `undefined`, if that takes too long. */
const outputOf = Effect.fnUntraced(function* (
  { limits, runs, values }: Services,
  { accountId }: InboundWebhook,
  { runId }: StartedOnce,
) {
  const waited = Effect.timeoutOption(runs.wait(accountId, runId), webhookWaitMillis)
  const ended = Option.getOrUndefined(yield* waited)
  if (ended === undefined) return undefined
  const { status } = ended.run
  if (status !== "COMPLETED") return { status: 500, body: { runId, status, error: unfinished } }
  const [whole] = yield* values.withValues([ended], limits.batchBytes)
  return { status: 200, body: { runId, status, output: whole!.run.output } }
})

const answer = Effect.fnUntraced(function* (services: Services, request: Request, token: string) {
  const found = services.webhooks.find(Redacted.make(token))
  const webhook = yield* known(services, request, found)
  const run = yield* started(services, webhook, request)
  const output = webhook.respond === "output" ? yield* outputOf(services, webhook, run) : undefined
  const { body, status } = output ?? { status: 202, body: { runId: run.runId } }
  const headers = run.isReplay ? { "idempotent-replayed": "true" } : {}
  return HttpServerResponse.jsonUnsafe(body, { status, headers })
})

/** What becomes of a request, and the bytes of a sender that has shown who it is. */
interface Judged {
  readonly judged: Effect.Effect<JsonObject, Refusal>
  readonly body: Uint8Array | undefined
}

/** What came of a request at a test address: values, or a refusal. The owner can read it. */
const noted = Effect.fnUntraced(function* (
  { tests }: Services,
  webhook: InboundWebhook,
  request: Request,
  { body, judged }: Judged,
) {
  const result = yield* Effect.result(judged)
  const { headers, method } = request
  const arrived = { headers, method, query: queryOf(request), body }
  if (Result.isSuccess(result)) {
    yield* tests.note(webhook, arrived, { values: result.success })
    return
  }
  const { failure } = result
  // Who sends too much does not make the store write too much.
  if (failure._tag !== "WebhookLimited" && failure._tag !== "StorageError") {
    yield* tests.note(webhook, arrived, { refused: errorOf(failure).message })
  }
  return yield* failure
})

/** Judges a request at a test address as it would be judged at the other one; starts nothing. */
const answerTest = Effect.fnUntraced(function* (
  services: Services,
  request: Request,
  token: string,
) {
  const { tests } = services
  const webhook = yield* known(services, request, tests.find(Redacted.make(token)))
  const head = yield* Effect.result(proven(services, webhook, request))
  const judged: Judged = Result.isFailure(head)
    ? { judged: Effect.fail(head.failure), body: undefined }
    : {
        judged: withBody(services, head.success, (...given) => tests.valuesOf(webhook, ...given)),
        body: head.success.sent.body,
      }
  yield* noted(services, webhook, request, judged)
  return HttpServerResponse.jsonUnsafe({ test: true }, { status: 202 })
})

/** The route of all addresses of inbound webhooks. */
export const layer = HttpRouter.use((router) =>
  Effect.gen(function* () {
    const all = yield* servicesOf
    const { badTokenSources, requestsPerWebhook } = all.limits
    const newCounts = () => new MinuteCounts(requestsPerWebhook, badTokenSources)
    const services = { ...all, counts: newCounts() }
    // What comes to a test address leaves the other one its room.
    const forTests = { ...all, counts: newCounts() }
    const route = Effect.gen(function* () {
      const request = yield* HttpServerRequest.HttpServerRequest
      const { params } = yield* HttpRouter.RouteContext
      const { token = "" } = params
      return yield* token.startsWith(testPrefix)
        ? answerTest(forTests, request, token)
        : answer(services, request, token)
    })
    const refused = (refusal: Refusal) =>
      refuse(refusal._tag === "InsufficientCredits" ? withoutBalance(refusal) : refusal)
    yield* router.add("*", hookAddress(":token") as "/", Effect.catch(route, refused))
  }),
)
