/**
 * What every server answers to: the interface, and the way there for whoever comes with a browser.
 *
 * Leaves out: what answers it, and listening.
 */
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { docsPath } from "@millrace/http/Addresses"
import * as HttpApp from "@millrace/http/HttpApp"
import { Layer } from "effect"
import { HttpMiddleware, HttpRouter, HttpServer, HttpServerResponse } from "effect/http"
import * as IpNetwork from "effect/net/IpNetwork"
import type { Listener } from "./Listener.ts"

/** Whoever opens the bare address in a browser lands on the reference. */
const frontDoor = HttpRouter.add("GET", "/", HttpServerResponse.redirect(docsPath))

const common = Layer.merge(HttpApp.layer, frontDoor)

/** Believes these proxies when they say whose request it is; nobody where there are none. */
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
 * Serves the interface on a listener, and `more`, which is added after it. Who sends a request is
 * whoever is connected, unless that is one of the proxies to be believed.
 */
export const layer = (
  { server }: Listener,
  more: Layer.Layer<never, never, HttpRouter.HttpRouter>,
  trustedProxies: ReadonlyArray<string> = [],
): Layer.Layer<never, never, HttpApp.Services> =>
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
