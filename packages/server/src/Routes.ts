/**
 * What every server answers to: the interface, and the way there for whoever comes with a browser.
 *
 * Leaves out: what answers it, and listening.
 */
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { docsPath } from "@millrace/http/Addresses"
import * as HttpApp from "@millrace/http/HttpApp"
import { Layer } from "effect"
import { HttpRouter, HttpServer, HttpServerResponse } from "effect/http"
import type { Listener } from "./Listener.ts"

/** Whoever opens the bare address in a browser lands on the reference. */
const frontDoor = HttpRouter.add("GET", "/", HttpServerResponse.redirect(docsPath))

const common = Layer.merge(HttpApp.layer, frontDoor)

/** Serves the interface on a listener, and `more`, which is added after it. */
export const layer = (
  { server }: Listener,
  more: Layer.Layer<never, never, HttpRouter.HttpRouter>,
): Layer.Layer<never, never, HttpApp.Services> =>
  HttpRouter.serve(Layer.provideMerge(more, common), {
    routerConfig: HttpApp.routerConfig,
    disableLogger: true,
    disableListenLog: true,
  }).pipe(
    Layer.provide(NodeHttpServer.layerHttpServices),
    Layer.provide(Layer.succeed(HttpServer.HttpServer, server)),
  )
