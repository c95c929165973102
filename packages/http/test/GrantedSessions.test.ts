/**
 * The console where the sign-in of an application decides who may do what.
 */
import { assert, layer } from "@effect/vitest"
import type { AccountId } from "@millrace/core/domain/Id"
import { WorkflowId } from "@millrace/core/domain/Id"
import type { Granted } from "@millrace/http/ConsoleSettings"
import { CurrentConsole } from "@millrace/http/ConsoleSettings"
import { Effect, Layer } from "effect"
import { ours, root, signIn, ticketOf, tokenOf } from "./ConsoleScene.ts"
import { EventReader } from "./EventReader.ts"
import { Harness, services } from "./Harness.ts"
import { chain, create, endless, start } from "./Samples.ts"

/** What the application grants, by the cookie of its own sign-in. */
const granted = new Map<string, Granted>()

const grantsByCookie = Layer.succeed(CurrentConsole, {
  onLoopback: false,
  grant: (request) => Effect.sync(() => granted.get(request.headers.get("cookie") ?? "") ?? null),
})

const over = Harness.layerNoDeps.pipe(Layer.provideMerge(services), Layer.provide(grantsByCookie))

const as = (cookie: string) => ({ headers: { cookie, ...ours } })

const grantOf = (accountId: AccountId, more: Partial<Granted> = {}): Granted => ({
  accountId,
  role: "editor",
  workflows: null,
  user: null,
  ...more,
})

layer(over)("A console that an application signs people in to", (it) => {
  it.effect("asks the application with every request, also for the role", () =>
    Effect.gen(function* () {
      const { send, tenant } = yield* Harness
      const { accountId } = yield* tenant()
      const ask = (method: string, path: string, json?: object) =>
        send(method, root + path, { ...as("ada"), json })
      assert.strictEqual((yield* ask("GET", "/workflows")).status, 401)
      granted.set("ada", grantOf(accountId))
      const session = yield* ask("GET", "/session")
      assert.deepInclude(session.body, { role: "editor", account: { id: accountId, name: "Test" } })
      assert.strictEqual((yield* ask("GET", "/session")).body.id, session.body.id)
      const made = yield* ask("POST", "/workflows", chain)
      assert.strictEqual(made.status, 201)
      assert.strictEqual((yield* ask("GET", "/keys")).status, 403)
      granted.set("ada", grantOf(accountId, { role: "viewer" }))
      assert.strictEqual((yield* ask("DELETE", `/workflows/${made.body.id}`)).status, 403)
      granted.set("ada", grantOf((yield* tenant()).accountId))
      assert.strictEqual((yield* ask("GET", `/workflows/${made.body.id}`)).status, 404)
      const found = yield* ask("GET", "/sign-in")
      assert.deepInclude(found.body, { by: "application" })
      assert.strictEqual(found.body.session.role, "editor")
      granted.delete("ada")
      assert.deepStrictEqual((yield* ask("GET", "/sign-in")).body, {
        session: null,
        by: "application",
      })
      const after = yield* ask("GET", "/workflows")
      assert.deepStrictEqual(
        [after.status, after.headers.get("x-error-code")],
        [401, "session_refused"],
      )
    }),
  )

  it.effect("shows the granted workflows and no others", () =>
    Effect.gen(function* () {
      const { send, tenant } = yield* Harness
      const owner = yield* tenant()
      const [seen, hidden] = [yield* create(owner, chain), yield* create(owner, chain)]
      const workflows = [WorkflowId.make(seen)]
      granted.set("bob", grantOf(owner.accountId, { workflows }))
      const statusOf = (id: string) =>
        Effect.map(send("GET", `${root}/workflows/${id}`, as("bob")), ({ status }) => status)
      assert.deepStrictEqual([yield* statusOf(seen), yield* statusOf(hidden)], [200, 404])
      const listed = yield* send("GET", `${root}/workflows`, as("bob"))
      assert.lengthOf(listed.body.items, 1)
    }),
  )

  it.effect("refuses changes that another site sends, or that are no JSON", () =>
    Effect.gen(function* () {
      const { send, tenant } = yield* Harness
      granted.set("eve", grantOf((yield* tenant()).accountId))
      const post = (headers: Record<string, string>) =>
        send("POST", `${root}/workflows`, {
          raw: JSON.stringify(chain),
          headers: { "content-type": "application/json", cookie: "eve", ...headers },
        })
      assert.strictEqual((yield* post(ours)).status, 201)
      const refused = [
        {},
        { "sec-fetch-site": "cross-site" },
        { origin: "https://evil.example" },
        { ...ours, "content-type": "text/plain" },
      ]
      for (const headers of refused) {
        const { status } = yield* post(headers)
        assert.include([403, 415], status)
      }
    }),
  )

  it.effect("takes no link and no operator token, and still the tokens of components", () =>
    Effect.gen(function* () {
      const { send, tenant } = yield* Harness
      const { accountId } = yield* tenant()
      const answer = yield* signIn({ ticket: yield* ticketOf(accountId) })
      assert.strictEqual(answer.status, 400)
      assert.match(answer.body.error, /^The application signs people in here/)
      const { key } = yield* tokenOf(accountId, { role: "viewer" })
      const found = yield* send("GET", `${root}/session`, { key })
      assert.deepInclude(found.body, { role: "viewer" })
      // A cookie of a session that was begun before does not count either.
      const cookie = yield* send("GET", `${root}/session`, {
        headers: { cookie: `millrace=${key}` },
      })
      assert.strictEqual(cookie.status, 401)
    }),
  )

  it.effect("makes sessions that end soon after what the application grants", () =>
    Effect.gen(function* () {
      const { send, tenant } = yield* Harness
      granted.set("own", grantOf((yield* tenant()).accountId, { role: "owner" }))
      const make = (expiresInSeconds: number) => {
        const json = { role: "editor", kind: "token", expiresInSeconds }
        return send("POST", `${root}/sessions`, { ...as("own"), json })
      }
      assert.strictEqual((yield* make(900)).status, 201)
      assert.strictEqual((yield* make(901)).status, 400)
    }),
  )

  it.effect("ends streams that the application does not grant any more, and no others", () =>
    Effect.gen(function* () {
      const { handler, send, tenant } = yield* Harness
      const owner = yield* tenant()
      const runId = yield* start(owner, yield* create(owner, endless))
      for (const user of ["one", "two"]) granted.set(user, grantOf(owner.accountId, { user }))
      const follow = (cookie: string) =>
        Effect.promise(async () => {
          const url = `http://localhost${root}/runs/${runId}/events`
          return new EventReader(await handler(new Request(url, { headers: { cookie } })))
        })
      const [one, two] = [yield* follow("one"), yield* follow("two")]
      granted.delete("one")
      while ((yield* one.next(1_000, 20)) !== undefined);
      while ((yield* two.next(1_000, 2)) !== undefined);
      assert.deepStrictEqual([one.hasEnded, two.hasEnded], [true, false])
      yield* two.close
      yield* send("POST", `/api/v1/runs/${runId}/cancel`, { key: owner.key })
    }),
  )
})
