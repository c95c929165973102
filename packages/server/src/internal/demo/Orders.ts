/**
 * The orders that the demonstration digests: a file that comes with this package, served by the
 * server itself.
 */
import type { Layer } from "effect"
import { Effect } from "effect"
import * as HttpRouter from "effect/http/HttpRouter"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import { readFile } from "node:fs/promises"
import { ownOrigin } from "../serve/OwnAddress.ts"

/** Where the file is served. */
export const ordersPath = "/demo/orders.json"

/** Where a graph finds the file, whatever port the server listens on. */
export const ordersUrl: string = ownOrigin + ordersPath

/** The file, one of this package's own. */
const file = new URL("../../../demo/orders.json", import.meta.url)

/** Serves the file to everybody who can reach the server. */
export const layer: Layer.Layer<never, never, HttpRouter.HttpRouter> = HttpRouter.use((router) =>
  Effect.gen(function* () {
    const bytes = yield* Effect.promise(() => readFile(file))
    const answer = HttpServerResponse.uint8Array(bytes, { contentType: "application/json" })
    yield* router.add("GET", ordersPath, Effect.succeed(answer))
  }),
)
