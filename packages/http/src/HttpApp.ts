/**
 * The whole HTTP interface as a layer of routes, alone or beside other routes.
 *
 * Leaves out: listening, and the services behind it. Serve it with {@link routerConfig}, and with
 * `disableLogger` unless you want a log line per request: these cost a third of the throughput.
 */
import type { Accounting } from "@millrace/core/engine/Accounting"
import type { Keys } from "@millrace/core/engine/Keys"
import type { NodeTypes } from "@millrace/core/engine/NodeTypes"
import type { Quarantine } from "@millrace/core/engine/Quarantine"
import type { RunNotifier } from "@millrace/core/engine/RunNotifier"
import type { Runs } from "@millrace/core/engine/Runs"
import type { StoreClock } from "@millrace/core/engine/StoreClock"
import type { Webhooks } from "@millrace/core/engine/Webhooks"
import type { Workflows } from "@millrace/core/engine/Workflows"
import type { LedgerStore } from "@millrace/core/ports/LedgerStore"
import type { RunStore } from "@millrace/core/ports/RunStore"
import type { WebhookStore } from "@millrace/core/ports/WebhookStore"
import type { WorkflowStore } from "@millrace/core/ports/WorkflowStore"
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

/** The services that the interface needs. It reads limits from `CurrentLimits`. */
export type HttpServices =
  | Workflows
  | Runs
  | RunNotifier
  | Webhooks
  | Quarantine
  | Keys
  | Accounting
  | NodeTypes
  | WorkflowStore
  | RunStore
  | LedgerStore
  | WebhookStore
  | StoreClock

const operations = HttpApiBuilder.layer(Api).pipe(
  Layer.provide(ApiHandlers.layer),
  Layer.provide([Authorization.layer, RequestForm.layer, Operations.layer]),
)

/** Every route: the interface, its documents, health, and the error middleware around them. */
export const layer: Layer.Layer<never, never, HttpServices | AdminApp.Platform> = Layer.mergeAll(
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
