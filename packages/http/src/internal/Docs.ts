/**
 * The OpenAPI document and a reference page made from it, both without a key. The page brings its
 * own script and loads nothing from other servers, so it works offline. Both are made when somebody
 * asks for the first time.
 */
import { Api } from "@millrace/api/Api"
import { Effect, Layer, Scope } from "effect"
import * as HttpRouter from "effect/http/HttpRouter"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import type { HttpApi, HttpApiGroup } from "effect/http-api"
import * as OpenApi from "effect/http-api/OpenApi"
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
      const interfaceHere = yield* mounted(api)
      const document = Effect.sync(() =>
        HttpServerResponse.text(JSON.stringify(OpenApi.fromApi(interfaceHere)), {
          contentType: "application/json",
        }),
      )
      yield* router.add("GET", path, yield* Effect.cached(document))
    }),
  )

/** The page may talk to this server and load nothing from any other. */
const contentSecurityPolicy =
  "connect-src 'self'; font-src 'self' data:; img-src 'self' data: blob:; frame-ancestors 'none'"

const guard = HttpServerResponse.setHeader("content-security-policy", contentSecurityPolicy)

/** The page. Its script has megabytes, so it is loaded when somebody looks. */
const page = HttpRouter.use(
  Effect.fnUntraced(function* (router) {
    const api = yield* mounted(Api)
    const scope = yield* Effect.scope
    const load = Effect.gen(function* () {
      const { layer: scalar } = yield* Effect.promise(() => import("effect/http-api/HttpApiScalar"))
      const shown = scalar(api, {
        path: docsPath,
        scalar: { withDefaultFonts: false, authentication: { preferredSecurityScheme: "apiKey" } },
      })
      return yield* HttpRouter.toHttpEffect(shown)
    }).pipe(Scope.provide(scope), Effect.cached)
    const answer = Effect.flatten(yield* load)
    yield* router.add("GET", docsPath, Effect.map(Effect.orDie(answer), guard))
  }),
)

/** `/api/openapi.json` and `/api/docs`. */
export const layer: Layer.Layer<never, never, HttpRouter.HttpRouter> = Layer.merge(
  layerDocument(Api, openapiPath),
  page,
)
