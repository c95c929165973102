/**
 * The guard as its callers meet it, with servers on this machine.
 */
import type { IncomingMessage, ServerResponse } from "node:http"
import { describe, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { expect } from "vitest"
import type { Call } from "../src/Egress.ts"
import { Egress } from "../src/Egress.ts"
import type { Policy } from "../src/Policy.ts"
import { openWeb } from "../src/Policy.ts"
import type { Resolver } from "../src/Resolve.ts"
import { Unresolvable } from "../src/Resolve.ts"
import * as LocalServer from "./LocalServer.ts"

const loopback: Resolver = () => Effect.succeed(["127.0.0.1"])

/** Calls through a guard that permits loopback. */
const call = (
  request: Omit<Call, "method"> & Partial<Call>,
  policy: Partial<Policy> = {},
  resolve: Resolver = loopback,
) => {
  const allowed = { ...openWeb, allow: [{ cidr: "127.0.0.0/8" }], ...policy }
  return Egress.use((egress) => egress.request({ method: "GET", ...request })).pipe(
    Effect.provide(Egress.layer(allowed, resolve)),
  )
}

const text = (body: Uint8Array) => Buffer.from(body).toString("utf8")

const bodyOf = async (request: IncomingMessage) => {
  const chunks: Array<Buffer> = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks).toString("utf8")
}

