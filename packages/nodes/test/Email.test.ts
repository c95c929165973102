// Messages to a real SMTP server, as nodes send them, and to servers that are none.
import type { AddressInfo, Socket } from "node:net"
import { createServer } from "node:net"
import { text as textOf } from "node:stream/consumers"
import { describe, it } from "@effect/vitest"
import type { Json, JsonObject } from "@millrace/core/domain/Json"
import { Effect } from "effect"
import type { SMTPServerOptions } from "smtp-server"
import { SMTPServer } from "smtp-server"
import { expect } from "vitest"
import { certificateFor } from "../../egress/test/Certificate.ts"
import { email } from "../src/internal/Email.ts"
import * as Outbound from "../src/Outbound.ts"
import { clauses, failing, run } from "./TestNode.ts"

const guard = Outbound.layer([{ cidr: "127.0.0.1/32" }])

const certificate = certificateFor("localhost")

interface Received {
  readonly from: string
  readonly to: ReadonlyArray<string>
  readonly user: string | undefined
  readonly hello: string
  readonly isSecure: boolean
  readonly raw: string
}

/** A refusal with a status. */
const refusal = (responseCode: number, message: string) =>
  Object.assign(new Error(message), { responseCode })

/** A mail server: its port, and what it has received. */
const mailServer = (options: SMTPServerOptions = {}) => {
  const received: Array<Received> = []
  const server = new SMTPServer({
    ...certificate,
    logger: false,
    authOptional: true,
    onAuth: ({ password, username }, _session, done) =>
      password === "hunter22"
        ? done(null, { user: username })
        : done(refusal(535, "wrong password")),
    onRcptTo: ({ address }, _session, done) => {
      if (address.startsWith("unknown")) return done(refusal(550, "no such user"))
      return address.startsWith("later") ? done(refusal(451, "try later")) : done()
    },
    onMailFrom: ({ address }, _session, done) =>
      address.startsWith("spam") ? done(refusal(553, "not you")) : done(),
    onData: (stream, session, done) => {
      void textOf(stream).then((raw) => {
        const { mailFrom, rcptTo } = session.envelope
        received.push({
          from: mailFrom === false ? "" : mailFrom.address,
          to: rcptTo.map(({ address }) => address),
          user: session.user,
          hello: session.hostNameAppearsAs,
          isSecure: session.secure,
          raw,
        })
        done()
      })
    },
    ...options,
  })
  server.on("error", () => {})
  const listen = Effect.callback<{ port: number; received: Array<Received> }>((resume) => {
    server.listen(0, "127.0.0.1", () => {
      resume(Effect.succeed({ port: (server.server.address() as AddressInfo).port, received }))
    })
  })
  return Effect.acquireRelease(listen, () => Effect.sync(() => server.close()))
}

const base: JsonObject = {
  host: "localhost",
  certificates: certificate.cert,
  from: "Orders <orders@shop.test>",
  to: "ann@example.test",
  subject: "Your order",
  text: "Thank you!",
}

const signIn = { user: "orders", password: "hunter22" }

const send = (inputs: JsonObject) => Effect.provide(run(email, { ...base, ...inputs }), guard)
const refused = (inputs: JsonObject) =>
  Effect.map(Effect.flip(send(inputs)), ({ message, retryable }) => [message, retryable !== false])

