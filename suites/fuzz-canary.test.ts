/**
 * A thousand secrets, each in a place where somebody may put one, and then a search for them: in
 * the log, in every answer that is an error, and in every row of the database.
 *
 * What a tenant stores as content is stored in clear, and comes back to that tenant. Everything
 * else must be nowhere.
 */
import { assert, describe, it } from "@effect/vitest"
import { Keys } from "@millrace/core/engine/Keys"
import { Stores } from "@millrace/postgres"
import { Cause, Context, Effect, Layer, Logger, Redacted, References } from "effect"
import { SqlClient } from "effect/sql/SqlClient"
import { randomBytes } from "node:crypto"
import { inspect } from "node:util"
import * as TestPostgres from "../packages/postgres/test/TestPostgres.ts"
import * as LocalServer from "../packages/server/test/LocalServer.ts"

const count = 1_000

/** A text that is nowhere else in the world. */
const canary = () => `canary${randomBytes(12).toString("hex")}`

/** A request that carries a secret where it does not belong, or where it must stay unseen. */
type Leak = (secret: string, key: string, workflowId: string) => readonly [string, RequestInit]

const post = (path: string, key: string, body: unknown, headers = {}) =>
  [
    path,
    {
      method: "POST",
      body: typeof body === "string" ? body : JSON.stringify(body),
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json", ...headers },
    },
  ] as const

const at = { x: 0, y: 0 }

const leaks: ReadonlyArray<Leak> = [
  // As a key, whole or in part, in any scheme.
  (secret) => ["/runs", { headers: { authorization: `Bearer ${secret}` } }],
  (secret) => ["/runs", { headers: { authorization: `Basic ${secret}` } }],
  (secret, key) => ["/runs", { headers: { authorization: `Bearer ${key}${secret}` } }],
  // In the address.
  (secret, key) => [`/runs?limit=${secret}`, { headers: { authorization: `Bearer ${key}` } }],
  (secret, key) => [`/runs?cursor=${secret}`, { headers: { authorization: `Bearer ${key}` } }],
  (secret, key) => [`/runs/${secret}`, { headers: { authorization: `Bearer ${key}` } }],
  (secret, key) => [`/runs/${secret}/events`, { headers: { authorization: `Bearer ${key}` } }],
  (secret, key) => [`/${secret}`, { headers: { authorization: `Bearer ${key}` } }],
  (secret) => [`/runs?token=${secret}`, {}],
  // In other headers.
  (secret, key, workflowId) =>
    post("/runs", key, { workflowId, values: 1 }, { "idempotency-key": secret }),
  (secret, key) => [
    "/runs/run_none/events",
    { headers: { authorization: `Bearer ${key}`, "last-event-id": secret } },
  ],
  (secret, key, workflowId) => [
    `/workflows/${workflowId}`,
    {
      method: "PATCH",
      body: "{}",
      headers: { authorization: `Bearer ${key}`, "if-match": secret },
    },
  ],
  (secret, key) => post("/workflows", key, {}, { "content-type": secret }),
  (secret, key) =>
    post("/workflows", key, {}, { cookie: `session=${secret}`, "x-api-key": secret }),
  // As a value of the wrong form.
  (secret, key) => post("/workflows", key, { name: { secret } }),
  (secret, key) => post("/workflows", key, { name: secret.repeat(9) }),
  (secret, key) => post("/workflows", key, { name: "N", thumbnailUrl: secret }),
  (secret, key) => post("/workflows", key, { name: "N", nodes: secret }),
  (secret, key) => post("/workflows", key, { name: "N", nodes: [{ id: "a", position: secret }] }),
  (secret, key) => post("/workflows", key, { name: "N", description: `${secret}\0` }),
  (secret, key) => post("/workflows", key, `{"name":"${secret}`),
  (secret, key) => post("/workflows", key, `{"name":"N","x":["${secret}",1e999]}`),
  (secret, key, workflowId) => post("/runs", key, { workflowId, source: secret }),
  (secret, key, workflowId) => post("/runs", key, { workflowId, viewport: { x: secret } }),
  (secret, key) => post("/runs", key, { workflowId: secret }),
  (secret, key) => post("/runs/batch", key, { ids: secret }),
  (secret, key, workflowId) =>
    post(`/workflows/${workflowId}/nodes`, key, { nodeType: "switch", inputs: { rules: secret } }),
  (secret, key, workflowId) => post(`/workflows/${workflowId}/nodes`, key, { nodeType: secret }),
  (secret, key, workflowId) =>
    post(`/workflows/${workflowId}/nodes`, key, { nodeType: "constant", mode: secret }),
  (secret, key, workflowId) =>
    post("/runs", key, {
      workflowId,
      nodeOverrides: [
        { id: "a", type: "http_request", position: at, data: { inputs: { url: { secret } } } },
      ],
    }),
  // In fields that nobody knows, beside those that are fine.
  (secret, key) => post("/workflows", key, { name: "N", apiKey: secret }),
  (secret, key, workflowId) => post("/runs", key, { workflowId, password: secret }),
  // For a webhook that is refused.
  (secret, key, workflowId) =>
    post("/runs", key, {
      workflowId,
      webhook: { url: "https://example.com", headers: { authorization: secret }, events: [secret] },
    }),
]