describe("Egress.request", () => {
  it.live("sends method, path, query, headers and body, and reads the answer", () =>
    Effect.gen(function* () {
      const echo = async (request: IncomingMessage, response: ServerResponse) => {
        const body = await bodyOf(request)
        const { headers, method, url } = request
        response.setHeader("X-Two", ["a", "b"])
        response.writeHead(201, { "content-type": "text/plain" })
        response.end(JSON.stringify({ method, url, body, custom: headers["x-custom"] }))
      }
      const server = yield* LocalServer.http((request, response) => void echo(request, response))
      const answer = yield* call({
        method: "PUT",
        url: `http://api.test:${server.port}/a%20b?c=d#fragment`,
        headers: { "X-Custom": "yes" },
        body: "grüezi",
      })
      expect(answer.status).toBe(201)
      expect(answer.truncated).toBe(false)
      expect(answer.headers).toMatchObject({ "x-two": "a, b", "content-type": "text/plain" })
      expect(JSON.parse(text(answer.body))).toEqual({
        method: "PUT",
        url: "/a%20b?c=d",
        body: "grüezi",
        custom: "yes",
      })
    }),
  )

  it.live("says the name as host, asks for identity encoding and for no second request", () =>
    Effect.gen(function* () {
      const server = yield* LocalServer.http((request, response) => {
        response.end(JSON.stringify(request.headers))
      })
      const answer = yield* call({ url: `http://api.test:${server.port}/` })
      expect(JSON.parse(text(answer.body))).toMatchObject({
        host: `api.test:${server.port}`,
        "accept-encoding": "identity",
        connection: "close",
      })
    }),
  )

  it.live("resolves a name once and connects to the address that was judged", () =>
    Effect.gen(function* () {
      const server = yield* LocalServer.http((_request, response) => response.end("judged"))
      let asked = 0
      const rebinding: Resolver = () =>
        Effect.sync(() => {
          asked += 1
          return [asked === 1 ? "127.0.0.1" : "10.0.0.1"]
        })
      const url = `http://rebind.test:${server.port}/`
      const answer = yield* call({ url }, {}, rebinding)
      expect(text(answer.body)).toBe("judged")
      expect([asked, server.connections()]).toEqual([1, 1])
      const error = yield* Effect.flip(call({ url }, {}, rebinding))
      expect([error.reason, server.connections()]).toEqual(["blocked", 1])
    }),
  )

  it.live("tries the next judged address when one does not answer", () =>
    Effect.gen(function* () {
      const server = yield* LocalServer.http((_request, response) => response.end("second"))
      const two: Resolver = () => Effect.succeed(["127.0.0.3", "127.0.0.1"])
      const answer = yield* call({ url: `http://two.test:${server.port}/` }, {}, two)
      expect(text(answer.body)).toBe("second")
    }),
  )

  it.live("returns a redirect as it is and does not follow it", () =>
    Effect.gen(function* () {
      const target = yield* LocalServer.http((_request, response) => response.end("inside"))
      const location = `http://127.0.0.1:${target.port}/`
      const server = yield* LocalServer.http((_request, response) => {
        response.writeHead(302, { location }).end()
      })
      const answer = yield* call({ url: `http://127.0.0.1:${server.port}/` })
      expect(answer.status).toBe(302)
      expect(answer.headers["location"]).toBe(location)
      expect(target.connections()).toBe(0)
    }),
  )

  it.live("keeps an answer's headers out of every prototype", () =>
    Effect.gen(function* () {
      const server = yield* LocalServer.tcp((socket) => {
        socket.end("HTTP/1.1 200 OK\r\n__proto__: polluted\r\nconstructor: x\r\n\r\n")
      })
      const { headers } = yield* call({ url: `http://127.0.0.1:${server.port}/` })
      expect(Object.keys(headers)).toEqual(["__proto__", "constructor"])
      expect(Object.getPrototypeOf(headers)).toBe(Object.prototype)
      expect("polluted" in {}).toBe(false)
    }),
  )

  it.live("refuses reserved and split headers before it connects", () =>
    Effect.gen(function* () {
      const server = yield* LocalServer.http((_request, response) => response.end())
      const url = `http://127.0.0.1:${server.port}/`
      const host = yield* Effect.flip(call({ url, headers: { Host: "evil" } }))
      expect(host.message).toBe('The header "host" may not be set')
      const split = yield* Effect.flip(call({ url, headers: { a: "b\r\nHost: evil" } }))
      expect(split._tag).toBe("EgressRefused")
      expect(server.connections()).toBe(0)
    }),
  )

  it.live("lets a call narrow the policy, never widen it", () =>
    Effect.gen(function* () {
      const server = yield* LocalServer.http((_request, response) => response.end("0123456789"))
      const url = `http://127.0.0.1:${server.port}/`
      const secure = yield* Effect.flip(call({ url, protocols: ["https:"] }))
      expect(secure.reason).toBe("blocked")
      const wide = yield* Effect.flip(call({ url, maxBodyBytes: 100 }, { maxBodyBytes: 5 }))
      expect(wide.message).toBe("The answer is larger than 5 bytes")
      const narrow = yield* Effect.flip(call({ url, maxBodyBytes: 5 }))
      expect(narrow.reason).toBe("too-large")
    }),
  )

  it("refuses an exception that is no network, at start", async () => {
    const start = Effect.provide(Egress, Egress.layer({ allow: [{ cidr: "localhost" }] }))
    await expect(Effect.runPromise(Effect.scoped(start))).rejects.toThrow("CIDR")
  })
})

