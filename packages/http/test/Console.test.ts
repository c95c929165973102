/**
 * The console: who gets in, what each role may do, and what a page of another site cannot do.
 */
import { assert, describe, layer } from "@effect/vitest"
import { ConsoleApi } from "@millrace/api/ConsoleApi"
import { Sessions } from "@millrace/core/engine/Sessions"
import { CurrentConsole } from "@millrace/http/ConsoleSettings"
import { Effect, Fiber, Layer } from "effect"
import { TestClock } from "effect/testing"
import { rules } from "../src/internal/ConsoleRules.ts"
import {
  cookieOf,
  operatorToken,
  ours,
  over,
  root,
  signIn,
  ticketOf,
  tokenOf,
} from "./ConsoleScene.ts"
import { Harness, services } from "./Harness.ts"
import { chain, create } from "./Samples.ts"

layer(over)("Signing in", (it) => {
  it.effect("turns a ticket into a cookie that scripts cannot read, once", () =>
    Effect.gen(function* () {
      const { send, tenant } = yield* Harness
      const { accountId } = yield* tenant()
      const ticket = yield* ticketOf(accountId, { role: "editor" })
      const answer = yield* signIn({ ticket })
      assert.strictEqual(answer.status, 200, answer.text)
      assert.deepInclude(answer.body, { role: "editor", workflows: null })
      assert.deepStrictEqual(answer.body.account, { id: accountId, name: "Test" })
      assert.match(
        answer.headers.get("set-cookie") ?? "",
        /^millrace=mrs_\w{49}; Path=\/; Max-Age=604800; HttpOnly; SameSite=Lax$/,
      )
      const headers = { cookie: cookieOf(answer) }
      const found = yield* send("GET", `${root}/session`, { headers })
      assert.strictEqual(found.body.id, answer.body.id)
      const again = yield* signIn({ ticket })
      assert.strictEqual(again.status, 401)
      assert.strictEqual(again.headers.get("x-error-code"), "ticket_refused")
      assert.isNull(again.headers.get("set-cookie"))
    }),
  )

  it.effect("tells a page who is signed in, and without an error that nobody is", () =>
    Effect.gen(function* () {
      const { send, tenant } = yield* Harness
      const { accountId } = yield* tenant()
      const find = (headers: Record<string, string>) =>
        Effect.map(send("GET", `${root}/sign-in`, { headers }), ({ body, status }) => {
          return [status, body]
        })
      const nobody = { session: null, by: "link" }
      assert.deepStrictEqual(yield* find({}), [200, nobody])
      assert.deepStrictEqual(yield* find({ cookie: "millrace=mrs_nonsense" }), [200, nobody])
      const { key } = yield* tenant()
      assert.deepStrictEqual(yield* find({ authorization: `Bearer ${key}` }), [200, nobody])
      const answer = yield* signIn({ ticket: yield* ticketOf(accountId) })
      const cookie = cookieOf(answer)
      const [, found] = yield* find({ cookie })
      assert.deepStrictEqual(
        { ...found, session: { ...found.session, lastUsedAt: null } },
        { session: { ...answer.body, lastUsedAt: null }, by: "link" },
      )
      // What needs a session is refused as before.
      assert.strictEqual((yield* send("GET", `${root}/session`)).status, 401)
    }),
  )

  it.effect("refuses a ticket that is older than ten minutes, made up, or not alone", () =>
    Effect.gen(function* () {
      const { tenant } = yield* Harness
      const { accountId } = yield* tenant()
      const ticket = yield* ticketOf(accountId)
      yield* TestClock.adjust("10 minutes")
      assert.strictEqual((yield* signIn({ ticket })).status, 401)
      assert.strictEqual((yield* signIn({ ticket: "mrt_nonsense" })).status, 401)
      const { key } = yield* tokenOf(accountId, { role: "owner" })
      assert.strictEqual((yield* signIn({ ticket: key })).status, 401)
      assert.strictEqual((yield* signIn({})).status, 400)
      assert.strictEqual((yield* signIn({ ticket, operatorToken })).status, 400)
    }),
  )

  it.effect("lets one of two win who redeem a ticket at once", () =>
    Effect.gen(function* () {
      const { tenant } = yield* Harness
      const ticket = yield* ticketOf((yield* tenant()).accountId)
      const answers = yield* Effect.all([signIn({ ticket }), signIn({ ticket })], {
        concurrency: 2,
      })
      assert.sameMembers(
        answers.map(({ status }) => status),
        [200, 401],
      )
    }),
  )

  it.effect("ends the session that the browser had before", () =>
    Effect.gen(function* () {
      const { send, tenant } = yield* Harness
      const { accountId } = yield* tenant()
      const first = cookieOf(yield* signIn({ ticket: yield* ticketOf(accountId) }))
      const ticket = yield* ticketOf(accountId)
      const second = cookieOf(yield* signIn({ ticket }, { ...ours, cookie: first }))
      assert.notStrictEqual(first, second)
      const statuses = yield* Effect.forEach([first, second], (cookie) =>
        Effect.map(send("GET", `${root}/session`, { headers: { cookie } }), (each) => each.status),
      )
      assert.deepStrictEqual(statuses, [401, 200])
    }),
  )

  it.effect("marks the cookie Secure over TLS, and needs TLS except on this machine", () =>
    Effect.gen(function* () {
      const { tenant } = yield* Harness
      const { accountId } = yield* tenant()
      const host = { host: "flows.example.com", "sec-fetch-site": "same-origin" }
      const secure = { ...host, origin: "https://flows.example.com" }
      const answer = yield* signIn({ ticket: yield* ticketOf(accountId) }, secure)
      assert.match(answer.headers.get("set-cookie") ?? "", /^__Host-millrace=.*; Secure$/)
      const plain = { ...host, origin: "http://flows.example.com" }
      const refused = yield* signIn({ ticket: yield* ticketOf(accountId) }, plain)
      assert.strictEqual(refused.status, 400)
      assert.include(refused.body.error, "https")
    }),
  )

  it.effect("takes the operator token for a session that acts in the account it names", () =>
    Effect.gen(function* () {
      const { send, tenant } = yield* Harness
      const owner = yield* tenant()
      assert.strictEqual((yield* signIn({ operatorToken: "wrong" })).status, 401)
      const answer = yield* signIn({ operatorToken })
      assert.strictEqual(answer.status, 200, answer.text)
      assert.deepInclude(answer.body, { role: "operator", account: null })
      const cookie = cookieOf(answer)
      const accounts = yield* send("GET", `${root}/operator/accounts`, { headers: { cookie } })
      assert.isTrue(accounts.body.items.some(({ id }: any) => id === owner.accountId))
      const unnamed = yield* send("GET", `${root}/workflows`, { headers: { cookie } })
      assert.strictEqual(unnamed.status, 400)
      const as = (account: string) => ({ cookie, "x-millrace-account": account })
      yield* create(owner, chain)
      const list = yield* send("GET", `${root}/workflows`, { headers: as(owner.accountId) })
      assert.lengthOf(list.body.items, 1)
      const none = yield* send("GET", `${root}/workflows`, { headers: as("acc_none") })
      assert.strictEqual(none.headers.get("x-error-code"), "account_not_found")
    }),
  )

  it.effect("ends with signing out", () =>
    Effect.gen(function* () {
      const { send, tenant } = yield* Harness
      const { accountId } = yield* tenant()
      const cookie = cookieOf(yield* signIn({ ticket: yield* ticketOf(accountId) }))
      const out = yield* send("POST", `${root}/sign-out`, { headers: { ...ours, cookie } })
      assert.strictEqual(out.status, 204)
      assert.include(out.headers.get("set-cookie") ?? "", "Max-Age=0")
      const status = (headers: Record<string, string>) =>
        Effect.map(send("GET", `${root}/session`, { headers }), (each) => each.status)
      assert.strictEqual(yield* status({ cookie }), 401)
    }),
  )
})

