/**
 * The console behind a proxy that hides its origin, and called by pages of other origins.
 */
import { assert, layer } from "@effect/vitest"
import { AdminToken } from "@millrace/http/AdminAuthorization"
import type { ConsoleSettings } from "@millrace/http/ConsoleSettings"
import { CurrentConsole, isOrigin, isPublicUrl } from "@millrace/http/ConsoleSettings"
import { Effect, Layer, Redacted } from "effect"
import { TestClock } from "effect/testing"
import { cookieOf, operatorToken, root, signIn, ticketOf, tokenOf } from "./ConsoleScene.ts"
import { Harness, services } from "./Harness.ts"

const over = (settings: Partial<ConsoleSettings>) =>
  Harness.layerNoDeps.pipe(
    Layer.provideMerge(services),
    Layer.provide(Layer.succeed(CurrentConsole, { onLoopback: false, ...settings })),
    Layer.provide(Layer.succeed(AdminToken, Redacted.make(operatorToken))),
  )

layer(over({ publicOrigin: "https://flows.example.com" }))("A console of a public origin", (it) => {
  const hidden = { host: "10.0.0.7:7411" }

  it.effect("believes the settings, and neither Host nor the page, about TLS and origin", () =>
    Effect.gen(function* () {
      const { send, tenant } = yield* Harness
      const { accountId } = yield* tenant()
      // A browser without Sec-Fetch-Site, behind a proxy that puts its own Host.
      const ours = { ...hidden, origin: "https://flows.example.com" }
      const answer = yield* signIn({ ticket: yield* ticketOf(accountId) }, ours)
      assert.match(answer.headers.get("set-cookie") ?? "", /^__Host-millrace=.*; Secure$/)
      const cookie = cookieOf(answer)
      const make = (headers: Record<string, string>) =>
        Effect.map(
          send("POST", `${root}/workflows`, {
            json: { name: "x" },
            headers: { ...headers, cookie },
          }),
          ({ status }) => status,
        )
      assert.strictEqual(yield* make(ours), 201)
      const origins = ["http://flows.example.com", "https://10.0.0.7:7411", "http://10.0.0.7:7411"]
      for (const origin of [...origins, "https://flows.example.com:444"]) {
        assert.strictEqual(yield* make({ ...hidden, origin }), 403, origin)
      }
    }),
  )

  it.effect("tells the whole address of a sign-in link", () =>
    Effect.gen(function* () {
      const { send, tenant } = yield* Harness
      const { accountId } = yield* tenant()
      const json = { accountId }
      const made = yield* send("POST", "/api/admin/v1/sign-in-links", { key: operatorToken, json })
      const { address, ticket } = made.body
      assert.strictEqual(address, `https://flows.example.com/dashboard/login#t=${ticket}`)
      const { key } = yield* tokenOf(accountId, { role: "owner" })
      const wanted = { role: "viewer", kind: "link" }
      const link = yield* send("POST", `${root}/sessions`, { key, json: wanted })
      assert.match(link.body.address, /^https:\/\/flows\.example\.com\/dashboard\/login#t=mrt_/)
    }),
  )

  it.effect("takes no cookie without TLS, which another host of the domain can plant", () =>
    Effect.gen(function* () {
      const { send, tenant } = yield* Harness
      const { key } = yield* tokenOf((yield* tenant()).accountId, { role: "viewer" })
      const statusOf = (name: string) =>
        Effect.map(
          send("GET", `${root}/session`, { headers: { cookie: `${name}=${key}` } }),
          ({ status }) => status,
        )
      assert.strictEqual(yield* statusOf("millrace"), 401)
      assert.strictEqual(yield* statusOf("__Host-millrace"), 200)
    }),
  )
})

const app = "https://app.example.com"

layer(over({ allowedOrigins: [app] }))("A page of an allowed origin", (it) => {
  const preflight = (origin: string, method: string) => ({
    origin,
    "access-control-request-method": method,
    "access-control-request-headers": "authorization,content-type",
  })

  it.effect("may call with the token of a session, and reads every answer, also refusals", () =>
    Effect.gen(function* () {
      const { send, tenant } = yield* Harness
      const owner = yield* tenant()
      const { key } = yield* tokenOf(owner.accountId, { role: "editor" })
      const headers = { origin: app, "sec-fetch-site": "cross-site" }
      const asked = yield* send("OPTIONS", `${root}/workflows/wf_1`, {
        headers: preflight(app, "PATCH"),
      })
      assert.deepStrictEqual([asked.status, asked.text], [204, ""])
      assert.include(asked.headers.get("access-control-allow-methods"), "PATCH")
      const sent = asked.headers.get("access-control-allow-headers") ?? ""
      for (const name of ["authorization", "content-type", "if-match", "last-event-id"]) {
        assert.include(sent.split(", "), name)
      }
      const json = { name: "From a page" }
      const answers = [
        [201, send("POST", `${root}/workflows`, { key, json, headers })],
        [200, send("GET", `${root}/workflows`, { key, headers })],
        [400, send("POST", `${root}/workflows`, { key, json: {}, headers })],
        [401, send("GET", `${root}/workflows`, { headers })],
        [403, send("GET", `${root}/keys`, { key, headers })],
        [404, send("GET", `${root}/runs/run_none`, { key, headers })],
        [404, send("GET", `${root}/nothing`, { key, headers })],
        [405, send("PUT", `${root}/runs`, { key, json: {}, headers })],
        [415, send("POST", `${root}/workflows`, { key, raw: "a=b", headers })],
      ] as const
      for (const [status, sending] of answers) {
        const answer = yield* sending
        assert.strictEqual(answer.status, status, answer.text)
        assert.strictEqual(answer.headers.get("access-control-allow-origin"), app)
        assert.include(answer.headers.get("access-control-expose-headers"), "x-error-code")
        assert.strictEqual(answer.headers.get("vary"), "Origin")
        assert.isNull(answer.headers.get("access-control-allow-credentials"))
      }
      const flood = Array.from({ length: 600 }, () =>
        send("GET", `${root}/session`, { key, headers }),
      )
      const limited = (yield* Effect.all(flood)).at(-1)!
      assert.strictEqual(limited.status, 429)
      assert.strictEqual(limited.headers.get("access-control-allow-origin"), app)
      yield* TestClock.adjust("1 minute")
    }),
  )

  it.effect("changes nothing with a cookie, and signs nobody in", () =>
    Effect.gen(function* () {
      const { send, tenant } = yield* Harness
      const { accountId } = yield* tenant()
      const headers = { origin: app, "sec-fetch-site": "cross-site" }
      const ticket = yield* ticketOf(accountId)
      assert.strictEqual((yield* signIn({ ticket }, headers)).status, 403)
      const cookie = cookieOf(yield* signIn({ ticket }))
      const json = { name: "Planted" }
      const planted = yield* send("POST", `${root}/workflows`, {
        json,
        headers: { ...headers, cookie },
      })
      assert.strictEqual(planted.status, 403)
      assert.strictEqual(planted.headers.get("x-error-code"), "cross_site")
    }),
  )

  it.effect("gets nothing elsewhere, and pages of other origins get nothing at all", () =>
    Effect.gen(function* () {
      const { send, tenant } = yield* Harness
      const owner = yield* tenant()
      const { key } = yield* tokenOf(owner.accountId, { role: "viewer" })
      const answers = [
        send("OPTIONS", "/api/v1/runs", { headers: preflight(app, "GET") }),
        send("GET", "/api/v1/runs", { key: owner.key, headers: { origin: app } }),
        send("OPTIONS", `${root}/runs`, { headers: preflight("https://evil.example", "GET") }),
        send("OPTIONS", `${root}/runs`, { headers: preflight("null", "GET") }),
        send("GET", `${root}/runs`, { key, headers: { origin: "https://app.example.com.evil" } }),
      ]
      const statuses: Array<number> = []
      for (const sending of answers) {
        const { headers, status } = yield* sending
        statuses.push(status)
        const names = [...headers.keys()].filter((name) => name.startsWith("access-control"))
        assert.deepStrictEqual(names, [])
      }
      assert.deepStrictEqual(statuses, [405, 200, 405, 405, 200])
    }),
  )

  it("has an origin as browsers write it", () => {
    const right = ["https://app.example.com", "http://localhost:5173", "https://a.b:8443"]
    for (const text of right) assert.isTrue(isOrigin(text), text)
    const wrong = ["*", "https://*.example.com", "https://a.b/", "https://a.b:443", "a.b", "null"]
    for (const text of [...wrong, "HTTPS://a.b", "ftp://a.b", "", 7]) {
      assert.isFalse(isOrigin(text), String(text))
    }
  })

  it("knows what an address for browsers is", () => {
    const right = ["https://a.b", "https://a.b/", "https://a.b:8443/x/y", "http://localhost:7411/x"]
    for (const text of right) assert.isTrue(isPublicUrl(text), text)
    const wrong = ["a.b", "http://a.b", "https://a.b?x", "https://a.b/x#y", "https://u:p@a.b"]
    for (const text of [...wrong, "https://a.b//x", "https://a.b/x/../y", "ftp://a.b", ""]) {
      assert.isFalse(isPublicUrl(text), text)
    }
  })
})
