/**
 * Mounting the interface, and what it says of itself there.
 */
import { assert, describe, layer } from "@effect/vitest"
import * as WebHandler from "@millrace/http/WebHandler"
import { Effect } from "effect"
import { Harness } from "./Harness.ts"

const ask = Effect.fnUntraced(function* (
  handler: WebHandler.Handler,
  path: string,
  init: RequestInit = {},
) {
  return yield* Effect.promise(() => handler(new Request(`http://localhost${path}`, init)))
})

const jsonOf = (response: Response) =>
  Effect.promise(() => response.json() as Promise<{ id: string; servers: unknown }>)

layer(Harness.layer)("mounting", (it) => {
  describe("WebHandler.make", () => {
    it.effect("answers below a base path, names it in Location, and nothing outside", () =>
      Effect.gen(function* () {
        const { key } = yield* (yield* Harness).tenant()
        const handler = yield* WebHandler.make({ basePath: "/automation/" })
        const made = yield* ask(handler, "/automation/api/v1/workflows", {
          method: "POST",
          body: '{"name":"N"}',
          headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
        })
        assert.strictEqual(made.status, 201)
        const { id } = yield* jsonOf(made)
        const location = made.headers.get("location") ?? ""
        assert.strictEqual(location, `/automation/api/v1/workflows/${id}`)
        const headers = { authorization: `Bearer ${key}` }
        assert.strictEqual((yield* ask(handler, location, { headers })).status, 200)
        assert.strictEqual((yield* ask(handler, "/automation/healthz")).status, 200)
        for (const path of ["/api/v1/workflows", "/healthz", "/automation", "/automationapi/v1"]) {
          assert.strictEqual((yield* ask(handler, path, { headers })).status, 404)
        }
        const wrong = yield* ask(handler, "/automation/api/v1/runs", { method: "PUT" })
        assert.strictEqual(wrong.status, 405)
      }),
    )

    it.effect("can be made several times over the same services, each with its own path", () =>
      Effect.gen(function* () {
        const one = yield* WebHandler.make({ basePath: "/one" })
        const two = yield* WebHandler.make()
        assert.strictEqual((yield* ask(one, "/one/healthz")).status, 200)
        assert.strictEqual((yield* ask(two, "/one/healthz")).status, 404)
        assert.strictEqual((yield* ask(two, "/healthz")).status, 200)
      }),
    )

    it.effect("keeps the query of a request below a base path", () =>
      Effect.gen(function* () {
        const { key } = yield* (yield* Harness).tenant()
        const handler = yield* WebHandler.make({ basePath: "/x" })
        const refused = yield* ask(handler, "/x/api/v1/runs?limit=0", {
          headers: { authorization: `Bearer ${key}` },
        })
        assert.strictEqual(refused.status, 400)
      }),
    )
  })

  describe("Docs.layer", () => {
    it.effect("serves the OpenAPI document without a key, with the base path as server", () =>
      Effect.gen(function* () {
        const { send } = yield* Harness
        const { body, headers, status } = yield* send("GET", "/api/openapi.json")
        assert.strictEqual(status, 200)
        assert.match(headers.get("content-type") ?? "", /^application\/json/)
        assert.strictEqual(body.openapi, "3.1.0")
        assert.deepStrictEqual(body.servers, [{ url: "/" }])
        const mounted = yield* WebHandler.make({ basePath: "/x" })
        const document = yield* jsonOf(yield* ask(mounted, "/x/api/openapi.json"))
        assert.deepStrictEqual(document.servers, [{ url: "/x" }])
      }),
    )

    it.effect("serves a reference page without a key that loads nothing from elsewhere", () =>
      Effect.gen(function* () {
        const { send } = yield* Harness
        const { headers, status, text } = yield* send("GET", "/api/docs")
        assert.strictEqual(status, 200)
        assert.match(headers.get("content-type") ?? "", /^text\/html/)
        assert.match(headers.get("content-security-policy") ?? "", /connect-src 'self'/)
        assert.notMatch(text, /<script[^>]+src=|<link[^>]+href=/)
        assert.include(text, "/api/v1/workflows/{id}/duplicate")
      }),
    )
  })
})
