/**
 * The HTTP interface for operators as a layer of routes. Without an admin token there are no
 * routes.
 *
 * Leaves out: the error middleware, which handles all routes.
 */
import { AdminApi } from "@millrace/api/AdminApi"
import { Effect, Layer } from "effect"
import type { Redacted } from "effect"
import { adminOpenapiPath } from "../Addresses.ts"
import * as AdminAuthorization from "../AdminAuthorization.ts"
import * as ApiHandlers from "./ApiHandlers.ts"
import { Cursors } from "./Cursor.ts"
import { layerDocument } from "./Docs.ts"

const document = layerDocument(AdminApi, adminOpenapiPath)

/** The operations, for requests with this token. */
export const layerOperations = (token: Redacted.Redacted) =>
  Layer.unwrap(Effect.map(AdminAuthorization.make(token), ApiHandlers.layerAdmin)).pipe(
    Layer.provide(Cursors.layer),
  )

/** The routes; none without an admin token. */
export const layer = Layer.unwrap(
  Effect.map(AdminAuthorization.AdminToken, (token) =>
    token === undefined ? Layer.empty : Layer.merge(document, layerOperations(token)),
  ),
)
