// What a server that only claims to be a Postgres can do: nothing but fail its node.
import type { Socket } from "node:net"
import { createServer } from "node:net"
import type { AddressInfo } from "node:net"
import * as tls from "node:tls"
import { describe, it } from "@effect/vitest"
import type { JsonObject } from "@millrace/core/domain/Json"
import { Effect } from "effect"
import { afterEach, expect } from "vitest"
import { certificateFor } from "../../egress/test/Certificate.ts"
import { postgresQuery } from "../src/internal/PostgresQuery.ts"
import * as Outbound from "../src/Outbound.ts"
import { failing, run } from "./TestNode.ts"

const guard = Outbound.layer([{ cidr: "127.0.0.1/32" }])

const serve = (onConnection: (client: Socket) => void) => {
  const clients = new Set<Socket>()
  const server = createServer((client) => {
    clients.add(client)
    client.on("error", () => {})
    onConnection(client)
  })
  const listen = Effect.callback<number>((resume) => {
    server.listen(0, "127.0.0.1", () => {
      resume(Effect.succeed((server.address() as AddressInfo).port))
    })
  })
  const close = Effect.sync(() => {
    for (const client of clients) client.destroy()
    server.close()
  })
  return Effect.acquireRelease(listen, () => close)
}

const message = (code: string, ...parts: ReadonlyArray<string | Buffer>) => {
  const body = Buffer.concat(parts.map((part) => Buffer.from(part as string, "latin1")))
  const head = Buffer.alloc(5)
  head.write(code)
  head.writeUInt32BE(body.length + 4, 1)
  return Buffer.concat([head, body])
}

const int32 = (value: number) => {
  const buffer = Buffer.alloc(4)
  buffer.writeInt32BE(value)
  return buffer
}

const inputs = (port: number): JsonObject => ({
  host: "127.0.0.1",
  port,
  database: "shop",
  user: "me",
  password: "hunter22hunter22",
  tls: "off",
  statement: "SELECT 1",
})

/** What a node says of a server that answers the first message with these bytes. */
const saidOf = (...answers: ReadonlyArray<Buffer | string>) => saidWithin(30, answers)

const saidWithin = (timeoutSeconds: number, answers: ReadonlyArray<Buffer | string>) =>
  Effect.gen(function* () {
    const port = yield* serve((client) => {
      client.once("data", () => answers.forEach((answer) => client.write(answer)))
    })
    return yield* failing(postgresQuery, { ...inputs(port), timeoutSeconds })
  }).pipe(Effect.provide(guard))

const signedIn = [message("R", int32(0)), message("Z", "I")]
const unclear = "What the server answers cannot be understood"
const closed = "The connection was closed before the answer was complete"

describe("postgres_query, of a hostile server", () => {
  it.live("fails where nothing is answered, or the connection is closed", () =>
    Effect.gen(function* () {
      expect(yield* saidWithin(1, [])).toBe("No complete answer came within 1 s")
      expect(yield* saidWithin(1, signedIn)).toBe("No complete answer came within 1 s")
      for (const close of ["end", "destroy", "resetAndDestroy"] as const) {
        const port = yield* serve((client) => client.once("data", () => client[close]()))
        const error = yield* Effect.flip(run(postgresQuery, inputs(port)))
        expect([error.message, error.retryable]).toEqual([closed, undefined])
      }
    }).pipe(Effect.provide(guard)),
  )

  it.live("fails where the answer makes no sense", () =>
    Effect.gen(function* () {
      expect(yield* saidOf("HTTP/1.1 400 Bad Request\r\n\r\n")).toBe(unclear)
      expect(yield* saidOf("220 mail.test ESMTP\r\n")).toBe(unclear)
      // An error without an end, on which a reader could wait for ever.
      expect(yield* saidOf(message("E"))).toBe(unclear)
      expect(yield* saidOf(message("E", "SFATAL"))).toBe(unclear)
      expect(yield* saidOf(message("E", "SFATAL\0", "C28000\0"))).toBe(unclear)
      expect(yield* saidOf(message("N", "M"))).toBe(unclear)
      expect(yield* saidOf(Buffer.from([0x45, 0, 0, 0, 0]))).toBe(unclear)
      // An unknown way to sign in, and an authentication without a body.
      expect(yield* saidOf(message("R", int32(99)))).toBe(unclear)
      expect(yield* saidOf(message("R"))).toBe(unclear)
      // Rows that nobody asked for, of columns that nobody named.
      expect(yield* saidOf(message("D", Buffer.from([0xff, 0xff])))).toBe(unclear)
      expect(yield* saidOf(...signedIn, message("D", Buffer.from([0, 1]), int32(-7)))).toBe(unclear)
      expect(yield* saidOf(message("T", Buffer.from([0x7f, 0xff])))).toBe(unclear)
    }),
  )

  it.live("reads no more than it may", () =>
    Effect.gen(function* () {
      const tooMuch = "The answer is larger than 1048576 bytes"
      const block = Buffer.alloc(2_000_000, "x")
      expect(yield* saidOf(message("N", "M", block, "\0\0"))).toBe(tooMuch)
      const head = Buffer.from([0x53, 0x0f, 0xff, 0xff, 0xff])
      expect(yield* saidOf(head, block)).toBe(tooMuch)
      expect(yield* saidOf(Buffer.concat([Buffer.from([0x53, 0x3f]), block]))).toBe(unclear)
      const notices = Array.from({ length: 200_000 }, () => message("N", "Mx\0\0"))
      expect(yield* saidOf(Buffer.concat(notices))).toBe(tooMuch)
    }),
  )

  it.live("does not compute for a server what takes it long", () =>
    Effect.gen(function* () {
      const port = yield* serve((client) => {
        client.once("data", () => {
          client.write(message("R", int32(10), "SCRAM-SHA-256\0\0"))
          client.once("data", (first: Buffer) => {
            const nonce = /r=([^,]+)$/.exec(first.toString())?.[1] ?? ""
            const reply = `r=${nonce}server,s=c2FsdA==,i=2000000000`
            client.write(message("R", int32(11), reply))
          })
        })
      })
      expect(yield* failing(postgresQuery, inputs(port))).toMatch(
        /^The sign-in failed: SASL: .* iteration count 2000000000 exceeds/,
      )
    }).pipe(Effect.provide(guard)),
  )

  it.live("fails with what the server says, in one line and bounded", () =>
    Effect.gen(function* () {
      const text = `bad\r\n\u0007${"x".repeat(9_999)}`
      const said = yield* saidOf(message("E", "SFATAL\0C28P01\0M", text, "\0\0"))
      expect(said).toBe(`The database says: bad ${"x".repeat(496)} (28P01)`)
    }),
  )
})