/** All that is logged, whatever it is. */
const recorder = () => {
  const lines: Array<string> = []
  const logger = Logger.make(({ cause, message }) => {
    lines.push(`${inspect(message, { depth: 20 })} ${Cause.pretty(cause)} ${inspect(cause)}`)
  })
  const everything = Layer.succeed(References.MinimumLogLevel, "All")
  return { lines, layer: Layer.merge(Logger.layer([logger]), everything) }
}

const tablesOf = Effect.gen(function* () {
  const sql = yield* SqlClient
  const rows = yield* sql<{ readonly name: string }>`
    SELECT tablename AS name FROM pg_tables WHERE schemaname = current_schema()`
  return rows.map(({ name }) => name)
})

/** Every row of every table as text, and its bytes in hexadecimal digits. */
const dump = Effect.gen(function* () {
  const sql = yield* SqlClient
  const texts = yield* Effect.forEach(yield* tablesOf, (table) =>
    Effect.map(sql<{ readonly row: string }>`SELECT t::text AS row FROM ${sql(table)} t`, (rows) =>
      rows.map(({ row }) => row).join("\n"),
    ),
  )
  return texts.join("\n")
})

/** The places of the secrets that a text contains, in clear or as hexadecimal digits. */
const foundIn = (text: string, secrets: ReadonlyArray<string>) =>
  secrets.flatMap((secret, n) => {
    const isThere = text.includes(secret) || text.includes(Buffer.from(secret).toString("hex"))
    return isThere ? [n % leaks.length] : []
  })

describe("secrets", () => {
  it.live(
    `are in no log, no error and no row: ${count} of them in ${leaks.length} places`,
    () => {
      const { layer, lines } = recorder()
      return Effect.gen(function* () {
        const database = yield* Layer.build(Layer.provideMerge(Stores.layer, TestPostgres.layer))
        const { origin, services, tenant } = yield* LocalServer.start(
          {},
          Layer.succeedContext(database),
        )
        const { accountId, key } = yield* tenant
        const ask = ([path, init]: ReturnType<Leak>) =>
          Effect.promise(async () => {
            const answer = await fetch(`${origin}/api/v1${path}`, init)
            const headers = [...answer.headers].map((pair) => pair.join(": ")).join("\n")
            return { status: answer.status, text: `${headers}\n\n${await answer.text()}` }
          })
        const nodes = [{ id: "a", type: "constant", position: at, data: { inputs: { value: 1 } } }]
        const made = yield* ask(post("/workflows", key, { name: "N", nodes }))
        const [workflowId = ""] = /wf_[\w-]+/.exec(made.text) ?? []

        const secrets = Array.from({ length: count }, canary)
        const statuses = new Map<number, number>()
        const send = Effect.fnUntraced(function* (secret: string, n: number) {
          const { status, text } = yield* ask(leaks[n % leaks.length]!(secret, key, workflowId))
          statuses.set(status, (statuses.get(status) ?? 0) + 1)
          assert.notInclude(text, secret, `place ${n % leaks.length}`)
        })
        // The same places in both halves.
        const half = leaks.length * Math.floor(count / leaks.length / 2)
        yield* Effect.forEach(secrets.slice(0, half).entries(), ([n, each]) => send(each, n))

        // The store breaks, so that errors of the database go to the log as well.
        const sql = Context.get(database, SqlClient)
        yield* sql`ALTER TABLE runs RENAME TO hidden_runs`
        yield* sql`ALTER TABLE workflows RENAME TO hidden_workflows`
        yield* Effect.forEach(secrets.slice(half).entries(), ([n, each]) => send(each, n))
        yield* sql`ALTER TABLE hidden_runs RENAME TO runs`
        yield* sql`ALTER TABLE hidden_workflows RENAME TO workflows`

        // Keys that are good are secrets, too.
        const keys = Context.get(services, Keys)
        const good = yield* Effect.forEach([1, 2, 3, 4, 5, 6, 7, 8, 9], (n) =>
          keys.create(accountId, { label: `Key ${n}` }),
        )
        const goodSecrets = [key, ...good.map(({ secret }) => Redacted.value(secret))]
        for (const each of goodSecrets) yield* ask(["/runs", post("", each, {})[1]])

        const all = [...secrets, ...goodSecrets]
        const rows = yield* Effect.provide(dump, Layer.succeedContext(database))
        assert.include(rows, workflowId)
        assert.deepStrictEqual(foundIn(rows, all), [])
        assert.isAbove(lines.length, 50)
        assert.deepStrictEqual(foundIn(lines.join("\n"), all), [])
        for (const status of [400, 401, 404, 503]) {
          assert.isAbove(statuses.get(status) ?? 0, 10, `${status}`)
        }
      }).pipe(Effect.provide(layer), Effect.scoped)
    },
    560_000,
  )
})
