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
import { BasePath, routerConfig } from "./Addresses.ts"
import type { HttpServices } from "./HttpApp.ts"
import * as HttpApp from "./HttpApp.ts"

/** How the interface is mounted. */
export interface MountOptions {
  /** The part of the addresses before `/api/v1`, for example `/automation`. */
  readonly basePath?: string | undefined
}

/** Answers one request. */
export type Handler = (request: Request) => Promise<Response>

type PerRequest = HttpServerRequest.HttpServerRequest | Scope.Scope

const routes = Layer.provide(HttpApp.layer, HttpServer.layerServices)

/** The base path without a slash at its end. */
const normalize = (basePath: string): string => basePath.replace(/\/+$/, "")

/** Removes the base path. An address outside of it becomes unknown. */
const below = (basePath: string, request: HttpServerRequest.HttpServerRequest) =>
  request.url.startsWith(`${basePath}/`)
    ? request.modify({ url: request.url.slice(basePath.length) })
    : request.modify({ url: "/" })

/** Makes the handler. It works until the scope closes. An aborted signal ends its request. */
export const make = (
  options: MountOptions = {},
): Effect.Effect<Handler, never, HttpServices | Scope.Scope> =>
  Effect.gen(function* () {
    const basePath = normalize(options.basePath ?? "")
    const app = yield* HttpRouter.toHttpEffect(routes).pipe(
      Effect.provideService(HttpRouter.RouterConfig, routerConfig),
      Effect.provideService(BasePath, basePath),
    )
    const mounted =
      basePath === ""
        ? app
        : Effect.updateService(app, HttpServerRequest.HttpServerRequest, (request) =>
            below(basePath, request),
          )
    const context = yield* Effect.context()
    return HttpEffect.toWebHandlerWith<never, PerRequest>(context)(mounted)
  })
