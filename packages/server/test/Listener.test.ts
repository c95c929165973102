import { it } from "@effect/vitest"
import { Effect, Fiber, Layer, Stream } from "effect"
import { HttpRouter, HttpServer, HttpServerResponse } from "effect/http"
import { Agent, request } from "node:http"
import { connect } from "node:net"
import { assert, describe } from "vitest"
import * as Listener from "../src/internal/serve/Listener.ts"
import { originOf } from "../src/internal/serve/OwnAddress.ts"

const text = (url: string) => Effect.promise(async () => (await fetch(url)).text())

const answer = (onRequest: () => void) =>
  Effect.sync(() => {
    onRequest()
    return HttpServerResponse.text("here")
  })

/** Serves one route on a listener. */
const serve = (listener: Listener.Listener, onRequest: () => void = () => {}) =>
  Layer.build(
    HttpRouter.serve(HttpRouter.add("GET", "/", answer(onRequest)), {
      disableLogger: true,
      disableListenLog: true,
    }).pipe(Layer.provide(Layer.succeed(HttpServer.HttpServer, listener.server))),
  )

/** Everything that comes back for these bytes until the connection is closed. */
const exchange = (port: number, bytes: string) =>
  Effect.callback<string>((resume) => {
    let answer = ""
    const socket = connect(port, "127.0.0.1", () => socket.write(bytes))
    socket.setEncoding("utf8").on("data", (part: string) => (answer += part))
    socket.on("close", () => resume(Effect.succeed(answer)))
  })

/** The status and what is said of the connection; the code of the error if there is no answer. */
const answerTo = (port: number, agent: Agent) =>
  Effect.callback<string>((resume) => {
    const sent = request({ host: "127.0.0.1", port, agent }, (response) => {
      response.resume()
      const { connection } = response.headers
      resume(Effect.succeed(`${response.statusCode} ${String(connection)}`))
    })
    sent.on("error", (cause) => resume(Effect.succeed("code" in cause ? String(cause.code) : "?")))
    sent.end()
  })

const makeAgent = Effect.acquireRelease(
  Effect.sync(() => new Agent({ keepAlive: true })),
  (agent) => Effect.sync(() => agent.destroy()),
)

describe("Listener.close", () => {
  it.live("is announced by every answer, also to requests that were there before", () =>
    Effect.gen(function* () {
      const listener = yield* Listener.open("127.0.0.1", 0)
      const { port } = listener.address
      const agent = yield* makeAgent
      const early = yield* Effect.forkChild(answerTo(port, agent), { startImmediately: true })
      // A connection that is refused right away comes after the request that waits.
      yield* exchange(port, "nothing\r\n\r\n")
      yield* listener.beginClosing
      assert.isTrue(listener.isClosing())
      yield* serve(listener)
      yield* listener.ready
      assert.strictEqual(yield* Fiber.join(early), "200 close")
      assert.strictEqual(yield* answerTo(port, agent), "200 close")
    }).pipe(Effect.scoped),
  )

  it.live("answers every connection that was made before", () =>
    Effect.gen(function* () {
      const listener = yield* Listener.open("127.0.0.1", 0)
      const { port } = listener.address
      const agent = yield* makeAgent
      yield* serve(listener)
      yield* listener.ready
      // All of them are the kernel's to keep until this process asks for them.
      const all = Effect.forEach(Array.from({ length: 50 }), () => answerTo(port, agent), {
        concurrency: "unbounded",
      })
      const answers = yield* Effect.forkChild(all, { startImmediately: true })
      yield* Effect.promise(() => new Promise((resolve) => process.nextTick(resolve)))
      yield* listener.close
      const seen = new Set(yield* Fiber.join(answers))
      assert.deepStrictEqual([...seen], ["200 close"])
      assert.strictEqual(yield* answerTo(port, agent), "ECONNREFUSED")
    }).pipe(Effect.scoped),
  )

  it.live("waits for no client that never asks, and for none that has its answer", () =>
    Effect.gen(function* () {
      const listener = yield* Listener.open("127.0.0.1", 0)
      const { port } = listener.address
      const agent = yield* makeAgent
      yield* serve(listener)
      yield* listener.ready
      const silent = yield* Effect.forkChild(exchange(port, ""), { startImmediately: true })
      const kept = "GET / HTTP/1.1\r\nhost: a\r\n\r\n"
      const idle = yield* Effect.forkChild(exchange(port, kept), { startImmediately: true })
      // Who comes later is answered later: both are known to the server by then.
      assert.strictEqual(yield* answerTo(port, agent), "200 keep-alive")
      yield* Effect.timeout(listener.close, 4_000)
      assert.strictEqual(yield* Fiber.join(silent), "")
      assert.match(yield* Fiber.join(idle), /^HTTP\/1\.1 200 OK/)
    }).pipe(Effect.scoped),
  )
})

