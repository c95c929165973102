/**
 * The outermost middleware. It handles every request and every answer of the server.
 *
 * Guarantees: an unknown address gets 404, and a known one with another method gets 405 with
 * `Allow`. An error without a body gets the body `{ "error": "..." }`. Every answer has an
 * `X-Request-Id`. The log has the cause of a fault under that id; the answer does not have it.
 * Leaves out: errors of operations, which have their own form.
 */
import { AdminApi } from "@millrace/api/AdminApi"
import { Api } from "@millrace/api/Api"
import { ConsoleApi } from "@millrace/api/ConsoleApi"
import type { Cause, Layer, Types } from "effect"
import { Effect } from "effect"
import { SecureRandom } from "effect/crypto"
import * as FindMyWay from "effect/http/FindMyWay"
import * as HttpEffect from "effect/http/HttpEffect"
import * as HttpRouter from "effect/http/HttpRouter"
import * as HttpServerRequest from "effect/http/HttpServerRequest"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as HttpApi from "effect/http-api/HttpApi"
import {
  adminOpenapiPath,
  consoleOpenapiPath,
  docsPath,
  healthPath,
  openapiPath,
  readyPath,
  routerConfig,
} from "./Addresses.ts"
import { AdminToken } from "./AdminAuthorization.ts"
import {
  answerOf,
  Fault,
  InvalidRequest,
  ShuttingDown,
  UnknownRoute,
  WrongMethod,
} from "./Errors.ts"
import * as CrossOrigin from "./internal/CrossOrigin.ts"
import type { RequestNotes } from "./internal/RequestId.ts"
import { CurrentRequest, makeSource } from "./internal/RequestId.ts"

/** The methods of every address, in order of declaration. */
const methodsByPath = (forOperators: boolean): ReadonlyMap<string, ReadonlyArray<string>> => {
  const methods = new Map<string, Array<string>>()
  const add = (path: string, ...names: ReadonlyArray<string>) =>
    methods.set(path, [...(methods.get(path) ?? []), ...names])
  const documents = [openapiPath, consoleOpenapiPath, docsPath, healthPath, readyPath]
  for (const path of documents) add(path, "GET", "HEAD")
  if (forOperators) add(adminOpenapiPath, "GET", "HEAD")
  const visitor: Parameters<typeof HttpApi.reflect>[1] = {
    onGroup: () => {},
    onEndpoint: ({ endpoint }) =>
      add(endpoint.path, ...(endpoint.method === "GET" ? ["GET", "HEAD"] : [endpoint.method])),
  }
  HttpApi.reflect(Api, visitor)
  HttpApi.reflect(ConsoleApi, visitor)
  if (forOperators) HttpApi.reflect(AdminApi, visitor)
  return methods
}

const anyMethod = "ANY"

/** Makes a function that finds the methods of an address; `undefined` if it is unknown. */
const makeMethodsOf = (forOperators: boolean) => {
  const router = FindMyWay.make<ReadonlyArray<string>>(routerConfig)
  for (const [path, methods] of methodsByPath(forOperators)) {
    router.on(anyMethod, path as FindMyWay.PathInput, methods)
  }
  return (url: string) => router.find(anyMethod, url)?.handler
}

/**
 * Empty segments but the last one of the dashboard and of approvals, and characters at which the
 * router would cut a path.
 */
const misspelt = /[;#]|\/\/|(?<!^(?:\/dashboard|\/approvals)?)\/$/

/** True for an address that differs from a known one, although the router would accept it. */
const isMisspelt = (url: string): boolean => {
  const end = url.indexOf("?")
  return misspelt.test(end < 0 ? url : url.slice(0, end))
}

/** The answer in place of an error without a body; `undefined` for other statuses. */
const bodyOf = (status: number): HttpServerResponse.HttpServerResponse | undefined => {
  switch (status) {
    case 400:
      return answerOf(new InvalidRequest({ message: "The request is malformed" }))
    case 404:
      return answerOf(new UnknownRoute())
    case 500:
      return answerOf(new Fault())
    case 503:
      return answerOf(new ShuttingDown())
    default:
      return undefined
  }
}

const complete = (response: HttpServerResponse.HttpServerResponse) =>
  response.status < 400 || response.body._tag !== "Empty"
    ? response
    : (bodyOf(response.status) ?? response)

type Answer = HttpServerResponse.HttpServerResponse

/** The headers of every answer. */
const common = { "x-content-type-options": "nosniff" }

/** Adds the body of an error, and the headers of every answer. */
const completed = (response: Answer, { headers, id }: RequestNotes): Answer =>
  HttpServerResponse.setHeaders(complete(response), {
    ...headers,
    ...common,
    "x-request-id": id,
  })

const isDefect = (reason: Cause.Reason<unknown>): boolean =>
  reason._tag === "Die" && !HttpServerResponse.isHttpServerResponse(reason.defect)

const logDefects = (id: string) => (cause: Cause.Cause<unknown>) =>
  cause.reasons.some(isDefect) ? Effect.logError(`Request ${id} broke`, cause) : Effect.void

/** A source of request ids, for requests that are answered before the middleware runs. */
export const requestNames: Effect.Effect<() => string> = Effect.provide(
  makeSource,
  SecureRandom.layerWebCrypto,
)

const make = Effect.gen(function* () {
  const nextId = yield* requestNames
  const methodsOf = makeMethodsOf((yield* AdminToken) !== undefined)
  const { headersOf, preflight } = yield* CrossOrigin.make
  const wrongMethod = (request: HttpServerRequest.HttpServerRequest) => {
    const { method, url } = request
    const allowed = methodsOf(url)
    return allowed === undefined || allowed.includes(method)
      ? undefined
      : (preflight(request, allowed) ?? answerOf(new WrongMethod({ method, allowed })))
  }

  return (route: Effect.Effect<Answer, Types.unhandled>) =>
    Effect.flatMap(HttpServerRequest.HttpServerRequest, (request) => {
      const notes: RequestNotes = { id: nextId(), headers: headersOf(request) }
      const refused = isMisspelt(request.url) ? answerOf(new UnknownRoute()) : wrongMethod(request)
      const answered =
        refused === undefined
          ? Effect.tapCause(route, logDefects(notes.id))
          : Effect.succeed(refused)
      return answered.pipe(
        Effect.provideService(CurrentRequest, notes),
        HttpEffect.withPreResponseHandler((_, response) =>
          Effect.succeed(completed(response, notes)),
        ),
      )
    })
})

/** Puts every route of the router behind the error middleware, also routes of other modules. */
export const layer: Layer.Layer<never, never, HttpRouter.HttpRouter> = HttpRouter.middleware(make, {
  global: true,
})
