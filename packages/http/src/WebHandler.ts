/**
 * The HTTP interface as one function from `Request` to `Response`, to mount in any application.
 *
 * Guarantees: the function never rejects. Leaves out: listening.
 */
import type { Scope } from "effect"
import { Effect, Layer } from "effect"
import * as HttpEffect from "effect/http/HttpEffect"
import * as HttpRouter from "effect/http/HttpRouter"
import * as HttpServer from "effect/http/HttpServer"
import * as HttpServerRequest from "effect/http/HttpServerRequest"
import type * as HttpServerResponse from "effect/http/HttpServerResponse"
import { BasePath, routerConfig } from "./Addresses.ts"
import { answerOf, OutsideBasePath } from "./Errors.ts"
import type { Authorize, HttpServices } from "./HttpApp.ts"
import * as HttpApp from "./HttpApp.ts"

/** How the interface is mounted. */
export interface MountOptions {
  /** The part of the addresses before `/api/v1`, for example `/automation`. */
  readonly basePath?: string | undefined
  /** Says whose a request is, in the place of API keys. */
  readonly authorize?: Authorize | undefined
}

/** Answers one request. */
export type Handler = (request: Request) => Promise<Response>

type PerRequest = HttpServerRequest.HttpServerRequest | Scope.Scope

const routes = Layer.provide(HttpApp.layer, HttpServer.layerServices)

const routesFor = (authorize: Authorize | undefined): typeof routes =>
  authorize === undefined
    ? routes
    : Layer.provide(HttpApp.layerAuthorizing(authorize), HttpServer.layerServices)

/** The base path without a slash at its end. */
const normalize = (basePath: string): string => basePath.replace(/\/+$/, "")

type Answer = HttpServerResponse.HttpServerResponse

/** Answers below the base path. Whoever mounted the interface elsewhere is told. */
const below = <E, R>(basePath: string, app: Effect.Effect<Answer, E, R>) => {
  const outside = Effect.sync(() => answerOf(new OutsideBasePath({ basePath })))
  return Effect.flatMap(HttpServerRequest.HttpServerRequest, (request) =>
    request.url.startsWith(`${basePath}/`)
      ? Effect.provideService(
          app,
          HttpServerRequest.HttpServerRequest,
          request.modify({ url: request.url.slice(basePath.length) }),
        )
      : outside,
  )
}

/** Makes the handler. It works until the scope closes. An aborted signal ends its request. */
export const make = (
  options: MountOptions = {},
): Effect.Effect<Handler, never, HttpServices | Scope.Scope> =>
  Effect.gen(function* () {
    const basePath = normalize(options.basePath ?? "")
    const app = yield* HttpRouter.toHttpEffect(routesFor(options.authorize)).pipe(
      Effect.provideService(HttpRouter.RouterConfig, routerConfig),
      Effect.provideService(BasePath, basePath),
    )
    const mounted = basePath === "" ? app : below(basePath, app)
    const context = yield* Effect.context()
    return HttpEffect.toWebHandlerWith<never, PerRequest>(context)(mounted)
  })