describe("Egress.request, bounded", () => {
  const endless = LocalServer.http((_request, response) => {
    const chunk = Buffer.alloc(65_536, "x")
    const more = () => {
      while (response.write(chunk));
      response.once("drain", more)
    }
    more()
  })

  it.live("stops reading an endless answer and fails", () =>
    Effect.gen(function* () {
      const server = yield* endless
      const error = yield* Effect.flip(
        call({ url: `http://127.0.0.1:${server.port}/` }, { maxBodyBytes: 100_000 }),
      )
      expect([error._tag, error.reason]).toEqual(["EgressFailed", "too-large"])
      expect(error.message).toBe("The answer is larger than 100000 bytes")
    }),
  )

  it.live("keeps the beginning of an endless answer when asked to", () =>
    Effect.gen(function* () {
      const server = yield* endless
      const url = `http://127.0.0.1:${server.port}/`
      const answer = yield* call({ url, maxBodyBytes: 4_096, overflow: "truncate" })
      expect([answer.truncated, answer.body.byteLength]).toEqual([true, 4_096])
    }),
  )

  it.live("accepts an answer of exactly the permitted size", () =>
    Effect.gen(function* () {
      const server = yield* LocalServer.http((_request, response) => response.end("12345"))
      const url = `http://127.0.0.1:${server.port}/`
      const answer = yield* call({ url, maxBodyBytes: 5, overflow: "truncate" })
      expect([answer.truncated, text(answer.body)]).toEqual([false, "12345"])
    }),
  )

  it.live("times out on a body that drips, and closes the connection", () =>
    Effect.gen(function* () {
      let closed: () => void = () => {}
      const gone = new Promise<void>((resolve) => (closed = resolve))
      const server = yield* LocalServer.tcp((socket) => {
        socket.write("HTTP/1.1 200 OK\r\ncontent-length: 1000000\r\n\r\n")
        const drip = setInterval(() => socket.write("x"), 10)
        socket.on("close", () => {
          clearInterval(drip)
          closed()
        })
      })
      const error = yield* Effect.flip(
        call({ url: `http://127.0.0.1:${server.port}/`, timeoutMillis: 200 }),
      )
      expect([error._tag, error.reason]).toEqual(["EgressFailed", "timeout"])
      expect(error.message).toBe("No complete answer came within 0.2 s")
      yield* Effect.promise(() => gone)
    }),
  )

  it.live("times out on a server that never answers, and on one that only says 'continue'", () =>
    Effect.gen(function* () {
      const mute = yield* LocalServer.tcp(() => {})
      const chatty = yield* LocalServer.tcp((socket) => {
        const talk = setInterval(() => socket.write("HTTP/1.1 102 Processing\r\n\r\n"), 5)
        socket.on("close", () => clearInterval(talk))
      })
      for (const { port } of [mute, chatty]) {
        const error = yield* Effect.flip(
          call({ url: `http://127.0.0.1:${port}/`, timeoutMillis: 150 }),
        )
        expect(error.reason).toBe("timeout")
      }
    }),
  )

  it.live("times out on a name that never resolves", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(
        call({ url: "http://never.test/", timeoutMillis: 50 }, {}, () => Effect.never),
      )
      expect(error.reason).toBe("timeout")
    }),
  )

  it.live("refuses endless headers", () =>
    Effect.gen(function* () {
      const server = yield* LocalServer.tcp((socket) => {
        socket.write(`HTTP/1.1 200 OK\r\n${`x-a: ${"y".repeat(1_000)}\r\n`.repeat(100)}`)
      })
      const error = yield* Effect.flip(call({ url: `http://127.0.0.1:${server.port}/` }))
      expect(error.reason).toBe("protocol")
    }),
  )

  const stages = { "waiting for an answer": "http", "securing the connection": "https" }
  for (const [stage, protocol] of Object.entries(stages)) {
    it.live(`closes the connection when it is interrupted while ${stage}`, () =>
      Effect.gen(function* () {
        let opened: () => void = () => {}
        let closed: () => void = () => {}
        const here = new Promise<void>((resolve) => (opened = resolve))
        const gone = new Promise<void>((resolve) => (closed = resolve))
        const server = yield* LocalServer.tcp((socket) => {
          socket.on("data", () => opened())
          socket.on("close", () => closed())
        })
        const url = `${protocol}://mute.test:${server.port}/`
        const fiber = yield* Effect.forkChild(call({ url }))
        yield* Effect.promise(() => here)
        yield* Fiber.interrupt(fiber)
        yield* Effect.timeout(
          Effect.promise(() => gone),
          20_000,
        )
      }),
    )
  }
})

