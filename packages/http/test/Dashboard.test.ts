/**
 * How the files of the dashboard are sent, wherever it is mounted.
 */
import { assert, describe, layer } from "@effect/vitest"
import { CurrentConsole, isFrameOrigin } from "@millrace/http/ConsoleSettings"
import { DashboardFiles } from "@millrace/http/Dashboard"
import * as WebHandler from "@millrace/http/WebHandler"
import { Effect, Layer } from "effect"
import { Harness } from "./Harness.ts"

const encoder = new TextEncoder()

const fileOf = (text: string, contentType: string) => ({
  bytes: encoder.encode(text),
  gzip: encoder.encode("compressed"),
  contentType,
})

const page = '<base href="__BASE__" /><meta property="csp-nonce" nonce="__NONCE__" />'

const files = new Map([
  ["index.html", fileOf(page, "text/html; charset=utf-8")],
  ["assets/app-1.js", fileOf("start()", "text/javascript; charset=utf-8")],
])

const withFiles = Layer.succeed(DashboardFiles, (path) => Effect.succeed(files.get(path)))

const ask = (handler: WebHandler.Handler, path: string, headers: Record<string, string> = {}) =>
  Effect.promise(() => handler(new Request(`http://localhost${path}`, { headers })))

const textOf = (response: Response) => Effect.promise(() => response.text())

/** Where the base of a page leads that was asked for at this address. */
const baseOf = (address: string, html: string): string =>
  new URL(/href="([^"]+)"/.exec(html)![1]!, `http://localhost${address}`).pathname

layer(Harness.layer)("the dashboard", (it) => {
  describe("at any base path", () => {
    for (const basePath of ["", "/a/b"]) {
      it.effect(`has pages whose base is the dashboard, mounted at "${basePath}"`, () =>
        Effect.gen(function* () {
          const handler = yield* WebHandler.make({ basePath }).pipe(Effect.provide(withFiles))
          for (const path of ["/", "/runs", "/runs/run_1", "/workflows/w/x"]) {
            const address = `${basePath}/dashboard${path}`
            const answer = yield* ask(handler, address)
            assert.strictEqual(answer.status, 200)
            assert.strictEqual(baseOf(address, yield* textOf(answer)), `${basePath}/dashboard/`)
          }
          const short = yield* ask(handler, `${basePath}/dashboard`)
          const to = new URL(short.headers.get("location")!, `http://x${basePath}/dashboard`)
          assert.deepStrictEqual([short.status, to.pathname], [302, `${basePath}/dashboard/`])
        }),
      )
    }
  })

  it.effect("gives each page a nonce of its own and lets nothing of other origins in", () =>
    Effect.gen(function* () {
      const handler = yield* WebHandler.make().pipe(Effect.provide(withFiles))
      const nonces = new Set<string>()
      for (let count = 0; count < 3; count++) {
        const answer = yield* ask(handler, "/dashboard/runs")
        const nonce = /nonce="([^"]+)"/.exec(yield* textOf(answer))![1]!
        nonces.add(nonce)
        assert.strictEqual(
          answer.headers.get("content-security-policy"),
          `default-src 'none'; script-src 'self'; style-src 'self' 'nonce-${nonce}'; ` +
            "connect-src 'self'; img-src 'self' data:; base-uri 'self'; form-action 'self'; " +
            "frame-ancestors 'none'",
        )
        assert.strictEqual(answer.headers.get("referrer-policy"), "no-referrer")
        assert.strictEqual(answer.headers.get("cache-control"), "no-store")
      }
      assert.strictEqual(nonces.size, 3)
    }),
  )

  it.effect("may be framed by the origins of the settings, and by no others", () =>
    Effect.gen(function* () {
      const frameAncestors = ["https://app.example.com", "https://*.example.org"]
      const handler = yield* WebHandler.make().pipe(
        Effect.provide(withFiles),
        Effect.provideService(CurrentConsole, { onLoopback: false, frameAncestors }),
      )
      const { headers } = yield* ask(handler, "/dashboard/")
      assert.include(
        headers.get("content-security-policy"),
        "; frame-ancestors 'self' https://app.example.com https://*.example.org",
      )
      const refused = ["*", "'none'", "app.example.com", "https://a.b/c", "https://a;b", "https://"]
      for (const text of [...refused, "https://a.b https://c.d", "javascript:alert(1)", 7]) {
        assert.isFalse(isFrameOrigin(text), String(text))
      }
    }),
  )

  it.effect("sends files with a hash in their name compressed, to be kept for good", () =>
    Effect.gen(function* () {
      const handler = yield* WebHandler.make().pipe(Effect.provide(withFiles))
      const gzip = { "accept-encoding": "br, gzip" }
      const small = yield* ask(handler, "/dashboard/assets/app-1.js", gzip)
      assert.strictEqual(small.headers.get("content-encoding"), "gzip")
      assert.strictEqual(yield* textOf(small), "compressed")
      assert.strictEqual(small.headers.get("content-type"), "text/javascript; charset=utf-8")
      assert.match(small.headers.get("cache-control")!, /immutable/)
      const refused = { "accept-encoding": "gzip;q=0" }
      const plain = yield* ask(handler, "/dashboard/assets/app-1.js", refused)
      assert.strictEqual(plain.headers.get("content-encoding"), null)
      assert.strictEqual(yield* textOf(plain), "start()")
      assert.strictEqual((yield* ask(handler, "/dashboard/assets/none.js")).status, 404)
    }),
  )

  it.effect("is not there without its files", () =>
    Effect.gen(function* () {
      const handler = yield* WebHandler.make()
      assert.strictEqual((yield* ask(handler, "/dashboard/")).status, 404)
    }),
  )
})
