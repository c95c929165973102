/**
 * Clients that mean no good, against a real listener: each is turned away in time, and a good
 * client does not notice.
 */
import { it } from "@effect/vitest"
import { Clock, Effect } from "effect"
import type { Socket } from "node:net"
import { connect } from "node:net"
import { assert, describe } from "vitest"
import * as LocalServer from "./LocalServer.ts"

/** Bounds that a test can wait for, and that a good client keeps on a busy machine, too. */
const impatient = { headersMillis: 1_000, requestMillis: 2_000, idleMillis: 700, lookMillis: 50 }

/** Far above these bounds, and below those that a server has if it is told nothing. */
const inTimeMillis = 4_500

/** What came back on a connection, and how long it lasted. */
interface Exchange {
  readonly answer: string
  readonly millis: number
}

/** Connects, lets `talk` send, and waits until the server closes the connection. */
const exchange = (port: number, talk: (socket: Socket) => void) =>
  Effect.gen(function* () {
    const clock = yield* Clock.Clock
    const begin = clock.currentTimeMillisUnsafe()
    const answer = yield* Effect.callback<string>((resume) => {
      let text = ""
      const socket = connect(port, "127.0.0.1", () => talk(socket))
      socket.setEncoding("utf8").on("data", (part: string) => (text += part))
      socket.on("error", () => {})
      socket.on("close", () => resume(Effect.succeed(text)))
      return Effect.sync(() => socket.destroy())
    })
    return { answer, millis: clock.currentTimeMillisUnsafe() - begin } satisfies Exchange
  })

/** Sends the same bytes again and again, until the connection is closed. */
const drip = (bytes: string, everyMillis: number) => (socket: Socket) => {
  const timer = setInterval(() => socket.write(bytes), everyMillis)
  socket.on("close", () => clearInterval(timer))
}

const listRuns = (origin: string, key: string) =>
  Effect.promise(async () => {
    const headers = { authorization: `Bearer ${key}` }
    const answer = await fetch(`${origin}/api/v1/runs`, { headers })
    await answer.arrayBuffer()
    return answer.status
  })

const createOf = (key: string, length: number | "chunked") =>
  `POST /api/v1/workflows HTTP/1.1\r\nhost: a\r\nauthorization: Bearer ${key}\r\n` +
  (length === "chunked" ? "transfer-encoding: chunked" : `content-length: ${length}`) +
  "\r\n\r\n"

