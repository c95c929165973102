/**
 * The interface for operators without a server: the typed client over a function.
 */
import { assert, describe, layer } from "@effect/vitest"
import * as AdminClient from "@millrace/api/AdminClient"
import * as AdminHandler from "@millrace/http/AdminHandler"
import { Effect, Layer, Redacted } from "effect"
import { FetchHttpClient } from "effect/http"
import { services } from "./Harness.ts"

const token = Redacted.make("an operator token that nobody guesses")
const baseUrl = "http://nowhere.invalid"

const clientOver = (handler: (request: Request) => Promise<Response>, shown = token) =>
  AdminClient.make({ baseUrl, token: shown }).pipe(
    Effect.provide(FetchHttpClient.layer),
    Effect.provideService(FetchHttpClient.Fetch, (url, init) => handler(new Request(url, init))),
  )

layer(Layer.fresh(services))((it) => {
  describe("AdminHandler", () => {
    it.effect("answers the typed client, and refuses in the words of a server", () =>
      Effect.gen(function* () {
        const handler = yield* AdminHandler.make(token)
        const fetch: typeof globalThis.fetch = (url, init) => handler(new Request(url, init))
        const { accounts, keys } = yield* clientOver(handler)
        const work = Effect.gen(function* () {
          const { id } = yield* accounts.create({ payload: { name: "Acme" } })
          const { items } = yield* accounts.list()
          assert.deepStrictEqual(
            items.map((each) => each.name),
            ["Acme"],
          )
          const payload = { label: "one", perMinute: 0, perDay: -1 }
          const refused = yield* Effect.flip(keys.create({ params: { id }, payload }))
          assert.strictEqual(refused._tag, "BadRequest")
          assert.match(refused.message, /^perMinute: expected .*; perDay: expected /)
          const none = yield* Effect.flip(accounts.create({ payload: { name: "" } }))
          assert.strictEqual(none.message, "name: expected 1 to 120 characters")
        })
        yield* Effect.provideService(work, FetchHttpClient.Fetch, fetch)
      }),
    )

    it.effect("lets nobody pass without the token, and has no interface of keys", () =>
      Effect.gen(function* () {
        const handler = yield* AdminHandler.make(token)
        const ask = (path: string, bearer: string) =>
          Effect.promise(async () => {
            const headers = { authorization: `Bearer ${bearer}` }
            return (await handler(new Request(baseUrl + path, { headers }))).status
          })
        assert.strictEqual(yield* ask("/api/admin/v1/accounts", "another token"), 401)
        assert.strictEqual(yield* ask("/api/admin/v1/accounts", Redacted.value(token)), 200)
        assert.strictEqual(yield* ask("/api/v1/runs", Redacted.value(token)), 404)
        assert.strictEqual(yield* ask("/readyz", ""), 200)
      }),
    )
  })
})
