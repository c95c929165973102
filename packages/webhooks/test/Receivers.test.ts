/**
 * Real receivers, good and bad ones, over real connections.
 */
import { assert, describe, it } from "@effect/vitest"
import type { Delivery, DeliveryRecord } from "@millrace/core/domain/Delivery"
import { WebhookStore } from "@millrace/core/ports/WebhookStore"
import { Egress } from "@millrace/egress/Egress"
import { httpsOnly } from "@millrace/egress/Policy"
import type { Resolver } from "@millrace/egress/Resolve"
import { Effect, Layer, Option, type Scope } from "effect"
import { createServer } from "node:http"
import type { Socket } from "node:net"
import { createGzip } from "node:zlib"
import { delivery, dispatcher, services } from "./Harness.ts"
import * as LocalReceiver from "./LocalReceiver.ts"

const open = Egress.layer({ ...httpsOnly, allow: [{ cidr: "127.0.0.0/8" }], idleMillis: 1_000 })

/** One attempt each, with so much time for it. */
const once = (timeoutMillis: number) => ({
  schedule: { delaysMillis: [], jitter: 0, lifeMillis: 3_600_000 },
  timeoutMillis,
  pollMillis: 20,
})

/** Time for a receiver that uses all of it, and for those that do not on a busy machine. */
const shortMillis = 1_000
const longMillis = 30_000

const to = (origin: string): Delivery =>
  delivery({ origin, url: `${origin}/hook`, createdAt: Date.now() })

/** The delivery once it has ended. */
const ended = Effect.fnUntraced(function* ({ id }: Delivery) {
  const store = yield* WebhookStore
  return yield* Effect.repeat(
    Effect.delay(Effect.map(store.find(null, id), Option.getOrThrow), "10 millis"),
    { until: ({ item }: DeliveryRecord) => item.state !== "PENDING" },
  )
})

/** What the log says of one attempt at this address. */
const outcomeAt = Effect.fnUntraced(function* (origin: string) {
  const one = to(origin)
  yield* (yield* WebhookStore).insert(one)
  const { attempts } = yield* ended(one)
  const [attempt] = attempts
  return attempt!
})

const withDispatcher = <A, E>(
  test: Effect.Effect<A, E, WebhookStore | Scope.Scope>,
  { egress = open, timeoutMillis = longMillis } = {},
) =>
  Effect.gen(function* () {
    yield* Layer.build(dispatcher(egress, once(timeoutMillis)))
    return yield* test
  }).pipe(Effect.provide(services))

const head = (...lines: ReadonlyArray<string>) => ["HTTP/1.1 200 OK", ...lines, "", ""].join("\r\n")

/** Writes one byte every so often, for ever. */
const drip = (socket: Socket, text: string) => {
  socket.write(text)
  const timer = setInterval(() => socket.write("x"), 20)
  socket.on("close", () => clearInterval(timer))
}

const bad = {
  "drips a byte at a time": ["timeout", (socket: Socket) => drip(socket, head())],
  "never answers": ["timeout", () => {}],
  "drips its headers": ["timeout", (socket: Socket) => drip(socket, "HTTP/1.1 200 OK\r\nx: ")],
  "hangs up half-way": [
    "reset",
    (socket: Socket) => socket.end(head("content-length: 100") + "half"),
  ],
  "hangs up at once": ["reset", (socket: Socket) => socket.destroy()],
  "has endless headers": [
    "protocol",
    (socket: Socket) => socket.write("HTTP/1.1 200 OK\r\n" + "x-y: z\r\n".repeat(10_000)),
  ],
  "does not speak HTTP": ["protocol", (socket: Socket) => socket.end("220 smtp.example ESMTP\r\n")],
} as const

