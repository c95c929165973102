/**
 * The HTTP interface for operators as a layer of routes: there where an admin token is, and
 * nowhere else.
 *
 * Leaves out: the error middleware, which is around all routes.
 */
import { AdminApi } from "@millrace/api/AdminApi"
import type { Accounting } from "@millrace/core/engine/Accounting"
import type { Keys } from "@millrace/core/engine/Keys"
import type { Quarantine } from "@millrace/core/engine/Quarantine"
import type { Webhooks } from "@millrace/core/engine/Webhooks"
import type { WebhookStore } from "@millrace/core/ports/WebhookStore"
import { Effect, Layer } from "effect"
import type { FileSystem, Path } from "effect"
import type { Etag, HttpPlatform } from "effect/http"
import { HttpRouter, HttpServerResponse } from "effect/http"
import { HttpApiBuilder, OpenApi } from "effect/http-api"
import { adminOpenapiPath, BasePath } from "../Addresses.ts"
import * as AdminAuthorization from "../AdminAuthorization.ts"
import * as AdminCreditsHandlers from "./AdminCreditsHandlers.ts"
import * as AdminHandlers from "./AdminHandlers.ts"
import * as AdminQuarantineHandlers from "./AdminQuarantineHandlers.ts"
import * as AdminWebhookHandlers from "./AdminWebhookHandlers.ts"
import type { FailedAuthLimiter } from "./FailedAuthLimiter.ts"
import { Cursors } from "./Cursor.ts"
import * as RequestForm from "./RequestForm.ts"

const document = HttpRouter.use(
  Effect.fnUntraced(function* (router) {
    const basePath = yield* BasePath
    const servers = [{ url: basePath === "" ? "/" : basePath }]
    const body = JSON.stringify(OpenApi.fromApi(AdminApi.annotate(OpenApi.Servers, servers)))
    const answer = HttpServerResponse.text(body, { contentType: "application/json" })
    yield* router.add("GET", adminOpenapiPath, answer)
  }),
)

/** The operations, behind whoever lets operators pass. */
export const layerOperations = HttpApiBuilder.layer(AdminApi).pipe(
  Layer.provide([
    AdminHandlers.layerAccounts,
    AdminHandlers.layerKeys,
    AdminCreditsHandlers.layerCredits,
    AdminCreditsHandlers.layerAudit,
    AdminWebhookHandlers.layer,
    AdminQuarantineHandlers.layer,
  ]),
  Layer.provide([RequestForm.layer, Cursors.layer]),
)

/** What the interface for operators is made of. */
export type Services = Accounting | Keys | Webhooks | WebhookStore | Quarantine | FailedAuthLimiter

/** The routes; none without an admin token. */
export const layer: Layer.Layer<
  never,
  never,
  | Services
  | Etag.Generator
  | FileSystem.FileSystem
  | HttpPlatform.HttpPlatform
  | HttpRouter.HttpRouter
  | Path.Path
> = Layer.unwrap(
  Effect.map(AdminAuthorization.AdminToken, (token) =>
    token === undefined
      ? Layer.empty
      : Layer.merge(document, Layer.provide(layerOperations, AdminAuthorization.layer(token))),
  ),
)
