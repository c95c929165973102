/**
 * The whole HTTP interface as a layer of routes, alone or beside other routes.
 *
 * Leaves out: listening, and the services behind it. Serve it with {@link routerConfig}. Set
 * `disableLogger`, unless you want a log line per request; they cost a third of the throughput.
 */
import { Layer } from "effect"
import type { HttpRouter } from "effect/http"
import * as AdminApp from "./internal/AdminApp.ts"
import { FailedAuthLimiter } from "./internal/FailedAuthLimiter.ts"
import * as ApiHandlers from "./internal/ApiHandlers.ts"
import { Operations } from "./internal/Operations.ts"
import * as ConsoleApp from "./internal/ConsoleApp.ts"
import * as Docs from "./internal/Docs.ts"
import * as ApprovalRoutes from "./internal/approvals/ApprovalRoutes.ts"
import * as Dashboard from "./Dashboard.ts"
import type { Authorize } from "./internal/Authenticator.ts"
import { Authenticator } from "./internal/Authenticator.ts"
import * as ErrorMiddleware from "./ErrorMiddleware.ts"
import * as Health from "./Health.ts"
import * as NotFound from "./internal/NotFound.ts"
import * as WebhookRoutes from "./internal/WebhookRoutes.ts"

export { BasePath, routerConfig } from "./Addresses.ts"
export type { Authorize } from "./internal/Authenticator.ts"

const operations = Layer.provide(ApiHandlers.layer, Operations.layer)

const console = Layer.provide(ConsoleApp.layer, Operations.layer)

const routes = Layer.mergeAll(
  operations,
  AdminApp.layer,
  console,
  WebhookRoutes.layer,
  ApprovalRoutes.layer,
  Docs.layer,
  Dashboard.layer,
  Health.layer,
  ErrorMiddleware.layer,
).pipe(Layer.provideMerge(NotFound.layer))

/** Every route: the interface, its documents, health, and the error middleware around them. */
export const layer = routes.pipe(
  Layer.provide(Authenticator.layer),
  Layer.provide(FailedAuthLimiter.layer),
)

/** The same for web requests, where the application says whose each request is. */
export const layerAuthorizing = (authorize: Authorize) =>
  routes.pipe(
    Layer.provide(Authenticator.layerAuthorizing(authorize)),
    Layer.provide(FailedAuthLimiter.layer),
  )

/** The services that the interface needs. It reads limits from `CurrentLimits`. */
export type HttpServices = Exclude<Layer.Services<typeof layer>, HttpRouter.HttpRouter>
