/**
 * The HTTP interface for operators as a layer of routes. Without an admin token there are no
 * routes.
 *
 * Leaves out: the error middleware, which handles all routes.
 */
import { AdminApi } from "@millrace/api/AdminApi"
import { Effect, Layer } from "effect"
import type { FileSystem, Path } from "effect"
import type { Etag, HttpPlatform, HttpRouter } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import { adminOpenapiPath } from "../Addresses.ts"
import * as AdminAuthorization from "../AdminAuthorization.ts"
import * as ApiHandlers from "./ApiHandlers.ts"
import { Cursors } from "./Cursor.ts"
import { layerDocument } from "./Docs.ts"
import * as RequestForm from "./RequestForm.ts"

const document = layerDocument(AdminApi, adminOpenapiPath)

/** The operations. They need an `AdminAuthorization`. */
export const layerOperations = HttpApiBuilder.layer(AdminApi).pipe(
  Layer.provide(ApiHandlers.layerAdmin),
  Layer.provide([RequestForm.layer, Cursors.layer]),
)

/** The services that every HTTP server provides. */
export type Platform =
  | Etag.Generator
  | FileSystem.FileSystem
  | HttpPlatform.HttpPlatform
  | HttpRouter.HttpRouter
  | Path.Path

/** The routes; none without an admin token. */
export const layer = Layer.unwrap(
  Effect.map(AdminAuthorization.AdminToken, (token) =>
    token === undefined
      ? Layer.empty
      : Layer.merge(document, Layer.provide(layerOperations, AdminAuthorization.layer(token))),
  ),
)
