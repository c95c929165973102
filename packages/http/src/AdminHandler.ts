/**
 * The interface for operators as one function from `Request` to `Response`. A process that opens
 * the stores but does not listen can use it, such as a command.
 *
 * Guarantees: the operations, checks and messages are those of a server, and they need the token.
 * The function never rejects. Leaves out: the interface for API keys, and the OpenAPI documents.
 */
import type { Redacted, Scope } from "effect"
import { Effect, Layer } from "effect"
import type { HttpServerRequest } from "effect/http"
import * as HttpEffect from "effect/http/HttpEffect"
import * as HttpRouter from "effect/http/HttpRouter"
import * as HttpServer from "effect/http/HttpServer"
import { routerConfig } from "./Addresses.ts"
import * as AdminApp from "./internal/AdminApp.ts"
import { FailedAuthLimiter } from "./internal/FailedAuthLimiter.ts"
import * as ErrorMiddleware from "./ErrorMiddleware.ts"
import * as Health from "./Health.ts"
import type { Handler } from "./WebHandler.ts"

const routesFor = (token: Redacted.Redacted) =>
  Layer.mergeAll(AdminApp.layerOperations(token), Health.layer, ErrorMiddleware.layer).pipe(
    Layer.provide([FailedAuthLimiter.layer, HttpServer.layerServices]),
  )

type PerRequest = HttpServerRequest.HttpServerRequest | Scope.Scope

/** Makes the handler. It works until the scope closes, and accepts requests with the token. */
export const make = (token: Redacted.Redacted) =>
  Effect.gen(function* () {
    const app = yield* HttpRouter.toHttpEffect(routesFor(token)).pipe(
      Effect.provideService(HttpRouter.RouterConfig, routerConfig),
    )
    const context = yield* Effect.context()
    const handler: Handler = HttpEffect.toWebHandlerWith<never, PerRequest>(context)(app)
    return handler
  })
