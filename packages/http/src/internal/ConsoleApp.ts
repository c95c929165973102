/**
 * The HTTP interface for people who have signed in, as a layer of routes.
 *
 * Leaves out: the error middleware, which handles all routes.
 */
import { ConsoleApi } from "@millrace/api/ConsoleApi"
import { Layer } from "effect"
import { consoleOpenapiPath } from "../Addresses.ts"
import * as ApiHandlers from "./ApiHandlers.ts"
import { layerDocument } from "./Docs.ts"

/** The routes, and their document. */
export const layer = Layer.merge(
  layerDocument(ConsoleApi, consoleOpenapiPath),
  ApiHandlers.layerConsole,
)