layer(over)("A request of the console", (it) => {
  it.effect("is opened by a session and by no API key, which a session never replaces", () =>
    Effect.gen(function* () {
      const { send, tenant } = yield* Harness
      const owner = yield* tenant()
      const { key } = yield* tokenOf(owner.accountId, { role: "viewer" })
      assert.strictEqual((yield* send("GET", `${root}/runs`, { key })).status, 200)
      assert.strictEqual((yield* send("GET", `${root}/runs`, { key: owner.key })).status, 401)
      assert.strictEqual((yield* send("GET", `${root}/runs`)).status, 401)
      assert.strictEqual((yield* send("GET", "/api/v1/runs", { key })).status, 401)
      const cookie = `millrace=${owner.key}`
      assert.strictEqual((yield* send("GET", `${root}/runs`, { headers: { cookie } })).status, 401)
    }),
  )

  it.effect("changes nothing with the cookie from a page of another site", () =>
    Effect.gen(function* () {
      const { send, tenant } = yield* Harness
      const owner = yield* tenant()
      const cookie = cookieOf(yield* signIn({ ticket: yield* ticketOf(owner.accountId) }))
      const foreign = [
        {},
        { origin: "https://evil.example" },
        { "sec-fetch-site": "cross-site", origin: "http://localhost" },
        { "sec-fetch-site": "same-site" },
        { origin: "null" },
        { origin: "http://localhost:81" },
      ]
      for (const headers of foreign) {
        const answer = yield* send("POST", `${root}/workflows`, {
          json: { name: "Planted" },
          headers: { ...headers, cookie },
        })
        assert.strictEqual(answer.status, 403, JSON.stringify(headers))
        assert.strictEqual(answer.headers.get("x-error-code"), "cross_site")
      }
      const form = yield* send("POST", `${root}/workflows`, {
        raw: "name=Planted",
        headers: { ...ours, cookie, "content-type": "application/x-www-form-urlencoded" },
      })
      assert.strictEqual(form.status, 415)
      const list = yield* send("GET", `${root}/workflows`, { headers: { cookie } })
      assert.deepStrictEqual(list.body.items, [])
      const headers = { cookie, origin: "http://localhost" }
      const made = yield* send("POST", `${root}/workflows`, { json: { name: "Mine" }, headers })
      assert.strictEqual(made.status, 201, made.text)
      assert.match(made.headers.get("location") ?? "", /^\/api\/console\/v1\/workflows\/wf_/)
      const crossSignIn = { ...ours, "sec-fetch-site": "cross-site" }
      const ticket = yield* ticketOf(owner.accountId)
      assert.strictEqual((yield* signIn({ ticket }, crossSignIn)).status, 403)
      assert.strictEqual((yield* signIn({ ticket })).status, 200)
    }),
  )

  it.effect("starts runs as the console, whatever the body says", () =>
    Effect.gen(function* () {
      const { send, tenant } = yield* Harness
      const owner = yield* tenant()
      const workflowId = yield* create(owner, chain)
      const { key } = yield* tokenOf(owner.accountId, { role: "editor" })
      const json = { workflowId, values: {}, source: "mcp" }
      const started = yield* send("POST", `${root}/runs`, { key, json })
      assert.strictEqual(started.status, 201, started.text)
      const [run] = (yield* send("GET", `${root}/runs`, { key })).body.items
      assert.strictEqual(run.source, "ui")
    }),
  )

  it.effect("may come 600 times a minute with one session", () =>
    Effect.gen(function* () {
      const { send, tenant } = yield* Harness
      const { accountId } = yield* tenant()
      const { key } = yield* tokenOf(accountId, { role: "viewer" })
      const asked = Array.from({ length: 601 }, () => send("GET", `${root}/session`, { key }))
      const answers = yield* Effect.all(asked)
      assert.strictEqual(answers.filter(({ status }) => status === 200).length, 600)
      const last = answers.at(-1)!
      assert.strictEqual(last.status, 429)
      assert.isAtLeast(Number(last.headers.get("retry-after")), 1)
      yield* TestClock.adjust("1 minute")
      assert.strictEqual((yield* send("GET", `${root}/session`, { key })).status, 200)
    }),
  )
})