describe("Egress.request, when no answer comes", () => {
  const reasonOf = (url: string, resolve: Resolver = loopback) =>
    Effect.map(Effect.flip(call({ url }, {}, resolve)), (error) => {
      expect(error._tag).toBe("EgressFailed")
      expect(error.message).not.toMatch(/\d+\.\d+\.\d+|::/)
      return error.reason
    })

  it.live("says refused where nobody listens", () =>
    Effect.gen(function* () {
      const port = yield* Effect.scoped(
        Effect.map(
          LocalServer.tcp(() => {}),
          (server) => server.port,
        ),
      )
      expect(yield* reasonOf(`http://127.0.0.1:${port}/`)).toBe("refused")
      expect(yield* reasonOf(`https://127.0.0.1:${port}/`)).toBe("refused")
    }),
  )

  it.live("says unresolvable for a name without an address", () =>
    Effect.gen(function* () {
      const none = "http://none.test/"
      expect(yield* reasonOf(none, () => Effect.succeed([]))).toBe("unresolvable")
      expect(
        yield* reasonOf(none, () => Effect.fail(new Unresolvable({ isTemporary: false }))),
      ).toBe("unresolvable")
    }),
  )

  it.live("says reset when the server hangs up early or in the middle", () =>
    Effect.gen(function* () {
      const early = yield* LocalServer.tcp((socket) => socket.on("data", () => socket.end()))
      const middle = yield* LocalServer.tcp((socket) => {
        socket.on("data", () => socket.end("HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nabc"))
      })
      expect(yield* reasonOf(`http://127.0.0.1:${early.port}/`)).toBe("reset")
      expect(yield* reasonOf(`http://127.0.0.1:${middle.port}/`)).toBe("reset")
    }),
  )

  it.live("says protocol when the answer is not HTTP", () =>
    Effect.gen(function* () {
      const server = yield* LocalServer.tcp((socket) => socket.end("220 ready\r\n"))
      expect(yield* reasonOf(`http://127.0.0.1:${server.port}/`)).toBe("protocol")
    }),
  )

  it.live("says tls when the server does not speak it", () =>
    Effect.gen(function* () {
      const server = yield* LocalServer.http((_request, response) => response.end())
      expect(yield* reasonOf(`https://plain.test:${server.port}/`)).toBe("tls")
    }),
  )
})

describe("Egress.request beyond the bounds of calls", () => {
  const calls = { atOnce: 1, perOrigin: 1, perAccount: 1, waitingPerAccount: 1 }
  const guard = Egress.layer({ ...openWeb, calls }, () => Effect.never)

  it.effect("counts a call's time from when its turn comes", () =>
    Effect.gen(function* () {
      const egress = yield* Egress
      const begin = Effect.forkChild(
        Effect.flip(egress.request({ method: "GET", url: "http://a.test", timeoutMillis: 10_000 })),
        { startImmediately: true },
      )
      const first = yield* begin
      const second = yield* begin
      yield* TestClock.adjust("10 seconds")
      expect(first.pollUnsafe()).toBeDefined()
      yield* TestClock.adjust("9999 millis")
      expect(second.pollUnsafe()).toBeUndefined()
      yield* TestClock.adjust("1 millis")
      expect((yield* Fiber.join(second)).message).toBe("No complete answer came within 10 s")
    }).pipe(Effect.provide(guard)),
  )

  it.effect("counts the calls of each account by themselves", () =>
    Effect.gen(function* () {
      const resolved: Array<string> = []
      const resolve: Resolver = (name) => {
        resolved.push(name)
        return Effect.never
      }
      const roomy = { ...calls, atOnce: 3, perOrigin: 3 }
      const egress = yield* Effect.provide(
        Egress,
        Egress.layer({ ...openWeb, calls: roomy }, resolve),
      )
      for (const account of ["a", "a", "b"]) {
        const url = `http://${account}.test`
        yield* Effect.forkChild(egress.request({ method: "GET", account, url }), {
          startImmediately: true,
        })
      }
      expect(resolved).toEqual(["a.test", "b.test"])
    }),
  )

  it.effect(
    "leaves the line at the time limit of whoever waits, and is refused in a full one",
    () =>
      Effect.gen(function* () {
        const egress = yield* Egress
        const call = egress.request({ method: "GET", url: "http://a.test" })
        yield* Effect.forkChild(call, { startImmediately: true })
        const impatient = yield* Effect.forkChild(Effect.timeoutOption(call, "1 seconds"), {
          startImmediately: true,
        })
        expect((yield* Effect.flip(call)).reason).toBe("crowded")
        yield* TestClock.adjust("1 seconds")
        expect((yield* Fiber.join(impatient))._tag).toBe("None")
        const next = yield* Effect.forkChild(call, { startImmediately: true })
        expect(next.pollUnsafe()).toBeUndefined()
      }).pipe(Effect.provide(guard)),
  )
})
