/**
 * The dashboard: static files under `/dashboard`, and one page for every other address below it.
 *
 * Guarantees: works at any base path, also behind a proxy that strips a prefix, because the page
 * names no address but relative ones. Each page has a nonce of its own. No script, style, picture
 * or request of another origin is allowed, and no page of another origin may frame it unless the
 * settings name that. Leaves out: who may see what; the files hold no data.
 */
import { Context, Effect, Layer } from "effect"
import { SecureRandom } from "effect/crypto"
import * as HttpRouter from "effect/http/HttpRouter"
import * as HttpServerRequest from "effect/http/HttpServerRequest"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import { CurrentConsole } from "./ConsoleSettings.ts"
import { answerOf, UnknownRoute } from "./Errors.ts"

/** A file of the dashboard as it is sent. */
export interface DashboardFile {
  readonly bytes: Uint8Array
  /** The same bytes, compressed with gzip. */
  readonly gzip: Uint8Array
  /** Its media type. */
  readonly contentType: string
}

/** Reads a file by its path below the folder, such as `assets/index.js`; `undefined`: no such. */
export type ReadDashboardFile = (path: string) => Effect.Effect<DashboardFile | undefined>

/** The files of the dashboard. Without any, which is the default, there is no dashboard. */
export const DashboardFiles = Context.Reference<ReadDashboardFile | undefined>(
  "@millrace/http/DashboardFiles",
  { defaultValue: () => undefined },
)

/** Where the dashboard is, without the base path. */
export const dashboardPath = "/dashboard"

const policyOf = (nonce: string, ancestors: ReadonlyArray<string>): string =>
  [
    "default-src 'none'",
    "script-src 'self'",
    `style-src 'self' 'nonce-${nonce}'`,
    "connect-src 'self'",
    "img-src 'self' data:",
    "base-uri 'self'",
    "form-action 'self'",
    `frame-ancestors ${ancestors.length === 0 ? "'none'" : ["'self'", ...ancestors].join(" ")}`,
  ].join("; ")

/** Names of files with a hash of their content, which never change. */
const kept = "public, max-age=31536000, immutable"

/** The way from a page to the dashboard's first page, as browsers resolve it. */
const upFrom = (rest: string): string => "../".repeat(rest.split("/").length - 1) || "./"

const decoder = new TextDecoder()

const acceptsGzip = ({ headers }: HttpServerRequest.HttpServerRequest): boolean =>
  /\bgzip\b(?!\s*;\s*q=0(?:\.0*)?(?:\s|,|$))/i.test(headers["accept-encoding"] ?? "")

const answerAsset = (
  request: HttpServerRequest.HttpServerRequest,
  { bytes, contentType, gzip }: DashboardFile,
) => {
  const headers = { "cache-control": kept, vary: "accept-encoding" }
  return acceptsGzip(request)
    ? HttpServerResponse.uint8Array(gzip, {
        contentType,
        headers: { ...headers, "content-encoding": "gzip" },
      })
    : HttpServerResponse.uint8Array(bytes, { contentType, headers })
}

const answerPage = (
  { bytes }: DashboardFile,
  nonce: string,
  rest: string,
  ancestors: ReadonlyArray<string>,
) =>
  HttpServerResponse.text(
    decoder.decode(bytes).replaceAll("__NONCE__", nonce).replace("__BASE__", upFrom(rest)),
    {
      contentType: "text/html; charset=utf-8",
      headers: {
        "cache-control": "no-store",
        "content-security-policy": policyOf(nonce, ancestors),
        "referrer-policy": "no-referrer",
      },
    },
  )

const routes = (read: ReadDashboardFile) =>
  HttpRouter.use(
    Effect.fnUntraced(function* (router) {
      const random = yield* SecureRandom.SecureRandom
      const { frameAncestors = [] } = yield* CurrentConsole
      const toFolder = HttpServerResponse.redirect(`.${dashboardPath}/`)
      const answer = Effect.gen(function* () {
        const request = yield* HttpServerRequest.HttpServerRequest
        const { params } = yield* HttpRouter.RouteContext
        // The route matches without the last slash, too.
        if (request.url.split("?", 1)[0] === dashboardPath) return toFolder
        const rest = params["*"] ?? ""
        const isAsset = rest.startsWith("assets/")
        const file = yield* read(isAsset ? rest : "index.html")
        if (file === undefined) return answerOf(new UnknownRoute())
        if (isAsset) return answerAsset(request, file)
        return answerPage(file, yield* random.uuidV4(), rest, frameAncestors)
      })
      yield* router.add("GET", `${dashboardPath}/*`, answer)
    }),
  ).pipe(Layer.provide(SecureRandom.layerWebCrypto))

/** The routes; none without files. */
export const layer = Layer.unwrap(
  Effect.map(DashboardFiles, (read) => (read === undefined ? Layer.empty : routes(read))),
)
