/**
 * The OpenAPI document, and a reference page made from it. Both need no key. The page has its own
 * script and loads nothing from other servers, so it works offline.
 */
import { Api } from "@millrace/api/Api"
import { Effect, Layer } from "effect"
import { HttpRouter, HttpServerResponse } from "effect/http"
import type { HttpApi, HttpApiGroup } from "effect/http-api"
import { HttpApiScalar, OpenApi } from "effect/http-api"
import { BasePath, docsPath, openapiPath } from "../Addresses.ts"

/** An interface as it is mounted: addresses in the document begin with the base path. */
const mounted = <Id extends string, G extends HttpApiGroup.Constraint>(
  api: HttpApi.HttpApi<Id, G>,
) =>
  Effect.map(BasePath, (basePath) =>
    api.annotate(OpenApi.Servers, [{ url: basePath === "" ? "/" : basePath }]),
  )

/** The OpenAPI document of an interface, at this path. */
export const layerDocument = <Id extends string, G extends HttpApiGroup.Constraint>(
  api: HttpApi.HttpApi<Id, G>,
  path: HttpRouter.PathInput,
) =>
  HttpRouter.use(
    Effect.fnUntraced(function* (router) {
      const body = JSON.stringify(OpenApi.fromApi(yield* mounted(api)))
      const answer = HttpServerResponse.text(body, { contentType: "application/json" })
      yield* router.add("GET", path, answer)
    }),
  )

/** The page may talk to this server and load nothing from any other. */
const contentSecurityPolicy =
  "connect-src 'self'; font-src 'self' data:; img-src 'self' data: blob:; frame-ancestors 'none'"

const guarded = HttpRouter.middleware((answer) =>
  Effect.map(
    answer,
    HttpServerResponse.setHeader("content-security-policy", contentSecurityPolicy),
  ),
).layer

const page = Layer.unwrap(
  Effect.map(mounted(Api), (api) =>
    HttpApiScalar.layer(api, {
      path: docsPath,
      scalar: { withDefaultFonts: false, authentication: { preferredSecurityScheme: "apiKey" } },
    }),
  ),
).pipe(Layer.provide(guarded))

/** `/api/openapi.json` and `/api/docs`. */
export const layer: Layer.Layer<never, never, HttpRouter.HttpRouter> = Layer.merge(
  layerDocument(Api, openapiPath),
  page,
)
