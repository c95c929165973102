/**
 * Secrets as operators set, list and remove them; every status that the document names; and that an
 * account's secrets are its own.
 */
import { assert, describe, layer } from "@effect/vitest"
import { AdminApi } from "@millrace/api/AdminApi"
import { Vault } from "@millrace/core/ports/Vault"
import { AdminToken } from "@millrace/http/AdminAuthorization"
import { Effect, Layer, Redacted } from "effect"
import { OpenApi } from "effect/http-api"
import type { Parts } from "./Harness.ts"
import { anyTarget, Harness, servicesWith } from "./Harness.ts"
import type { Document } from "./Operations.ts"
import { operationsOf } from "./Operations.ts"

const token = "an operator token that nobody guesses"
const value = "sk_live_51HxYz"

/** A vault that locks nothing; how one does is not the interface's business. */
const vault = Layer.succeed(Vault, {
  seal: (purpose, text) => Effect.succeed(`${purpose}|${text}`),
  open: (purpose, sealed) => Effect.succeed(sealed.slice(purpose.length + 1)),
  sign: (purpose, text) => Effect.succeed([`${purpose}|${text}`]),
})

const over = (services: Parameters<typeof servicesWith>[0]) =>
  Harness.layerNoDeps.pipe(
    Layer.provideMerge(servicesWith(services)),
    Layer.provide(Layer.succeed(AdminToken, Redacted.make(token))),
  )

const admin = Effect.fnUntraced(function* (method: string, path: string, parts: Parts = {}) {
  const { send } = yield* Harness
  return yield* send(method, `/api/admin/v1${path}`, { key: token, ...parts })
})

const secretsOf = Effect.map(
  admin("POST", "/accounts", { json: { name: "Acme" } }),
  ({ body }) => `/accounts/${body.id as string}/secrets`,
)

const json = { value, hosts: ["api.example.com"] }

const workflow = (text: string) => ({
  name: "Uses it",
  nodes: [{ id: "a", type: "echo", position: { x: 0, y: 0 }, data: { inputs: { text } } }],
  edges: [],
})

layer(over(Layer.merge(anyTarget, vault)))("the operations on secrets", (it) => {
  describe("of an account", () => {
    it.effect("set one, show it without its value, and replace it", () =>
      Effect.gen(function* () {
        const path = yield* secretsOf
        const made = yield* admin("PUT", `${path}/token`, { json })
        assert.strictEqual(made.status, 200, made.text)
        assert.deepInclude(made.body, { name: "token", hosts: json.hosts, lastUsedAt: null })
        const listed = yield* admin("GET", path)
        assert.deepStrictEqual(listed.body.items, [{ ...made.body, usedBy: [] }])
        const next = { value: "sk_live_51Other", hosts: ["*.example.com"] }
        const replaced = yield* admin("PUT", `${path}/token`, { json: next })
        assert.deepInclude(replaced.body, { createdAt: made.body.createdAt, hosts: next.hosts })
        for (const { text } of [made, listed, replaced]) assert.notInclude(text, "sk_live")
      }),
    )

    it.effect("say which workflows of the account name it, also when it is removed", () =>
      Effect.gen(function* () {
        const { send, tenant } = yield* Harness
        const { accountId, key } = yield* tenant()
        const path = `/accounts/${accountId}/secrets`
        yield* admin("PUT", `${path}/token`, { json })
        const drawn = { key, json: workflow("{{ secrets.token }}") }
        const { body } = yield* send("POST", "/api/v1/workflows", drawn)
        const usedBy = [{ workflowId: body.id, workflowName: "Uses it" }]
        assert.deepStrictEqual((yield* admin("GET", path)).body.items[0].usedBy, usedBy)
        const removed = yield* admin("DELETE", `${path}/token`)
        assert.deepInclude(removed.body, { name: "token", usedBy })
        assert.deepStrictEqual((yield* admin("GET", path)).body.items, [])
      }),
    )

    it.effect("refuse what cannot be one in one sentence that does not repeat it", () =>
      Effect.gen(function* () {
        const path = yield* secretsOf
        const bodies: ReadonlyArray<readonly [unknown, string]> = [
          [{ ...json, value: "password" }, "value: expected letters and digits"],
          [{ ...json, value: 4711_0815_4711 }, "value: expected a string"],
          [{ ...json, hosts: [] }, "hosts: expected 1 to 20 hosts"],
          [{ value }, "hosts: is missing"],
        ]
        for (const [body, clause] of bodies) {
          const answer = yield* admin("PUT", `${path}/token`, { json: body })
          assert.strictEqual(answer.status, 400, answer.text)
          assert.include(answer.body.error, clause)
          for (const each of ["password", value, "4711"]) assert.notInclude(answer.text, each)
        }
        const named = yield* admin("PUT", `${path}/no-name`, { json })
        assert.include(named.body.error, "name: expected 1 to 64 letters, digits or _")
        assert.deepStrictEqual((yield* admin("GET", path)).body.items, [])
      }),
    )
  })

  describe("of other accounts", () => {
    it.effect("answer about a foreign secret as about an unknown one, and leave it alone", () =>
      Effect.gen(function* () {
        const [own, foreign] = [yield* secretsOf, yield* secretsOf]
        yield* admin("PUT", `${foreign}/token`, { json })
        const [one, two] = [
          yield* admin("DELETE", `${own}/token`),
          yield* admin("DELETE", `${own}/other`),
        ]
        assert.deepStrictEqual([one.status, two.status], [404, 404])
        assert.strictEqual(one.text.replace("token", "other"), two.text)
        assert.lengthOf((yield* admin("GET", foreign)).body.items, 1)
        assert.deepStrictEqual((yield* admin("GET", own)).body.items, [])
      }),
    )

    it.effect("know no account that there is not, and nobody without the admin token", () =>
      Effect.gen(function* () {
        const { tenant } = yield* Harness
        const { accountId, key } = yield* tenant()
        for (const [method, rest] of [
          ["GET", ""],
          ["PUT", "/token"],
          ["DELETE", "/token"],
        ] as const) {
          const parts = method === "PUT" ? { json } : {}
          const unknown = yield* admin(method, `/accounts/acc_nobody/secrets${rest}`, parts)
          assert.strictEqual(unknown.status, 404, unknown.text)
          const path = `/accounts/${accountId}/secrets${rest}`
          assert.strictEqual((yield* admin(method, path, { ...parts, key })).status, 401)
        }
      }),
    )
  })

  describe("in the document", () => {
    it.effect("have these statuses", () =>
      Effect.sync(() => {
        const document = OpenApi.fromApi(AdminApi) as unknown as Document
        const statuses = operationsOf(document)
          .filter(({ operationId }) => operationId.startsWith("secrets."))
          .map(({ operationId, responses }) => [operationId, Object.keys(responses).join(" ")])
        assert.deepStrictEqual(Object.fromEntries(statuses), {
          "secrets.list": "200 400 401 404 429 500 503",
          "secrets.set": "200 400 401 404 409 413 415 429 500 503",
          "secrets.remove": "200 400 401 404 429 500 503",
        })
      }),
    )
  })
})

layer(over(anyTarget))("the operations on secrets without a master key", (it) => {
  it.effect("say that there is none", () =>
    Effect.gen(function* () {
      const answer = yield* admin("PUT", `${yield* secretsOf}/token`, { json })
      assert.deepStrictEqual(
        [answer.status, answer.headers.get("x-error-code")],
        [503, "vault_closed"],
      )
    }),
  )
})