layer(over)("A role", (it) => {
  it("is said for every operation of the console", () => {
    const names = (groups: object) =>
      Object.entries(groups).flatMap(([group, operations]) =>
        Object.keys(operations as object).map((name) => `${group}.${name}`),
      )
    const declared = Object.fromEntries(
      Object.entries(ConsoleApi.groups).map(([group, { endpoints }]) => [group, endpoints]),
    )
    assert.sameMembers(names(rules), names(declared))
  })

  it.effect("lets nobody do what a higher one may, and says which one it is", () =>
    Effect.gen(function* () {
      const { send, tenant } = yield* Harness
      const { accountId } = yield* tenant()
      const { key: viewer } = yield* tokenOf(accountId, { role: "viewer" })
      const { key: editor } = yield* tokenOf(accountId, { role: "editor" })
      const { key: owner } = yield* tokenOf(accountId, { role: "owner" })
      for (const [group, { endpoints }] of Object.entries(ConsoleApi.groups)) {
        for (const [name, endpoint] of Object.entries(endpoints)) {
          const { method, path } = endpoint as { readonly method: string; readonly path: string }
          const { role } = (rules as any)[group][name]
          const lower = { editor: [viewer], owner: [viewer, editor] } as Record<string, string[]>
          const keys = role === "operator" ? [viewer, editor, owner] : (lower[role] ?? [])
          for (const key of keys) {
            const json = method === "GET" || method === "DELETE" ? undefined : {}
            const answer = yield* send(method, path.replaceAll(/:\w+/g, "x"), { key, json })
            assert.strictEqual(answer.status, 403, `${group}.${name}: ${answer.text}`)
            assert.include(answer.body.error, `needs the role ${role}`)
          }
        }
      }
    }),
  )

  it.effect("is never above that of the session which makes another one", () =>
    Effect.gen(function* () {
      const { send, tenant } = yield* Harness
      const { accountId } = yield* tenant()
      const { id, key } = yield* tokenOf(accountId, { role: "owner" })
      const make = (json: object) => send("POST", `${root}/sessions`, { key, json })
      const made = yield* make({ role: "viewer", kind: "token", expiresInSeconds: 60 })
      assert.strictEqual(made.status, 201, made.text)
      assert.match(made.body.token, /^mrs_/)
      const longer = yield* make({ role: "viewer", kind: "token", expiresInSeconds: 3_601 })
      assert.strictEqual(longer.headers.get("x-error-code"), "invalid_session")
      const link = yield* make({ role: "owner", kind: "link" })
      assert.match(link.body.ticket, /^mrt_/)
      const parent = yield* send("GET", `${root}/session`, { key })
      assert.strictEqual(link.body.session.expiresAt, parent.body.expiresAt)
      assert.strictEqual((yield* make({ role: "operator", kind: "token" })).status, 400)
      const list = yield* send("GET", `${root}/sessions`, { key })
      assert.lengthOf(list.body.items, 3)
      const ended = yield* send("POST", `${root}/sessions/${made.body.session.id}/revoke`, { key })
      assert.strictEqual(ended.status, 204)
      const refused = yield* send("GET", `${root}/session`, { key: made.body.token })
      assert.strictEqual(refused.status, 401)
      const foreign = yield* tenant()
      const { key: stranger } = yield* tokenOf(foreign.accountId, { role: "owner" })
      const none = yield* send("POST", `${root}/sessions/${id}/revoke`, { key: stranger })
      assert.strictEqual(none.status, 404)
    }),
  )
})

