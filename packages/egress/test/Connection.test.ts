/**
 * Connections that are kept for the next call, with a server that counts them.
 */
import { describe, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { expect } from "vitest"
import { Egress } from "../src/Egress.ts"
import { httpsOnly, openWeb } from "../src/Policy.ts"
import type { Resolver } from "../src/Resolve.ts"
import { Unresolvable } from "../src/Resolve.ts"
import * as LocalServer from "./LocalServer.ts"

/** A guard that permits loopback and keeps its connections. */
const keeping = (resolve: Resolver, idleMillis = 10_000) =>
  Egress.layer({ ...openWeb, allow: [{ cidr: "127.0.0.0/8" }], idleMillis }, resolve)

const loopback: Resolver = () => Effect.succeed(["127.0.0.1"])

const get = (url: string, more: { readonly maxBodyBytes?: number } = {}) =>
  Egress.use((egress) => egress.request({ method: "GET", url, overflow: "truncate", ...more }))

describe("Egress.request, of a guard that keeps its connections", () => {
  it.live("sends calls to one origin over one connection, one after the other", () =>
    Effect.gen(function* () {
      const server = yield* LocalServer.http((_request, response) => response.end("ok"))
      const url = `http://name.test:${server.port}/`
      const calls = Effect.repeat(get(url), { times: 9 })
      const answer = yield* Effect.provide(calls, keeping(loopback))
      expect([answer.status, server.connections()]).toEqual([200, 1])
    }),
  )

  it.live("uses none for two calls at once, and none whose call was broken off", () =>
    Effect.gen(function* () {
      let began: () => void = () => {}
      const begun = new Promise<void>((resolve) => (began = resolve))
      const server = yield* LocalServer.http((request, response) => {
        response.write("beginning")
        if (request.url === "/endless") began()
        else response.end()
      })
      const url = (path: string) => `http://name.test:${server.port}/${path}`
      const calls = Effect.gen(function* () {
        yield* Effect.all([get(url("a")), get(url("b"))], { concurrency: 2 })
        expect(server.connections()).toBe(2)
        const endless = yield* Effect.forkChild(get(url("endless")))
        yield* Effect.promise(() => begun)
        yield* Fiber.interrupt(endless)
        yield* get(url("c"), { maxBodyBytes: 3 })
        expect(server.connections()).toBe(2)
        yield* get(url("d"))
        expect(server.connections()).toBe(3)
      })
      yield* Effect.provide(calls, keeping(loopback))
    }),
  )

  it.live("uses none that another judgement has allowed", () =>
    Effect.gen(function* () {
      const server = yield* LocalServer.http((_request, response) => response.end("ok"))
      let addresses = ["127.0.0.1"]
      const moving: Resolver = () => Effect.sync(() => addresses)
      const url = `http://name.test:${server.port}/`
      const calls = Effect.gen(function* () {
        yield* get(url)
        addresses = ["10.0.0.1"]
        expect((yield* Effect.flip(get(url))).reason).toBe("blocked")
        addresses = ["127.0.0.1", "127.0.0.2"]
        yield* get(url)
        expect(server.connections()).toBe(2)
      })
      yield* Effect.provide(calls, keeping(moving))
    }),
  )

  it.live("leaves none behind", () =>
    Effect.gen(function* () {
      const server = yield* LocalServer.http((_request, response) => response.end("ok"))
      const url = `http://name.test:${server.port}/`
      yield* Effect.provide(get(url), keeping(loopback))
      yield* server.isLeft
    }),
  )

  it.live("throws away what is read beyond what is kept", () =>
    Effect.gen(function* () {
      const server = yield* LocalServer.http((_request, response) => {
        response.end("x".repeat(60_000))
      })
      const call = Egress.use((egress) =>
        egress.request({
          method: "GET",
          url: `http://name.test:${server.port}/`,
          maxBodyBytes: 65_536,
          keptBodyBytes: 4_096,
        }),
      )
      const calls = Effect.andThen(call, call)
      const answer = yield* Effect.provide(calls, keeping(loopback))
      expect([answer.body.byteLength, answer.truncated]).toEqual([4_096, true])
      expect(server.connections()).toBe(1)
    }),
  )
})

describe("Egress.judge", () => {
  const judge = (url: string, resolve: Resolver) =>
    Effect.provide(
      Effect.result(Egress.use((egress) => egress.judge(url))),
      Egress.layer(httpsOnly, resolve),
    )
  const failing =
    (isTemporary: boolean): Resolver =>
    () =>
      Effect.fail(new Unresolvable({ isTemporary }))

  it.live("accepts what may be called as things are now", () =>
    Effect.gen(function* () {
      const known: Resolver = () => Effect.succeed(["93.184.216.34"])
      expect((yield* judge("https://name.example/", known))._tag).toBe("Success")
      expect((yield* judge("https://93.184.216.34/", failing(false)))._tag).toBe("Success")
    }),
  )

  it.live(
    "refuses names that lead inside, in part or as a whole, and names without an address",
    () =>
      Effect.gen(function* () {
        const reason = (resolve: Resolver) =>
          Effect.map(judge("https://name.example/", resolve), (result) =>
            result._tag === "Failure" ? result.failure.reason : undefined,
          )
        expect(yield* reason(() => Effect.succeed(["10.0.0.1"]))).toBe("blocked")
        expect(yield* reason(() => Effect.succeed(["93.184.216.34", "::1"]))).toBe("blocked")
        expect(yield* reason(() => Effect.succeed([]))).toBe("unresolvable")
        expect(yield* reason(failing(false))).toBe("unresolvable")
      }),
  )

  it.live("refuses a URL that may not be called, and then resolves nothing", () =>
    Effect.gen(function* () {
      const result = yield* judge("http://name.example/", () => Effect.die("resolved"))
      const failure = result._tag === "Failure" ? result.failure : undefined
      expect(failure).toMatchObject({
        reason: "blocked",
        message: "Only https URLs may be called",
      })
    }),
  )

  it.live("leaves a name to the call where nobody can tell", () =>
    Effect.gen(function* () {
      expect((yield* judge("https://name.example/", failing(true)))._tag).toBe("Success")
      expect((yield* judge("https://name.example/", () => Effect.never))._tag).toBe("Success")
    }),
  )
})