describe("email", () => {
  it.live("hands a message to a server over TLS, and puts out who gets it", () =>
    Effect.gen(function* () {
      const { port, received } = yield* mailServer()
      const inputs = {
        port,
        ...signIn,
        to: ["Ann Müller <ann@example.test>", "bob@example.test"],
        cc: "carl@example.test",
        bcc: "dora@example.test",
        replyTo: "help@shop.test",
        subject: "Größe 😀",
        html: "<p>Thank you!</p>",
      }
      const outputs = yield* send(inputs)
      const all = ["ann@example.test", "bob@example.test", "carl@example.test", "dora@example.test"]
      expect(outputs).toEqual({
        accepted: all,
        rejected: [],
        messageId: expect.stringMatching(/^<[0-9a-f]{32}@shop\.test>$/),
      })
      expect(received).toHaveLength(1)
      const [{ raw, ...envelope }] = received as [Received]
      expect(envelope).toEqual({
        from: "orders@shop.test",
        to: all,
        user: "orders",
        hello: "shop.test",
        isSecure: true,
      })
      expect(raw).toMatch(/^From: Orders <orders@shop\.test>\r$/m)
      expect(raw).toMatch(/^To: =\?UTF-8\?[^\r]*<ann@example\.test>, bob@example\.test\r$/m)
      expect(raw).toMatch(/^Reply-To: help@shop\.test\r$/m)
      expect(raw).toMatch(/^Subject: =\?UTF-8\?/m)
      expect(raw).toContain(`Message-ID: ${String(outputs["messageId"])}`)
      expect(raw).not.toMatch(/dora|X-Mailer|nodemailer/i)
      expect(raw).toContain("Thank you!")
      expect(raw).toContain("<p>Thank you!</p>")
    }),
  )

  it.live("has the same Message-ID in every attempt of a node", () =>
    Effect.gen(function* () {
      const { port } = yield* mailServer()
      const one = yield* send({ port })
      expect((yield* send({ port }))["messageId"]).toBe(one["messageId"])
    }),
  )

  it.live("speaks TLS from the first byte where it is told to", () =>
    Effect.gen(function* () {
      const { port, received } = yield* mailServer({ secure: true })
      yield* send({ port, tls: "implicit", ...signIn })
      expect(received.map(({ isSecure, user }) => [isSecure, user])).toEqual([[true, "orders"]])
    }),
  )

  it.live("sends nothing and signs nobody in without TLS, unless it is told to", () =>
    Effect.gen(function* () {
      let said = ""
      const { port, received } = yield* mailServer({
        hideSTARTTLS: true,
        disabledCommands: ["STARTTLS"],
        onAuth: (_auth, _session, done) => {
          said += "auth"
          done(null, { user: "x" })
        },
      })
      const insecure = "No secure connection could be made"
      expect(yield* refused({ port, ...signIn })).toEqual([insecure, true])
      expect([said, received]).toEqual(["", []])
      yield* send({ port, tls: "off" })
      expect(received.map(({ isSecure }) => isSecure)).toEqual([false])
    }),
  )

  it.live("refuses a certificate that is not good for the host", () =>
    Effect.gen(function* () {
      const { port, received } = yield* mailServer()
      const insecure = ["No secure connection could be made", true]
      const other = certificateFor("localhost").cert
      expect(yield* refused({ port, certificates: other })).toEqual(insecure)
      expect(yield* refused({ port, host: "127.0.0.1" })).toEqual(insecure)
      const first = yield* mailServer({ secure: true })
      const implicit = { port: first.port, tls: "implicit", host: "127.0.0.1" }
      expect(yield* refused(implicit)).toEqual(insecure)
      expect([...received, ...first.received]).toEqual([])
    }),
  )

  it.live("says who was not accepted, and whether another attempt can help", () =>
    Effect.gen(function* () {
      const { port, received } = yield* mailServer()
      const some = yield* send({ port, to: ["ann@example.test", "unknown@example.test"] })
      expect(some).toMatchObject({
        accepted: ["ann@example.test"],
        rejected: ["unknown@example.test"],
      })
      expect(yield* refused({ port, to: "unknown@example.test" })).toEqual([
        "The server accepted no recipient: 550 no such user",
        false,
      ])
      expect(yield* refused({ port, to: "later@example.test" })).toEqual([
        "The server accepted no recipient: 451 try later",
        true,
      ])
      expect(yield* refused({ port, from: "spam@shop.test" })).toEqual([
        "The server refused the sender: 553 not you",
        false,
      ])
      expect(yield* refused({ port, ...signIn, password: "wrong" })).toEqual([
        "The server refused the sign-in: 535 wrong password",
        false,
      ])
      expect(received).toHaveLength(1)
    }),
  )

  it.live("signs in or fails, also where a server does not ask", () =>
    Effect.gen(function* () {
      const { port, received } = yield* mailServer({ disabledCommands: ["AUTH"] })
      const [message] = yield* refused({ port, ...signIn })
      expect(message).toMatch(/^The server refused the sign-in: /)
      expect(received).toEqual([])
    }),
  )

  it.live("says when a message is refused", () =>
    Effect.gen(function* () {
      for (const [code, mayHelp] of [
        [554, false],
        [452, true],
      ] as const) {
        const { port } = yield* mailServer({
          onData: (stream, _session, done) => {
            stream.resume()
            stream.on("end", () => done(refusal(code, "too large")))
          },
        })
        expect(yield* refused({ port })).toEqual([
          `The server refused the message: ${code} too large`,
          mayHelp,
        ])
      }
    }),
  )

  it.live("makes no command and no second message of what a text holds", () =>
    Effect.gen(function* () {
      const { port, received } = yield* mailServer()
      const text = "one\r\n.\r\nMAIL FROM:<evil@x.test>\r\n.\r\n..two\n.\nthree"
      yield* send({ port, text })
      expect(received).toHaveLength(1)
      expect(received[0]?.raw).toContain("MAIL FROM:<evil@x.test>")
      expect(received[0]?.raw).toContain("three")
    }),
  )

  it("refuses everything that could become a header, a command or a recipient", () => {
    const check = (port: string, value: Json) => clauses(email, port, value)
    const evil = [
      "a@x.test\r\nBcc: b@x.test",
      "a@x.test\nRCPT TO:<b@x.test>",
      "a@x.test, b@x.test",
      "a@x.test; b@x.test",
      "a@x.test b@x.test",
      "Team: a@x.test, b@x.test;",
      "<a@x.test> <b@x.test>",
      "<a@x.test>, b@x.test",
      "Ann <a@x.test> b@x.test",
      '"b@x.test" <a@x.test>',
      "a@x.test> SIZE=1",
      "a@x.test\0",
      "a@@x.test",
      "a@[127.0.0.1]",
      "@y.test:a@x.test",
      "a@x.test\u0085",
      "a@-x.test",
      "a\u00a0b@x.test",
      "",
      "a",
    ]
    for (const address of evil) {
      for (const port of ["from", "to", "cc", "bcc", "replyTo"]) {
        expect(check(port, address), `${port}: ${address}`).not.toEqual([])
      }
      expect(check("to", ["a@x.test", address]), address).not.toEqual([])
    }
    for (const address of [
      "a@x.test",
      "Ann Müller <ann+x@sub.x.test>",
      "<a@x.test>",
      "ü@müller.test",
    ]) {
      expect(check("to", address), address).toEqual([])
    }
    for (const text of ["a\r\nBcc: b@x.test", "a\nb", "a\rb", "a\0b", "a\u0085b"]) {
      for (const port of ["subject", "user", "password"]) {
        expect(check(port, text), port).toEqual(["expected no line breaks or control characters"])
      }
    }
  })

  it.live("has one to fifty recipients, and something to say", () =>
    Effect.gen(function* () {
      const many = (count: number) => Array.from({ length: count }, (_, n) => `a${n}@x.test`)
      const said = (inputs: JsonObject) => Effect.map(refused(inputs), ([message]) => message)
      expect(yield* said({ to: [] })).toBe("expected a recipient")
      expect(yield* said({ to: many(30), bcc: many(21) })).toBe("expected at most 50 recipients")
      const { text: _, ...silent } = base
      expect(yield* failing(email, silent)).toBe("expected a text or html")
      expect(yield* said({ user: "me" })).toBe("expected a user and a password")
    }).pipe(Effect.provide(guard)),
  )
})

