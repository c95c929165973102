/**
 * How long a request may take, and what is answered when that is over.
 */
import { it } from "@effect/vitest"
import * as ErrorMiddleware from "@millrace/http/ErrorMiddleware"
import { Effect, Layer } from "effect"
import { HttpRouter, HttpServer, HttpServerRequest, HttpServerResponse } from "effect/http"
import { request } from "node:http"
import { assert, describe } from "vitest"
import { layerRequests } from "../src/internal/serve/Deadline.ts"
import * as Listener from "../src/internal/serve/Listener.ts"
import { originOf } from "../src/internal/serve/OwnAddress.ts"

const routes = Layer.mergeAll(
  HttpRouter.add("GET", "/quick", HttpServerResponse.text("here")),
  HttpRouter.add("GET", "/frozen", Effect.uninterruptible(Effect.never)),
  HttpRouter.add(
    "POST",
    "/echo",
    Effect.flatMap(HttpServerRequest.HttpServerRequest, ({ text }) =>
      Effect.map(Effect.orDie(text), (body) => HttpServerResponse.text(body)),
    ),
  ),
)

/** Where these routes are served, with so much time for each request. */
const served = Effect.fnUntraced(function* (millis: number) {
  const listener = yield* Listener.open("127.0.0.1", 0)
  yield* Layer.build(
    HttpRouter.serve(
      Layer.provideMerge(layerRequests(millis), Layer.merge(routes, ErrorMiddleware.layer)),
      {
        disableLogger: true,
        disableListenLog: true,
      },
    ).pipe(Layer.provide(Layer.succeed(HttpServer.HttpServer, listener.server))),
  )
  yield* listener.ready
  return originOf(listener.address)
})

/** Sends a body in two parts, with a pause in between. */
const slowly = (url: string, pauseMillis: number) =>
  Effect.callback<string>((resume) => {
    const sent = request(url, { method: "POST" }, (response) => {
      let body = ""
      response.setEncoding("utf8").on("data", (part: string) => (body += part))
      response.on("end", () => resume(Effect.succeed(body)))
    })
    sent.write("first, ")
    setTimeout(() => sent.end("second"), pauseMillis)
  })

describe("Deadline.layerRequests", () => {
  it.live("answers 503, with a name, what takes too long", () =>
    Effect.gen(function* () {
      const millis = 100
      const origin = yield* served(millis)
      const begun = Date.now()
      const response = yield* Effect.promise(() => fetch(`${origin}/frozen`))
      const took = Date.now() - begun
      assert.strictEqual(response.status, 503)
      assert.deepStrictEqual(yield* Effect.promise(() => response.json()), {
        error: "The store is unavailable; try again",
      })
      assert.match(response.headers.get("x-request-id") ?? "", /^req_/)
      assert.isAtLeast(took, millis - 5)
      assert.isBelow(took, 100 * millis)
    }).pipe(Effect.scoped),
  )

  it.live("leaves alone what is quick enough", () =>
    Effect.gen(function* () {
      const origin = yield* served(30_000)
      const response = yield* Effect.promise(() => fetch(`${origin}/quick`))
      assert.strictEqual(yield* Effect.promise(() => response.text()), "here")
    }).pipe(Effect.scoped),
  )

  it.live("does not count the time a client takes to send its request", () =>
    Effect.gen(function* () {
      const millis = 800
      const origin = yield* served(millis)
      assert.strictEqual(yield* slowly(`${origin}/echo`, 2 * millis), "first, second")
    }).pipe(Effect.scoped),
  )
})
