import { createServer } from "node:https"
import * as tls from "node:tls"
import { describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { afterAll, beforeAll, expect } from "vitest"
import { Egress } from "../src/Egress.ts"
import { certificateFor } from "./Certificate.ts"
import * as LocalServer from "./LocalServer.ts"

const trusted = certificateFor("service.test")
const unknown = certificateFor("service.test")
const before = tls.getCACertificates("default")

beforeAll(() => tls.setDefaultCACertificates([...before, trusted.cert]))
afterAll(() => tls.setDefaultCACertificates(before))

const guard = Egress.layer({ allow: [{ cidr: "127.0.0.1/32" }] }, () =>
  Effect.succeed(["127.0.0.1"]),
)

const get = (url: string) =>
  Egress.use((egress) => egress.request({ method: "GET", url })).pipe(Effect.provide(guard))

/** A server that notes which name each client asked for, before any certificate is judged. */
const secure = (certificate: { readonly key: string; readonly cert: string }) => {
  const names: Array<string> = []
  const SNICallback: NonNullable<tls.TlsOptions["SNICallback"]> = (servername, done) => {
    names.push(servername)
    done(null, tls.createSecureContext(certificate))
  }
  const server = createServer({ ...certificate, SNICallback }, (request, response) => {
    response.end(request.headers.host)
  })
  return Effect.map(LocalServer.listening(server), ({ port }) => ({ port, names }))
}

describe("Egress.request over TLS", () => {
  it.live("names the host to the server and verifies its certificate for that name", () =>
    Effect.gen(function* () {
      const server = yield* secure(trusted)
      const answer = yield* get(`https://service.test:${server.port}/`)
      expect(answer.status).toBe(200)
      expect(Buffer.from(answer.body).toString()).toBe(`service.test:${server.port}`)
      expect(server.names).toEqual(["service.test"])
    }),
  )

  it.live("leaves the dot at the end of a name out of what it names", () =>
    Effect.gen(function* () {
      const server = yield* secure(trusted)
      const answer = yield* get(`https://service.test.:${server.port}/`)
      expect(answer.status).toBe(200)
      expect(server.names).toEqual(["service.test"])
    }),
  )

  it.live("refuses a certificate for another name", () =>
    Effect.gen(function* () {
      const server = yield* secure(trusted)
      for (const host of ["other.test", "127.0.0.1"]) {
        const error = yield* Effect.flip(get(`https://${host}:${server.port}/`))
        expect([error._tag, error.reason]).toEqual(["EgressFailed", "tls"])
        expect(error.message).toBe("No secure connection could be made")
      }
    }),
  )

  it.live("refuses a certificate that nobody vouches for", () =>
    Effect.gen(function* () {
      const server = yield* secure(unknown)
      const error = yield* Effect.flip(get(`https://service.test:${server.port}/`))
      expect(error.reason).toBe("tls")
    }),
  )
})
