/**
 * The routes of every server: the HTTP interface, the dashboard, and a redirect to it from `/`.
 *
 * Leaves out: the handlers, and listening.
 */
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { readDashboardFile } from "@millrace/dashboard"
import { DashboardFiles, dashboardPath } from "@millrace/http/Dashboard"
import * as HttpApp from "@millrace/http/HttpApp"
import { Effect, Layer } from "effect"
import * as HttpMiddleware from "effect/http/HttpMiddleware"
import * as HttpRouter from "effect/http/HttpRouter"
import * as HttpServer from "effect/http/HttpServer"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as IpNetwork from "effect/net/IpNetwork"
import type { Listener } from "./Listener.ts"

/** Redirects a browser that opens `/` to the dashboard. */
const frontDoor = HttpRouter.add("GET", "/", HttpServerResponse.redirect(`.${dashboardPath}/`))

const files = Layer.succeed(DashboardFiles, (path) => Effect.promise(() => readDashboardFile(path)))

const common = Layer.provide(Layer.merge(HttpApp.layer, frontDoor), files)

/** Trusts the `X-Forwarded-For` of these proxies, and of no other client. */
const proxies = (networks: ReadonlyArray<string>) =>
  networks.length === 0
    ? Layer.empty
    : HttpRouter.middleware(
        HttpMiddleware.xForwardedHeaders({
          trustedProxies: networks.map(IpNetwork.fromStringUnsafe),
        }),
        { global: true },
      )

/**
 * Serves the interface on a listener, and `more`, which is added after it. A request's address is
 * its connection's; if that is a trusted proxy, the address that the proxy forwards.
 */
export const layer = (
  { server }: Listener,
  more: Layer.Layer<never, never, HttpRouter.HttpRouter>,
  trustedProxies: ReadonlyArray<string> = [],
): Layer.Layer<never, never, HttpApp.HttpServices> =>
  HttpRouter.serve(
    more.pipe(Layer.provideMerge(common), Layer.provideMerge(proxies(trustedProxies))),
    {
      routerConfig: HttpApp.routerConfig,
      disableLogger: true,
      disableListenLog: true,
    },
  ).pipe(
    Layer.provide(NodeHttpServer.layerHttpServices),
    Layer.provide(Layer.succeed(HttpServer.HttpServer, server)),
  )
