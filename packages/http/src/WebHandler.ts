/**
 * The HTTP interface as one function from `Request` to `Response`, to mount in any application.
 *
 * Guarantees: the function never rejects. Leaves out: listening.
 */
import type { Scope } from "effect"
import { Effect, Layer } from "effect"
import { HttpEffect, HttpRouter, HttpServer, HttpServerRequest } from "effect/http"
import { BasePath, routerConfig } from "./Addresses.ts"
import type { HttpServices } from "./HttpApp.ts"
import * as HttpApp from "./HttpApp.ts"

/** How the interface is mounted. */
export interface MountOptions {
  /** What stands before `/api/v1` in the addresses that arrive, for example `/automation`. */
  readonly basePath?: string | undefined
}

/** Answers one request. */
export type Handler = (request: Request) => Promise<Response>

type PerRequest = HttpServerRequest.HttpServerRequest | Scope.Scope

const routes = Layer.provide(HttpApp.layer, HttpServer.layerServices)

/** Without a slash at the end. */
const normalize = (basePath: string): string => basePath.replace(/\/+$/, "")

/** Cuts the base path off; an address outside of it stays as it is, and is unknown. */
const below = (basePath: string, request: HttpServerRequest.HttpServerRequest) =>
  request.url.startsWith(`${basePath}/`)
    ? request.modify({ url: request.url.slice(basePath.length) })
    : request.modify({ url: "/" })

/**
 * Makes the handler. It works as long as the scope is open. A request whose signal is aborted is
 * given up.
 */
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