describe("a server among hostile clients", () => {
  it.live("closes a connection that says nothing", () =>
    Effect.gen(function* () {
      const { port } = yield* LocalServer.start(impatient)
      const { millis } = yield* exchange(port, () => {})
      assert.isBelow(millis, inTimeMillis)
    }).pipe(Effect.scoped),
  )

  it.live("gives up on headers that drip in, with 408", () =>
    Effect.gen(function* () {
      const { port } = yield* LocalServer.start(impatient)
      const { answer, millis } = yield* exchange(port, (socket) => {
        socket.write("GET /healthz HTTP/1.1\r\nhost: a\r\n")
        drip("x: y\r\n", 50)(socket)
      })
      assert.match(answer, /^HTTP\/1\.1 408 /)
      assert.match(answer, /\{"error":"The request took too long to arrive"\}$/)
      assert.match(answer, /\r\nx-request-id: req_\w+\r\n/)
      assert.match(answer, /\r\nx-content-type-options: nosniff\r\n/)
      assert.isBelow(millis, inTimeMillis)
    }).pipe(Effect.scoped),
  )

  it.live("gives up on a body that drips in, with 408", () =>
    Effect.gen(function* () {
      const { port, tenant } = yield* LocalServer.start(impatient)
      const { key } = yield* tenant
      const { answer, millis } = yield* exchange(port, (socket) => {
        socket.write(createOf(key, 100_000))
        drip(" ", 50)(socket)
      })
      assert.match(answer, /^HTTP\/1\.1 408 /)
      assert.isBelow(millis, inTimeMillis)
    }).pipe(Effect.scoped),
  )

  it.live("closes a connection that stays idle after a request", () =>
    Effect.gen(function* () {
      const { port } = yield* LocalServer.start(impatient)
      const { answer, millis } = yield* exchange(port, (socket) => {
        socket.write("GET /healthz HTTP/1.1\r\nhost: a\r\n\r\n")
      })
      assert.match(answer, /^HTTP\/1\.1 200 /)
      assert.isBelow(millis, inTimeMillis)
    }).pipe(Effect.scoped),
  )

  it.live("answers a good client while 2,000 connections are silent", () =>
    Effect.gen(function* () {
      const { origin, port, tenant } = yield* LocalServer.start()
      const { key } = yield* tenant
      const idle = yield* Effect.forEach(
        Array.from({ length: 2_000 }),
        () =>
          Effect.callback<Socket>((resume) => {
            const socket = connect(port, "127.0.0.1", () => resume(Effect.succeed(socket)))
            socket.on("error", () => {})
          }),
        { concurrency: 100 },
      )
      const clock = yield* Clock.Clock
      const times: Array<number> = []
      for (let n = 0; n < 100; n++) {
        const begin = clock.currentTimeMillisUnsafe()
        assert.strictEqual(yield* listRuns(origin, key), 200)
        times.push(clock.currentTimeMillisUnsafe() - begin)
      }
      for (const socket of idle) socket.destroy()
      assert.isBelow(times.toSorted((a, b) => a - b)[95]!, 1_000)
    }).pipe(Effect.scoped),
  )

  for (const length of [52_428_800, "chunked"] as const) {
    it.live(`refuses a body of 50 MB (${length}) without reading it`, () =>
      Effect.gen(function* () {
        const { origin, port, tenant } = yield* LocalServer.start()
        const { key } = yield* tenant
        let sent = 0
        const { answer, millis } = yield* exchange(port, (socket) => {
          socket.write(createOf(key, length))
          const part = " ".repeat(65_536)
          const bytes = length === "chunked" ? `10000\r\n${part}\r\n` : part
          const more = (): void => {
            while (sent < 52_428_800 && socket.writable) {
              sent += part.length
              if (!socket.write(bytes)) return void socket.once("drain", more)
            }
          }
          more()
        })
        assert.match(answer, /^HTTP\/1\.1 413 /)
        assert.match(answer, /\{"error":"The body is larger than 1048576 bytes"\}$/)
        assert.isBelow(sent, 26_214_400)
        assert.isBelow(millis, inTimeMillis)
        assert.strictEqual(yield* listRuns(origin, key), 200)
      }).pipe(Effect.scoped),
    )
  }

  it.live("refuses a body that is announced as too large at once, before any of it is sent", () =>
    Effect.gen(function* () {
      const { origin, port, tenant } = yield* LocalServer.start()
      const { key } = yield* tenant
      const { answer, millis } = yield* exchange(port, (socket) =>
        socket.write(createOf(key, 1_048_577)),
      )
      assert.match(answer, /^HTTP\/1\.1 413 /)
      assert.match(answer, /\r\nconnection: close\r\n/i)
      assert.isBelow(millis, inTimeMillis)
      assert.strictEqual(yield* listRuns(origin, key), 200)
    }).pipe(Effect.scoped),
  )

  it.live("tells nobody to go on with a body that is refused", () =>
    Effect.gen(function* () {
      const { port, tenant } = yield* LocalServer.start()
      const { key } = yield* tenant
      const expecting = (request: string) =>
        exchange(port, (socket) => {
          socket.write(request.replace("host: a", "host: a\r\nexpect: 100-continue"))
        })
      const tooLarge = yield* expecting(createOf(key, 1_048_577))
      assert.match(tooLarge.answer, /^HTTP\/1\.1 413 /)
      const noKey = yield* expecting(createOf("none", 100))
      assert.match(noKey.answer, /^HTTP\/1\.1 401 /)
      for (const { answer, millis } of [tooLarge, noKey]) {
        assert.notInclude(answer, "HTTP/1.1 100")
        assert.isBelow(millis, inTimeMillis)
      }
    }).pipe(Effect.scoped),
  )

  it.live("tells a client to go on with a body that is read", () =>
    Effect.gen(function* () {
      const { port, tenant } = yield* LocalServer.start(impatient)
      const { key } = yield* tenant
      const { answer } = yield* exchange(port, (socket) => {
        const head = createOf(key, 12).replace("host: a", "host: a\r\nexpect: 100-continue")
        socket.write(head)
        socket.once("data", () => socket.write('{"name":"N"}'))
      })
      assert.match(answer, /^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 201 /)
    }).pipe(Effect.scoped),
  )

  it.live("refuses 20,000 levels and a million values while others are answered", () =>
    Effect.gen(function* () {
      const { origin, tenant } = yield* LocalServer.start()
      const { key } = yield* tenant
      const bodies = [
        `{"name":"N","x":${"[".repeat(20_000)}${"]".repeat(20_000)}}`,
        `{"name":"N","x":[${"0,".repeat(500_000)}0]}`,
        `{"name":"N","x":${'{"a":'.repeat(20_000)}0${"}".repeat(20_000)}}`,
      ]
      const clock = yield* Clock.Clock
      for (const body of bodies) {
        const begin = clock.currentTimeMillisUnsafe()
        const init = { method: "POST", body, headers: { authorization: `Bearer ${key}` } }
        const answer = yield* Effect.promise(() => fetch(`${origin}/api/v1/workflows`, init))
        // Fetch says text/plain where nothing is said.
        assert.strictEqual(answer.status, 415)
        const headers = { ...init.headers, "content-type": "application/json" }
        const again = yield* Effect.promise(() =>
          fetch(`${origin}/api/v1/workflows`, { ...init, headers }),
        )
        assert.strictEqual(again.status, 400)
        assert.isBelow(clock.currentTimeMillisUnsafe() - begin, 5_000)
        assert.strictEqual(yield* listRuns(origin, key), 200)
      }
    }).pipe(Effect.scoped),
  )

  it.live("refuses two lengths, a length beside chunks, and lines that are folded", () =>
    Effect.gen(function* () {
      const { port } = yield* LocalServer.start(impatient)
      const head = "POST /api/v1/workflows HTTP/1.1\r\nhost: a\r\n"
      const smuggled = [
        "content-length: 2\r\ncontent-length: 3\r\n\r\n{}",
        "content-length: 2\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
        "x: a\r\n b\r\ncontent-length : 2\r\n\r\n{}",
        "transfer-encoding: chunked, identity\r\n\r\n{}",
      ]
      for (const rest of smuggled) {
        const { answer } = yield* exchange(port, (socket) => socket.write(head + rest))
        assert.match(answer, /^HTTP\/1\.1 400 /)
        assert.strictEqual(answer.split("HTTP/1.1").length, 2)
      }
    }).pipe(Effect.scoped),
  )

  it.live("answers a request that wants another protocol as if it did not", () =>
    Effect.gen(function* () {
      const { port } = yield* LocalServer.start(impatient)
      for (const path of ["/healthz", "/api/v1/runs"]) {
        const { answer, millis } = yield* exchange(port, (socket) => {
          socket.write(`GET ${path} HTTP/1.1\r\nhost: a\r\nconnection: upgrade\r\n`)
          socket.write("upgrade: websocket\r\nsec-websocket-key: AA==\r\n\r\n")
        })
        assert.match(answer, path === "/healthz" ? /^HTTP\/1\.1 200 / : /^HTTP\/1\.1 401 /)
        assert.isBelow(millis, inTimeMillis)
      }
    }).pipe(Effect.scoped),
  )
})
