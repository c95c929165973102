import type { Socket } from "node:net"
import * as tls from "node:tls"
import { describe, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { expect } from "vitest"
import type { OpenSocket, SocketCall } from "../src/Egress.ts"
import { Egress } from "../src/Egress.ts"
import type { Policy } from "../src/Policy.ts"
import { openWeb } from "../src/Policy.ts"
import type { Resolver } from "../src/Resolve.ts"
import { certificateFor } from "./Certificate.ts"
import * as LocalServer from "./LocalServer.ts"

const local = { ...openWeb, allow: [{ cidr: "127.0.0.1/32" }] }

const lookup =
  (...addresses: ReadonlyArray<string>): Resolver =>
  () =>
    Effect.succeed(addresses)

const base = { protocol: "postgres:", host: "db.test", port: 5432, isSecure: true, leaving: [] }

/** The next bytes that arrive, as text. */
const next = ({ stream }: OpenSocket) =>
  Effect.callback<string>((resume) => {
    stream.once("data", (chunk: Buffer) => resume(Effect.succeed(chunk.toString())))
  })

const socket = <A, E>(
  call: Partial<SocketCall>,
  use: (socket: OpenSocket) => Effect.Effect<A, E>,
  policy: Partial<Policy> = local,
  resolve: Resolver = lookup("127.0.0.1"),
) =>
  Egress.use((egress) => egress.socket({ ...(base as SocketCall), ...call }, use)).pipe(
    Effect.provide(Egress.layer(policy, resolve)),
  )

/** Why a connection was not made. */
const refusalOf = (call: Partial<SocketCall>, policy?: Partial<Policy>, resolve?: Resolver) =>
  socket(call, () => Effect.void, policy, resolve).pipe(
    Effect.flip,
    Effect.map(({ _tag, message }) => {
      expect(_tag).toBe("EgressRefused")
      return message
    }),
  )

const greeting = (client: Socket) => void client.write("hello")

describe("Egress.socket", () => {
  it.live("connects to an address that is allowed, and carries bytes in both directions", () =>
    Effect.gen(function* () {
      const heard: Array<string> = []
      const { isLeft, port } = yield* LocalServer.tcp((client) => {
        client.write("hello")
        client.on("data", (chunk) => heard.push(chunk.toString()))
      })
      const said = yield* socket({ port, isSecure: false }, (open) =>
        Effect.tap(next(open), () =>
          Effect.callback<void>((resume) => {
            open.stream.end("goodbye", () => resume(Effect.void))
          }),
        ),
      )
      expect(said).toBe("hello")
      yield* isLeft
      expect(heard.join("")).toBe("goodbye")
    }),
  )

  it.live("refuses addresses that are not public, in every spelling", () =>
    Effect.gen(function* () {
      const hosts = [
        "10.0.0.1",
        "127.0.0.1",
        "2130706433",
        "0x7f.1",
        "localhost",
        "169.254.169.254",
        "::1",
        "[::1]",
        "::ffff:10.0.0.1",
        "[::ffff:7f00:1]",
        "64:ff9b::7f00:1",
        "2002:7f00:1::",
        "fd00::1",
      ]
      for (const host of hosts) {
        const message = yield* refusalOf({ host }, openWeb)
        expect(message, host).toBe("The host does not lead to a public address")
      }
    }),
  )

  it.live("refuses a name of which one address is not public", () =>
    Effect.gen(function* () {
      for (const bad of ["127.0.0.1", "::ffff:127.0.0.1", "10.1.2.3"]) {
        const resolve = lookup("93.184.216.34", bad)
        expect(yield* refusalOf({}, openWeb, resolve)).toBe(
          "The host does not lead to a public address",
        )
      }
    }),
  )

  it.live("resolves a name once, and connects to what was judged", () =>
    Effect.gen(function* () {
      const { port } = yield* LocalServer.tcp(greeting)
      let asked = 0
      const rebinding: Resolver = () =>
        Effect.sync(() => (asked++ === 0 ? ["127.0.0.1"] : ["127.0.0.2"]))
      const to = { port, isSecure: false }
      const remote = yield* socket(to, next, local, rebinding)
      expect([remote, asked]).toEqual(["hello", 1])
    }),
  )

  it.live("refuses other ports than those of the protocol, and hosts that are none", () =>
    Effect.gen(function* () {
      const host = "93.184.216.34"
      expect(yield* refusalOf({ host, port: 22 }, openWeb)).toBe("Port 22 may not be called")
      expect(yield* refusalOf({ host, port: 25 }, openWeb)).toBe("Port 25 may not be called")
      expect(yield* refusalOf({ host, port: 5432, protocol: "smtp:" }, openWeb)).toBe(
        "Port 5432 may not be called",
      )
      expect(yield* refusalOf({ host }, {})).toBe("Port 5432 may not be called")
      for (const wrong of [
        "a b",
        "a/b",
        "a:5432",
        "u@h",
        "/tmp/.s.PGSQL",
        "",
        "a?b",
        "a#b",
        "\\\\a",
      ]) {
        expect(yield* refusalOf({ host: wrong }), wrong).toBe("The host or the port cannot be read")
      }
    }),
  )

  it.live("goes without TLS only to networks that are allowed", () =>
    Effect.gen(function* () {
      const sentence = "Without TLS, only networks that the operator allows may be called"
      const plain = { host: "93.184.216.34", isSecure: false }
      expect(yield* refusalOf(plain, openWeb)).toBe(sentence)
      expect(yield* refusalOf(plain, local)).toBe(sentence)
      const isSecure = false
      expect(yield* refusalOf({ isSecure }, local, lookup("93.184.216.34"))).toBe(sentence)
    }),
  )

  it.live("obeys the protocols of an exception", () =>
    Effect.gen(function* () {
      const allow = [{ cidr: "127.0.0.1/32", protocols: ["http:"] as const }]
      expect(yield* refusalOf({ host: "127.0.0.1" }, { ...openWeb, allow })).toBe(
        "The host does not lead to a public address",
      )
    }),
  )

  it.live("sends what may go to some hosts only there, and judges before it looks up", () =>
    Effect.gen(function* () {
      const { port } = yield* LocalServer.tcp(greeting)
      const confined = [
        {
          name: "token",
          mayGoTo: (url: URL) => url.host === `good.test:${port}`,
          occursIn: (text: string) => text.includes("hunter22"),
        },
      ]
      const to = { port, isSecure: false, leaving: ["me", "hunter22"], confined }
      expect(yield* socket({ ...to, host: "GOOD.test" }, next)).toBe("hello")
      let asked = 0
      const counting: Resolver = () => Effect.sync(() => (asked++, ["127.0.0.1"]))
      expect(yield* refusalOf({ ...to, host: "evil.test" }, local, counting)).toBe(
        `The secret "token" may not go to evil.test:${port}`,
      )
      expect(asked).toBe(0)
    }),
  )

  it.live("closes the connection, however its use ends", () =>
    Effect.gen(function* () {
      const server = yield* LocalServer.tcp(greeting)
      const to = { port: server.port, isSecure: false }
      yield* socket(to, () => Effect.void)
      yield* server.isLeft
      yield* Effect.flip(socket(to, () => Effect.fail("no")))
      yield* server.isLeft
      const fiber = yield* Effect.forkChild(
        socket(to, (open) => Effect.andThen(next(open), Effect.never)),
      )
      yield* Effect.callback<void>((resume) => {
        const look = () => (server.connections() === 3 ? resume(Effect.void) : setImmediate(look))
        look()
      })
      yield* Fiber.interrupt(fiber)
      yield* server.isLeft
      expect(server.connections()).toBe(3)
    }),
  )

  it.live("ends a use that takes too long, and one that never gets an answer", () =>
    Effect.gen(function* () {
      const server = yield* LocalServer.tcp(() => {})
      const to = { port: server.port, isSecure: false, timeoutMillis: 50 }
      const error = yield* Effect.flip(socket(to, next))
      expect(error.message).toBe("No complete answer came within 0.05 s")
      yield* server.isLeft
    }),
  )

  it.live("ends a use when more arrives than is allowed", () =>
    Effect.gen(function* () {
      const block = Buffer.alloc(65_536)
      const server = yield* LocalServer.tcp((client) => {
        const more = () => {
          while (client.write(block));
        }
        client.on("drain", more)
        more()
      })
      const to = { port: server.port, isSecure: false }
      let arrived = 0
      const error = yield* Effect.flip(
        socket(to, ({ stream }) => {
          stream.on("data", (chunk: Buffer) => (arrived += chunk.byteLength))
          return Effect.never
        }),
      )
      expect(error.message).toBe(`The answer is larger than ${openWeb.maxBodyBytes} bytes`)
      expect(arrived).toBeLessThanOrEqual(openWeb.maxBodyBytes)
      yield* server.isLeft
    }),
  )

  it.live("fails with one sentence where nobody listens, or the connection breaks", () =>
    Effect.gen(function* () {
      const { port } = yield* Effect.scoped(LocalServer.tcp(greeting))
      const gone = yield* Effect.flip(socket({ port, isSecure: false }, next))
      expect(gone.message).toBe("The server could not be reached")
      const resetting = yield* LocalServer.tcp((client) => client.resetAndDestroy())
      const to = { port: resetting.port, isSecure: false }
      const reset = yield* Effect.flip(socket(to, () => Effect.never))
      expect(reset.message).toBe("The connection was closed before the answer was complete")
    }),
  )

  it.live("survives a listener that throws", () =>
    Effect.gen(function* () {
      const server = yield* LocalServer.tcp(greeting)
      const error = yield* Effect.flip(
        socket({ port: server.port, isSecure: false }, ({ stream }) => {
          stream.on("data", () => {
            throw new TypeError("what is this?")
          })
          return Effect.never
        }),
      )
      expect(error.message).toBe("What the server answers cannot be understood")
      yield* server.isLeft
    }),
  )

  it.live("lets further uses wait while there are as many as allowed", () =>
    Effect.gen(function* () {
      let now = 0
      let most = 0
      const server = yield* LocalServer.tcp(greeting)
      const calls = { atOnce: 9, perOrigin: 2, perAccount: 9, waitingPerAccount: 99 }
      const guard = Egress.layer({ ...local, calls }, lookup("127.0.0.1"))
      const to = { ...(base as SocketCall), port: server.port, isSecure: false }
      const use = (open: OpenSocket) => {
        most = Math.max(most, ++now)
        return Effect.ensuring(
          next(open),
          Effect.sync(() => now--),
        )
      }
      const one = Egress.use((egress) => egress.socket(to, use))
      const all = Effect.all(Array<typeof one>(6).fill(one), { concurrency: "unbounded" })
      expect(yield* Effect.provide(all, guard)).toEqual(Array(6).fill("hello"))
      expect(most).toBe(2)
    }),
  )
})

/** A server that says a word, is asked for TLS by anything, and says another word over it. */
const upgrading = (certificate: { readonly key: string; readonly cert: string }, word = "go") => {
  const names: Array<unknown> = []
  const server = LocalServer.tcp((client) => {
    client.once("data", () => {
      client.write(word)
      const secured = new tls.TLSSocket(client, {
        isServer: true,
        secureContext: tls.createSecureContext(certificate),
        SNICallback: (name, done) => {
          names.push(name)
          done(null)
        },
      })
      // A socket below TLS does not close by itself.
      for (const event of ["error", "end"]) secured.on(event, () => client.destroy())
      secured.write("secret")
    })
  })
  return Effect.map(server, (each) => ({ ...each, names }))
}

const upgraded = (ca: string | undefined) => (open: OpenSocket) =>
  Effect.gen(function* () {
    const { stream } = open
    yield* Effect.callback<void>((resume) => {
      stream.screen = () => {
        stream.screen = (chunk) => chunk
        resume(Effect.void)
        return Buffer.alloc(0)
      }
      stream.write("TLS?")
    })
    yield* open.secure(ca)
    return yield* next(open)
  })

describe("OpenSocket.secure", () => {
  const good = certificateFor("db.test")

  it.live("verifies the certificate for the host's name, and tells the name", () =>
    Effect.gen(function* () {
      const server = yield* upgrading(good)
      expect(yield* socket({ port: server.port }, upgraded(good.cert))).toBe("secret")
      expect(server.names).toEqual(["db.test"])
    }),
  )

  it.live("refuses a certificate for another name, or that nobody vouches for", () =>
    Effect.gen(function* () {
      const server = yield* upgrading(good)
      const { port } = server
      const cases: ReadonlyArray<readonly [host: string, ca: string | undefined]> = [
        ["other.test", good.cert],
        ["127.0.0.1", good.cert],
        ["db.test", undefined],
        ["db.test", certificateFor("db.test").cert],
        ["db.test", "nonsense"],
      ]
      for (const [host, ca] of cases) {
        const error = yield* Effect.flip(socket({ port, host }, upgraded(ca)))
        yield* server.isLeft
        expect(error.message, host).toBe("No secure connection could be made")
      }
      yield* server.isLeft
    }),
  )

  it.live("refuses what is said before TLS as if it was said over it", () =>
    Effect.gen(function* () {
      const server = yield* LocalServer.tcp((client) => {
        client.once("data", () => client.write("injected"))
      })
      const error = yield* Effect.flip(
        socket({ port: server.port }, (open) =>
          Effect.gen(function* () {
            open.stream.write("TLS?")
            yield* Effect.callback<void>((resume) => {
              open.stream.once("readable", () => resume(Effect.void))
            })
            yield* open.secure(good.cert)
          }),
        ),
      )
      expect(error.message).toBe("No secure connection could be made")
    }),
  )
})
