/**
 * The whole HTTP interface as a layer of routes, alone or beside other routes.
 *
 * Leaves out: listening, and the services behind it. Serve it with {@link routerConfig}. Set
 * `disableLogger`, unless you want a log line per request; they cost a third of the throughput.
 */
import { Api } from "@millrace/api/Api"
import { HttpApiBuilder } from "effect/http-api"
import { Layer } from "effect"
import * as AdminApp from "./internal/AdminApp.ts"
import * as Authorization from "./internal/Authorization.ts"
import { FailedAuthLimiter } from "./internal/FailedAuthLimiter.ts"
import * as ApiHandlers from "./internal/ApiHandlers.ts"
import { Operations } from "./internal/Operations.ts"
import * as Docs from "./internal/Docs.ts"
import { Authenticator } from "./internal/Authenticator.ts"
import * as ErrorMiddleware from "./ErrorMiddleware.ts"
import * as Health from "./Health.ts"
import * as NotFound from "./internal/NotFound.ts"
import * as RequestForm from "./internal/RequestForm.ts"

export { BasePath, routerConfig } from "./Addresses.ts"
export type { Platform } from "./internal/AdminApp.ts"

const operations = HttpApiBuilder.layer(Api).pipe(
  Layer.provide(ApiHandlers.layer),
  Layer.provide([Authorization.layer, RequestForm.layer, Operations.layer]),
)

/** Every route: the interface, its documents, health, and the error middleware around them. */
export const layer = Layer.mergeAll(
  operations,
  AdminApp.layer,
  Docs.layer,
  Health.layer,
  ErrorMiddleware.layer,
).pipe(
  Layer.provideMerge(NotFound.layer),
  Layer.provide(Authenticator.layer),
  Layer.provide(FailedAuthLimiter.layer),
)

/** The services that the interface needs. It reads limits from `CurrentLimits`. */
export type HttpServices = Exclude<Layer.Services<typeof layer>, AdminApp.Platform>