const onLoopback = Harness.layerNoDeps.pipe(
  Layer.provideMerge(services),
  Layer.provide(Layer.succeed(CurrentConsole, { onLoopback: true })),
)

layer(onLoopback)("A console on this machine only", (it) => {
  it.effect("answers no request that names another host", () =>
    Effect.gen(function* () {
      const { send, tenant } = yield* Harness
      const { accountId } = yield* tenant()
      const { key } = yield* tokenOf(accountId, { role: "viewer" })
      const status = (host: string) =>
        Effect.map(send("GET", `${root}/session`, { key, headers: { host } }), (each) => [
          each.status,
          each.headers.get("x-error-code"),
        ])
      for (const host of ["127.0.0.1:7411", "localhost", "[::1]:7411"]) {
        assert.deepStrictEqual(yield* status(host), [200, null])
      }
      const forged = ["evil.example", "127.0.0.1.evil.example", "localhost.evil.example:7411"]
      for (const host of forged) {
        assert.deepStrictEqual(yield* status(host), [403, "wrong_host"])
      }
    }),
  )
})

layer(over)("An operator's token", (it) => {
  it.effect("makes sign-in links, lists sessions and ends them", () =>
    Effect.gen(function* () {
      const { send, tenant } = yield* Harness
      const { accountId } = yield* tenant()
      const admin = "/api/admin/v1"
      const ask = (method: string, path: string, json?: object) =>
        send(method, admin + path, { key: operatorToken, json })
      const link = yield* ask("POST", "/sign-in-links", { accountId, role: "viewer" })
      assert.strictEqual(link.status, 201, link.text)
      const begun = yield* signIn({ ticket: link.body.ticket })
      assert.deepInclude(begun.body, { role: "viewer" })
      const list = yield* ask("GET", `/sessions?accountId=${accountId}`)
      assert.deepStrictEqual(
        list.body.items.map(({ id }: any) => id),
        [begun.body.id],
      )
      const path = `/sessions/${begun.body.id}/revoke`
      assert.strictEqual((yield* ask("POST", path)).status, 404)
      assert.strictEqual((yield* ask("POST", `${path}?accountId=${accountId}`)).status, 204)
      const headers = { cookie: cookieOf(begun) }
      assert.strictEqual((yield* send("GET", `${root}/session`, { headers })).status, 401)
      const none = yield* ask("POST", "/sign-in-links", { accountId: "acc_none" })
      assert.strictEqual(none.status, 404)
      const own = yield* ask("POST", "/sign-in-links", {})
      assert.deepInclude((yield* signIn({ ticket: own.body.ticket })).body, { role: "operator" })
    }),
  )
})