describe("Listener.open", () => {
  it.live("keeps requests waiting until the server is ready", () =>
    Effect.gen(function* () {
      const listener = yield* Listener.open("127.0.0.1", 0)
      const origin = originOf(listener.address)
      const early = yield* Effect.forkChild(text(origin), { startImmediately: true })
      // A connection that is refused right away comes after the request that waits.
      yield* exchange(listener.address.port, "nothing\r\n\r\n")
      assert.isUndefined(early.pollUnsafe())
      yield* serve(listener)
      yield* listener.ready
      assert.strictEqual(yield* Fiber.join(early), "here")
      assert.strictEqual(yield* text(origin), "here")
    }).pipe(Effect.scoped),
  )

  it.live(
    "hands a request on once that comes between the routes and the last step of a start",
    () =>
      Effect.gen(function* () {
        const listener = yield* Listener.open("127.0.0.1", 0)
        let requests = 0
        yield* serve(listener, () => requests++)
        assert.strictEqual(yield* text(originOf(listener.address)), "here")
        yield* listener.ready
        assert.strictEqual(yield* text(originOf(listener.address)), "here")
        assert.strictEqual(requests, 2)
      }).pipe(Effect.scoped),
  )

  it.live("tells nobody to send a body before the server is ready to read it", () =>
    Effect.gen(function* () {
      const listener = yield* Listener.open("127.0.0.1", 0)
      const { port } = listener.address
      const head = "POST /nowhere HTTP/1.1\r\nhost: a\r\nexpect: 100-continue\r\n"
      const early = yield* Effect.forkChild(exchange(port, `${head}content-length: 9\r\n\r\n`), {
        startImmediately: true,
      })
      // A connection that is refused right away comes after the request that waits.
      yield* exchange(port, "nothing\r\n\r\n")
      yield* serve(listener)
      yield* listener.ready
      assert.match(yield* Fiber.join(early), /^HTTP\/1\.1 404 /)
    }).pipe(Effect.scoped),
  )

  it.live("answers what is not HTTP in the form of every error", () =>
    Effect.gen(function* () {
      const { address } = yield* Listener.open("127.0.0.1", 0)
      const malformed = yield* exchange(address.port, "nothing\r\n\r\n")
      assert.match(malformed, /^HTTP\/1\.1 400 Bad Request\r\ncontent-type: application\/json\r\n/)
      assert.match(malformed, /\r\n\r\n\{"error":"The request is not HTTP"\}$/)
      const large = `GET / HTTP/1.1\r\nhost: a\r\nx: ${"x".repeat(20_000)}\r\n\r\n`
      assert.match(yield* exchange(address.port, large), /^HTTP\/1\.1 431 /)
    }).pipe(Effect.scoped),
  )

  it.live("writes nothing into an answer that has begun, whatever its client sends", () =>
    Effect.gen(function* () {
      const listener = yield* Listener.open("127.0.0.1", 0)
      const begun = Stream.concat(Stream.succeed(new TextEncoder().encode("begun")), Stream.never)
      const route = HttpRouter.add("GET", "/", Effect.succeed(HttpServerResponse.stream(begun)))
      const options = { disableLogger: true, disableListenLog: true }
      yield* Layer.build(
        HttpRouter.serve(route, options).pipe(
          Layer.provide(Layer.succeed(HttpServer.HttpServer, listener.server)),
        ),
      )
      yield* listener.ready
      const answer = yield* Effect.callback<string>((resume) => {
        let got = ""
        const socket = connect(listener.address.port, "127.0.0.1", () =>
          socket.write("GET / HTTP/1.1\r\nhost: localhost\r\n\r\n"),
        )
        socket.setEncoding("utf8").on("data", (part: string) => {
          got += part
          if (got.includes("begun")) socket.write("nothing\r\n\r\n")
        })
        socket.on("close", () => resume(Effect.succeed(got)))
      })
      assert.match(answer, /^HTTP\/1.1 200 OK\r\n/)
      assert.match(answer, /begun\r\n$/)
    }).pipe(Effect.scoped),
  )

  it.live("refuses a port that is taken, and gives it back when the scope closes", () =>
    Effect.gen(function* () {
      const port = yield* Effect.gen(function* () {
        const first = yield* Listener.open("127.0.0.1", 0)
        const refused = yield* Effect.flip(Listener.open("127.0.0.1", first.address.port))
        assert.strictEqual(
          refused.message,
          `Port ${first.address.port} is in use; choose another with --port`,
        )
        return first.address.port
      }).pipe(Effect.scoped)
      assert.strictEqual((yield* Listener.open("127.0.0.1", port)).address.port, port)
    }).pipe(Effect.scoped),
  )

  it.live("is called by an address of this machine when it listens on all of them", () =>
    Effect.gen(function* () {
      const { address, bound } = yield* Listener.open("0.0.0.0", 0)
      assert.deepInclude(address, { host: "127.0.0.1", family: "IPv4" })
      assert.strictEqual(bound, "0.0.0.0")
    }).pipe(Effect.scoped),
  )
})
