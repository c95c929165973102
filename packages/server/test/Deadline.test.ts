/**
 * How long a request may take, and what is answered when that is over.
 */
import { it } from "@effect/vitest"
import type { RunnerId } from "@millrace/core/domain/Id"
import { RunStore } from "@millrace/core/ports/RunStore"
import * as ErrorMiddleware from "@millrace/http/ErrorMiddleware"
import * as Stores from "@millrace/memory/Stores"
import { Effect, Fiber, Layer } from "effect"
import { HttpRouter, HttpServer, HttpServerRequest, HttpServerResponse } from "effect/http"
import { TestClock } from "effect/testing"
import { request } from "node:http"
import { assert, describe } from "vitest"
import { layerRequests, limitedRuns } from "../src/internal/serve/Deadline.ts"
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

describe("Deadline.limitedRuns", () => {
  const runner = "exe_test" as RunnerId

  it.effect("fails what a runner asks of a store that is silent", () =>
    Effect.gen(function* () {
      const silence = Effect.uninterruptible(Effect.never)
      const store = yield* RunStore
      const silent = limitedRuns({ ...store, heartbeat: () => silence, claim: () => silence })
      const asked = [
        [Effect.asVoid(silent.heartbeat(runner, 30_000)), 5_000],
        [Effect.asVoid(silent.claim({ runner, leaseMillis: 30_000, limit: 1 })), 10_000],
      ] as const
      for (const [ask, limit] of asked) {
        const fiber = yield* Effect.forkChild(Effect.flip(ask))
        yield* TestClock.adjust(limit - 1)
        assert.isUndefined(fiber.pollUnsafe())
        yield* TestClock.adjust(1)
        assert.strictEqual((yield* Fiber.join(fiber))._tag, "StorageError")
      }
    }).pipe(Effect.provide(Stores.layer)),
  )

  it.effect("changes nothing about a store that answers", () =>
    Effect.gen(function* () {
      const runs = limitedRuns(yield* RunStore)
      assert.deepStrictEqual(yield* runs.heartbeat(runner, 1_000), new Map())
      assert.deepStrictEqual(yield* runs.claim({ runner, leaseMillis: 1_000, limit: 1 }), [])
    }).pipe(Effect.provide(Stores.layer)),
  )
})