describe("postgres_query, of what it takes from its process", () => {
  const names = ["PGPASSWORD", "PGOPTIONS", "PGAPPNAME", "PGSSLMODE", "PGSSLNEGOTIATION"]
  afterEach(() => {
    for (const name of names) delete process.env[name]
  })

  it.live("sends nothing of the environment, and no password that it was not given", () =>
    Effect.gen(function* () {
      for (const name of names) process.env[name] = "leak"
      const heard: Array<Buffer> = []
      const port = yield* serve((client) => {
        client.on("data", (chunk) => heard.push(chunk))
        client.once("data", () => {
          client.write(message("R", int32(3)))
          client.once("data", () => client.write(message("E", "SFATAL\0C28P01\0Mno\0\0")))
        })
      })
      const { password: _, ...without } = inputs(port)
      expect(yield* failing(postgresQuery, without)).toBe("The database says: no (28P01)")
      const sent = Buffer.concat(heard).toString("latin1")
      expect(sent).toContain("user\0me\0database\0shop\0application_name\0millrace\0")
      expect(sent).not.toContain("leak")
      expect(sent.endsWith("p\0\0\0\u0005\0")).toBe(true)
    }).pipe(Effect.provide(guard)),
  )
})

describe("postgres_query over TLS", () => {
  const good = certificateFor("db.test")
  const bad = certificateFor("localhost")

  /** A server that answers the request for TLS, and then speaks it, if it said that it does. */
  const secured = (answer: string, certificate = good) =>
    serve((client) => {
      client.once("data", () => {
        client.write(answer)
        const options = { isServer: true, secureContext: tls.createSecureContext(certificate) }
        const inner = new tls.TLSSocket(client, options)
        for (const event of ["error", "end"]) inner.on(event, () => client.destroy())
        inner.once("data", () => inner.write(message("E", "SFATAL\0C28P01\0Msecret hello\0\0")))
      })
    })

  const saidOver = (answer: string, certificate?: typeof good, more: JsonObject = {}) =>
    Effect.gen(function* () {
      const port = yield* secured(answer, certificate)
      const given = { ...inputs(port), tls: "verify", host: "localhost", ...more }
      return yield* failing(postgresQuery, given)
    }).pipe(Effect.provide(guard))

  it.live("speaks to a server whose certificate is good for its host", () =>
    Effect.gen(function* () {
      expect(yield* saidOver("S", bad, { certificates: bad.cert })).toBe(
        "The database says: secret hello (28P01)",
      )
    }),
  )

  it.live("says nothing to one that offers no TLS, or cannot prove who it is", () =>
    Effect.gen(function* () {
      expect(yield* saidOver("N")).toBe("The server offers no TLS")
      expect(yield* saidOver("E")).toBe("The server did not agree to TLS")
      expect(yield* saidOver("S\0")).toBe(unclear)
      expect(yield* saidOver(`S${message("R", int32(3)).toString("latin1")}`)).toBe(unclear)
      const insecure = "No secure connection could be made"
      expect(yield* saidOver("S", bad)).toBe(insecure)
      expect(yield* saidOver("S", good, { certificates: good.cert })).toBe(insecure)
    }),
  )
})