/** What a node says of a server that greets with this, and answers every line with that. */
const saidOf = (greeting: string, answer: (line: string) => string = () => "", more = {}) =>
  Effect.gen(function* () {
    const clients = new Set<Socket>()
    const server = createServer((client) => {
      clients.add(client)
      client.on("error", () => {})
      client.write(greeting)
      client.on("data", (line) => client.write(answer(line.toString())))
    })
    const port = yield* Effect.acquireRelease(
      Effect.callback<number>((resume) => {
        server.listen(0, "127.0.0.1", () => {
          resume(Effect.succeed((server.address() as AddressInfo).port))
        })
      }),
      () =>
        Effect.sync(() => {
          for (const client of clients) client.destroy()
          server.close()
        }),
    )
    return (yield* refused({ port, ...signIn, ...more }))[0]
  })

describe("email, of a hostile server", () => {
  it.live("fails its node, in time and in one sentence", () =>
    Effect.gen(function* () {
      const silent = { timeoutSeconds: 1 }
      expect(yield* saidOf("", undefined, silent)).toBe("No complete answer came within 1 s")
      const tooMuch = /^(?:What the server answers cannot be understood|The answer is larger than)/
      expect(yield* saidOf("220-more\r\n".repeat(200_000))).toMatch(tooMuch)
      expect(yield* saidOf("2".repeat(2_000_000))).toMatch(tooMuch)
      expect(yield* saidOf("HTTP/1.1 400 Bad Request\r\n\r\n")).toMatch(/^The server refused: HTTP/)
      expect(yield* saidOf("554 go away\r\n")).toBe("The server refused: 554 go away")
    }),
  )

  it.live("gets no password when it speaks before TLS, or offers none", () =>
    Effect.gen(function* () {
      let heard = ""
      const answer = (line: string) => {
        heard += line
        if (line.startsWith("EHLO")) return "250-x\r\n250-STARTTLS\r\n250 AUTH PLAIN\r\n"
        return "220 go\r\n250-x\r\n250 AUTH PLAIN\r\n235 ok\r\n"
      }
      const insecure = "No secure connection could be made"
      expect(yield* saidOf("220 x\r\n", answer, { timeoutSeconds: 2 })).toBe(insecure)
      const without = (line: string) => {
        heard += line
        return line.startsWith("EHLO") ? "250-x\r\n250 AUTH PLAIN\r\n" : "502 no\r\n"
      }
      expect(yield* saidOf("220 x\r\n", without)).toBe(insecure)
      expect(heard).not.toMatch(/AUTH|MAIL/)
    }),
  )
})