describe("A stream of the console", () => {
  layer(over)((it) => {
    it.effect("ends when its session is revoked", () =>
      Effect.gen(function* () {
        const { handler, send, tenant } = yield* Harness
        const owner = yield* tenant()
        const nodes = [{ id: "wait", type: "hang", position: { x: 0, y: 0 } }]
        const workflowId = yield* create(owner, { name: "Hang", nodes, edges: [] })
        const { id, key } = yield* tokenOf(owner.accountId, { role: "editor" })
        const json = { workflowId, values: {} }
        const { runId } = (yield* send("POST", `${root}/runs`, { key, json })).body
        const request = new Request(`http://localhost${root}/runs/${runId}/events`, {
          headers: { authorization: `Bearer ${key}` },
        })
        const reader = (yield* Effect.promise(() => handler(request))).body!.getReader()
        const first = yield* Effect.promise(() => reader.read())
        assert.include(new TextDecoder().decode(first.value), "snapshot")
        yield* (yield* Sessions).revoke(owner.accountId, id)
        const ended = Effect.promise(async () => {
          while (!(await reader.read()).done);
        })
        const fiber = yield* Effect.forkChild(ended)
        yield* TestClock.adjust("5 seconds")
        yield* Fiber.join(fiber)
        yield* send("POST", `/api/v1/runs/${runId}/cancel`, { key: owner.key })
      }),
    )
  })
})