describe("Dispatcher.layer, with a receiver that", () => {
  for (const [what, [error, onData]] of Object.entries(bad)) {
    it.live(`${what}: ends the attempt in time as "${error}"`, () =>
      withDispatcher(
        Effect.gen(function* () {
          const { origin } = yield* LocalReceiver.raw((socket) => {
            socket.once("data", () => onData(socket))
          })
          const attempt = yield* outcomeAt(origin)
          assert.strictEqual(attempt.error, error)
          assert.isBelow(attempt.durationMillis!, 10_000)
        }),
        { timeoutMillis: error === "timeout" ? shortMillis : longMillis },
      ),
    )
  }

  it.live("answers a gigabyte: reads 64 KiB of it, keeps 4 KiB, and is done", () =>
    withDispatcher(
      Effect.gen(function* () {
        let written = 0
        const server = createServer((_request, response) => {
          response.writeHead(200)
          const more = () => {
            while (!response.destroyed && written < 1e9) {
              written += 65_536
              if (!response.write(Buffer.alloc(65_536, "a"))) break
            }
          }
          response.on("drain", more)
          more()
        })
        const { port } = yield* LocalReceiver.listening(server)
        const attempt = yield* outcomeAt(`http://127.0.0.1:${port}`)
        assert.deepInclude(attempt, { status: 200, error: null })
        assert.strictEqual(attempt.answer, "a".repeat(4_096))
        assert.isBelow(written, 50_000_000)
      }),
    ),
  )

  it.live("answers a gzip bomb: unpacks nothing", () =>
    withDispatcher(
      Effect.gen(function* () {
        const asked: Array<string | undefined> = []
        const server = createServer((request, response) => {
          asked.push(request.headers["accept-encoding"])
          response.writeHead(200, { "content-encoding": "gzip" })
          const gzip = createGzip()
          gzip.pipe(response)
          gzip.end(Buffer.alloc(30_000_000))
        })
        const { port } = yield* LocalReceiver.listening(server)
        const attempt = yield* outcomeAt(`http://127.0.0.1:${port}`)
        assert.deepStrictEqual(asked, ["identity"])
        assert.isAtMost(Buffer.byteLength(attempt.answer!), 3 * 4_096)
        assert.isBelow(attempt.durationMillis!, 10_000)
      }),
    ),
  )

  it.live("redirects inside: follows it nowhere", () =>
    withDispatcher(
      Effect.gen(function* () {
        const canary = yield* LocalReceiver.make()
        for (const status of [301, 302, 303, 307, 308]) {
          const { origin } = yield* LocalReceiver.make((_, response) =>
            response.writeHead(status, { location: `${canary.origin}/metadata` }).end(),
          )
          const attempt = yield* outcomeAt(origin)
          assert.deepInclude(attempt, { status, error: "status" })
        }
        assert.deepStrictEqual(canary.requests, [])
      }),
    ),
  )
})

/** Hosts that lead to this machine, however they are spelled. */
const hosts = [
  "127.0.0.1",
  "127.1",
  "127.0.1",
  "0177.0.0.1",
  "0x7f.1",
  "0x7f000001",
  "2130706433",
  "017700000001",
  "127.0.0.2",
  "127.255.255.254",
  "0",
  "0.0.0.0",
  "localhost",
  "LOCALHOST",
  "localhost.",
  "a.localhost",
  "%31%32%37.0.0.1",
  "127%2e0%2e0%2e1",
  "[::1]",
  "[::]",
  "[0:0:0:0:0:0:0:1]",
  "[::127.0.0.1]",
  "[::ffff:127.0.0.1]",
  "[::ffff:7f00:1]",
  "[::ffff:0:127.0.0.1]",
  "[64:ff9b::127.0.0.1]",
  "[2002:7f00:1::]",
  "[fe80::1]",
  "169.254.169.254",
  "2852039166",
  "169.254.43518",
  "10.0.0.1",
  "172.16.0.1",
  "192.168.1.1",
  "100.64.0.1",
  "[fc00::1]",
  "[fd00:ec2::254]",
  "224.0.0.1",
  "255.255.255.255",
  "198.18.0.1",
]

describe("Dispatcher.layer, given addresses that lead inside", () => {
  it.live(`connects to none of ${hosts.length}, nor to a name that has moved there`, () =>
    Effect.gen(function* () {
      const canary = yield* Effect.orDie(LocalReceiver.listening(createServer(), "::"))
      let asked = 0
      const rebinding: Resolver = () =>
        Effect.sync(() => {
          asked += 1
          // First as it was when the run was started, then in part, then as a whole.
          return asked === 1 ? ["93.184.216.34", "127.0.0.1"] : ["127.0.0.1"]
        })
      // Everything is permitted but these networks: a port and a protocol do not protect us here.
      const policy = {
        ...httpsOnly,
        protocols: ["http:", "https:"] as const,
        ports: [canary.port],
      }
      const guard = Egress.layer(policy, rebinding)
      const origins = [...hosts, "rebinding.example", "rebinding.example"].flatMap((host) =>
        ["http", "https"].map((scheme) => `${scheme}://${host}:${canary.port}`),
      )
      yield* withDispatcher(
        Effect.gen(function* () {
          const attempts = yield* Effect.forEach(origins, outcomeAt, { concurrency: 20 })
          assert.deepStrictEqual([...new Set(attempts.map(({ error }) => error))], ["blocked"])
        }),
        { egress: guard },
      )
      assert.isAbove(asked, 1)
      assert.strictEqual(canary.connections(), 0)
    }),
  )
})
