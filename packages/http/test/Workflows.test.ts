/**
 * The operations on workflows, one block each (specification 2.1 to 2.3, 2.7 and 4.1 to 4.4).
 */
import { assert, describe, layer } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import type { Tenant } from "./Harness.ts"
import { Harness } from "./Harness.ts"
import { chain, create, finish, hello } from "./Samples.ts"

const workflowFields = [
  "description",
  "edges",
  "id",
  "name",
  "nodes",
  "settings",
  "thumbnailUrl",
  "updatedAt",
]

const fieldsOf = (value: object) => Object.keys(value).toSorted()

const patch = Effect.fnUntraced(function* (
  { key }: Tenant,
  id: string,
  json: unknown,
  headers: Record<string, string> = {},
) {
  const { send } = yield* Harness
  return yield* send("PATCH", `/api/v1/workflows/${id}`, { key, json, headers })
})

const get = Effect.fnUntraced(function* ({ key }: Tenant, id: string) {
  const { send } = yield* Harness
  return yield* send("GET", `/api/v1/workflows/${id}`, { key })
})

layer(Harness.layer)("workflows", (it) => {
  describe("POST /v1/workflows", () => {
    it.effect("answers 201 with exactly the fields of a workflow, Location and ETag", () =>
      Effect.gen(function* () {
        const { send, tenant } = yield* Harness
        const { key } = yield* tenant()
        const made = yield* send("POST", "/api/v1/workflows", { key, json: chain })
        assert.strictEqual(made.status, 201)
        assert.deepStrictEqual(fieldsOf(made.body), workflowFields)
        assert.strictEqual(made.headers.get("location"), `/api/v1/workflows/${made.body.id}`)
        assert.strictEqual(made.headers.get("etag"), `"1"`)
        const { id, updatedAt, ...content } = made.body
        assert.match(id, /^wf_/)
        assert.match(updatedAt, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
        assert.deepStrictEqual(content, { ...chain, settings: {} })
      }),
    )

    it.effect("needs a name only; the rest is null or empty", () =>
      Effect.gen(function* () {
        const { send, tenant } = yield* Harness
        const { key } = yield* tenant()
        const { body } = yield* send("POST", "/api/v1/workflows", { key, json: { name: "N" } })
        const { description, edges, nodes, thumbnailUrl } = body
        assert.deepStrictEqual(
          { description, edges, nodes, thumbnailUrl },
          { description: null, edges: [], nodes: [], thumbnailUrl: null },
        )
      }),
    )

    it.effect("refuses a body without a name with 400", () =>
      Effect.gen(function* () {
        const { send, tenant } = yield* Harness
        const { key } = yield* tenant()
        const refused = yield* send("POST", "/api/v1/workflows", { key, json: {} })
        assert.strictEqual(refused.status, 400)
        assert.deepStrictEqual(refused.body, { error: "name: is missing" })
        assert.strictEqual(refused.headers.get("x-error-code"), "invalid_request")
      }),
    )

    it.effect("refuses a cycle and a dangling edge with 400 and names both", () =>
      Effect.gen(function* () {
        const { send, tenant } = yield* Harness
        const { key } = yield* tenant()
        const node = (id: string) => ({ id, type: "echo", position: { x: 0, y: 0 } })
        const refused = yield* send("POST", "/api/v1/workflows", {
          key,
          json: {
            name: "Bad",
            nodes: [node("a"), node("b")],
            edges: [
              { id: "e1", source: "a", target: "b" },
              { id: "e2", source: "b", target: "a" },
              { id: "e3", source: "a", target: "gone" },
            ],
          },
        })
        assert.strictEqual(refused.status, 400)
        assert.deepStrictEqual(fieldsOf(refused.body), ["error"])
        assert.match(refused.body.error, /a -> b -> a/)
        assert.match(refused.body.error, /gone/)
        assert.strictEqual(refused.headers.get("x-error-code"), "invalid_graph")
      }),
    )

    it.effect("drops fields that are not a client's to set", () =>
      Effect.gen(function* () {
        const { send, tenant } = yield* Harness
        const { key } = yield* tenant()
        const { body } = yield* send("POST", "/api/v1/workflows", {
          key,
          json: { name: "N", id: "wf_mine", accountId: "acc_other", revision: 9, updatedAt: "x" },
        })
        assert.notStrictEqual(body.id, "wf_mine")
        assert.deepStrictEqual(fieldsOf(body), workflowFields)
        assert.strictEqual(
          (yield* send("GET", `/api/v1/workflows/${body.id}`, { key })).status,
          200,
        )
      }),
    )

    it.effect("keeps a node's data as it was given, whatever it is", () =>
      Effect.gen(function* () {
        const { tenant } = yield* Harness
        const owner = yield* tenant()
        const data = JSON.parse(
          '{"__proto__":{"polluted":1},"z":1,"a":[null,1e300,-0.5],' +
            '"b":"\\u0000\\ud800","constructor":{}}',
        )
        const nodes = [
          { id: "n", type: "unknown to everyone", position: { x: -1.5, y: 2 }, data },
          { id: "m", type: "echo", position: { x: 0, y: 0 }, data: null },
          { id: "o", type: "echo", position: { x: 0, y: 0 } },
        ]
        const id = yield* create(owner, { name: "Opaque", nodes })
        const { body } = yield* get(owner, id)
        assert.strictEqual(JSON.stringify(body.nodes), JSON.stringify(nodes))
        assert.isUndefined((Object.prototype as Record<string, unknown>)["polluted"])
      }),
    )
  })

  describe("GET /v1/workflows/{id}", () => {
    it.effect("answers 200 with exactly the fields of a workflow and its ETag", () =>
      Effect.gen(function* () {
        const { tenant } = yield* Harness
        const owner = yield* tenant()
        const id = yield* create(owner, chain)
        const { body, headers, status } = yield* get(owner, id)
        assert.strictEqual(status, 200)
        assert.deepStrictEqual(fieldsOf(body), workflowFields)
        assert.strictEqual(headers.get("etag"), `"1"`)
      }),
    )

    it.effect("answers 404 for an unknown id", () =>
      Effect.gen(function* () {
        const { tenant } = yield* Harness
        const { body, headers, status } = yield* get(yield* tenant(), "wf_none")
        assert.strictEqual(status, 404)
        assert.deepStrictEqual(body, { error: "The workflow does not exist" })
        assert.strictEqual(headers.get("x-error-code"), "workflow_not_found")
      }),
    )

    it.effect("answers 404 for an id of any length", () =>
      Effect.gen(function* () {
        const { tenant } = yield* Harness
        const { headers, status } = yield* get(yield* tenant(), "x".repeat(2_000))
        assert.strictEqual(status, 404)
        assert.strictEqual(headers.get("x-error-code"), "workflow_not_found")
      }),
    )

    it.effect("refuses an id with NUL with 400", () =>
      Effect.gen(function* () {
        const { tenant } = yield* Harness
        const { body, status } = yield* get(yield* tenant(), "wf%00")
        assert.strictEqual(status, 400)
        assert.deepStrictEqual(body, { error: "id: expected text without NUL or lone surrogates" })
      }),
    )
  })

  describe("PATCH /v1/workflows/{id}", () => {
    it.effect("sets the given fields and leaves the others", () =>
      Effect.gen(function* () {
        const { tenant } = yield* Harness
        const owner = yield* tenant()
        const id = yield* create(owner, chain)
        yield* TestClock.adjust("1 second")
        const before = (yield* get(owner, id)).body
        const { body, headers, status } = yield* patch(owner, id, {
          name: "New",
          description: null,
        })
        assert.strictEqual(status, 200)
        assert.strictEqual(headers.get("etag"), `"2"`)
        const { updatedAt, ...content } = body
        assert.notStrictEqual(updatedAt, before.updatedAt)
        assert.deepStrictEqual(content, {
          ...chain,
          id,
          name: "New",
          description: null,
          settings: {},
        })
      }),
    )

    it.effect("changes nothing with an empty object, an empty body or equal content", () =>
      Effect.gen(function* () {
        const { send, tenant } = yield* Harness
        const owner = yield* tenant()
        const id = yield* create(owner, chain)
        const before = yield* get(owner, id)
        yield* TestClock.adjust("1 second")
        const path = `/api/v1/workflows/${id}`
        const answers = [
          yield* patch(owner, id, {}),
          yield* send("PATCH", path, { key: owner.key }),
          yield* patch(owner, id, { name: chain.name, nodes: chain.nodes, edges: chain.edges }),
        ]
        for (const answer of answers) {
          assert.strictEqual(answer.status, 200)
          assert.deepStrictEqual(answer.body, before.body)
          assert.strictEqual(answer.headers.get("etag"), `"1"`)
        }
      }),
    )

    it.effect("replaces nodes and edges whole", () =>
      Effect.gen(function* () {
        const { tenant } = yield* Harness
        const owner = yield* tenant()
        const id = yield* create(owner, chain)
        const { body } = yield* patch(owner, id, { nodes: hello.nodes, edges: [] })
        assert.deepStrictEqual(body.nodes, hello.nodes)
        assert.deepStrictEqual(body.edges, [])
      }),
    )

    it.effect("names every problem of the form at once with 400, and changes nothing", () =>
      Effect.gen(function* () {
        const { tenant } = yield* Harness
        const owner = yield* tenant()
        const id = yield* create(owner, chain)
        const { body, status } = yield* patch(owner, id, {
          name: "",
          description: "x".repeat(5_001),
          thumbnailUrl: "javascript:alert(1)",
          nodes: [{ id: "a", type: "echo", position: { x: "left", y: 0 } }],
          edges: [{ id: "e", source: 1, target: "b" }],
        })
        assert.strictEqual(status, 400)
        assert.deepStrictEqual(body, {
          error:
            "name: expected a length of at least 1; " +
            "description: expected a length of at most 5000; " +
            "thumbnailUrl: expected an http(s) URL of at most 2048 characters, or " +
            "data:image/png, jpeg or webp;base64 of at most 32768; " +
            "nodes[0].position.x: expected a number; " +
            "edges[0].source: expected a string",
        })
        assert.strictEqual((yield* get(owner, id)).headers.get("etag"), `"1"`)
      }),
    )

    it.effect("takes a name of 120 characters and refuses one of 121", () =>
      Effect.gen(function* () {
        const { tenant } = yield* Harness
        const owner = yield* tenant()
        const id = yield* create(owner, hello)
        assert.strictEqual((yield* patch(owner, id, { name: "n".repeat(120) })).status, 200)
        const refused = yield* patch(owner, id, { name: "n".repeat(121) })
        assert.strictEqual(refused.status, 400)
        assert.strictEqual(refused.body.error, "name: expected a length of at most 120")
      }),
    )

    it.effect("refuses NUL and lone surrogates in text with 400", () =>
      Effect.gen(function* () {
        const { tenant } = yield* Harness
        const owner = yield* tenant()
        const id = yield* create(owner, hello)
        for (const json of [{ name: "a\0" }, { description: "\ud800" }]) {
          assert.strictEqual((yield* patch(owner, id, json)).status, 400)
        }
      }),
    )

    it.effect("does not accept null for a name, nor undefined fields as a change", () =>
      Effect.gen(function* () {
        const { tenant } = yield* Harness
        const owner = yield* tenant()
        const id = yield* create(owner, hello)
        const { body, status } = yield* patch(owner, id, { name: null })
        assert.strictEqual(status, 400)
        assert.strictEqual(body.error, "name: expected a string")
      }),
    )

    it.effect("refuses an outdated If-Match with 412 and takes the current one", () =>
      Effect.gen(function* () {
        const { tenant } = yield* Harness
        const owner = yield* tenant()
        const id = yield* create(owner, hello)
        const tag = (yield* get(owner, id)).headers.get("etag") ?? ""
        const first = yield* patch(owner, id, { name: "First" }, { "if-match": tag })
        assert.strictEqual(first.status, 200)
        const second = yield* patch(owner, id, { name: "Second" }, { "if-match": tag })
        assert.strictEqual(second.status, 412)
        assert.deepStrictEqual(fieldsOf(second.body), ["error"])
        assert.strictEqual(second.headers.get("x-error-code"), "revision_mismatch")
        assert.strictEqual((yield* get(owner, id)).body.name, "First")
      }),
    )

    it.effect("treats * as any revision, a foreign or weak tag as none, and a list as 400", () =>
      Effect.gen(function* () {
        const { tenant } = yield* Harness
        const owner = yield* tenant()
        const id = yield* create(owner, hello)
        const statusWith = (tag: string) =>
          Effect.map(patch(owner, id, {}, { "if-match": tag }), ({ status }) => status)
        assert.strictEqual(yield* statusWith("*"), 200)
        assert.strictEqual(yield* statusWith(`"abc"`), 412)
        assert.strictEqual(yield* statusWith(`W/"1"`), 412)
        assert.strictEqual(yield* statusWith(`"1", "2"`), 400)
        assert.strictEqual(yield* statusWith("1"), 400)
      }),
    )

    it.effect("answers 404 for an unknown id, with If-Match too", () =>
      Effect.gen(function* () {
        const { tenant } = yield* Harness
        const owner = yield* tenant()
        assert.strictEqual((yield* patch(owner, "wf_none", { name: "N" })).status, 404)
        const matched = yield* patch(owner, "wf_none", { name: "N" }, { "if-match": `"1"` })
        assert.strictEqual(matched.status, 404)
      }),
    )
  })

  describe("DELETE /v1/workflows/{id}", () => {
    it.effect("answers 204 without a body, then 404; its runs stay", () =>
      Effect.gen(function* () {
        const { send, tenant } = yield* Harness
        const owner = yield* tenant()
        const { key } = owner
        const id = yield* create(owner, hello)
        const runId = yield* finish(owner, id)
        const gone = yield* send("DELETE", `/api/v1/workflows/${id}`, { key })
        assert.strictEqual(gone.status, 204)
        assert.strictEqual(gone.text, "")
        assert.strictEqual((yield* get(owner, id)).status, 404)
        assert.strictEqual((yield* send("DELETE", `/api/v1/workflows/${id}`, { key })).status, 404)
        assert.strictEqual((yield* send("GET", `/api/v1/runs/${runId}`, { key })).status, 200)
      }),
    )
  })

  describe("POST /v1/workflows/{id}/duplicate", () => {
    it.effect("answers 201 with the same content under a new id and name", () =>
      Effect.gen(function* () {
        const { send, tenant } = yield* Harness
        const owner = yield* tenant()
        const id = yield* create(owner, chain)
        const path = `/api/v1/workflows/${id}/duplicate`
        const { body, headers, status } = yield* send("POST", path, { key: owner.key })
        assert.strictEqual(status, 201)
        assert.deepStrictEqual(fieldsOf(body), workflowFields)
        assert.notStrictEqual(body.id, id)
        assert.strictEqual(headers.get("location"), `/api/v1/workflows/${body.id}`)
        assert.strictEqual(headers.get("etag"), `"1"`)
        const { id: _, updatedAt: __, ...content } = body
        assert.deepStrictEqual(content, { ...chain, name: "Chain (copy)", settings: {} })
      }),
    )

    it.effect("answers 404 for an unknown id", () =>
      Effect.gen(function* () {
        const { send, tenant } = yield* Harness
        const { key } = yield* tenant()
        const { status } = yield* send("POST", "/api/v1/workflows/wf_none/duplicate", { key })
        assert.strictEqual(status, 404)
      }),
    )
  })

  describe("GET /v1/workflows", () => {
    it.effect(
      "answers 200 with items that have nodeCount and revision, and no nodes and edges",
      () =>
        Effect.gen(function* () {
          const { send, tenant } = yield* Harness
          const owner = yield* tenant()
          const id = yield* create(owner, chain)
          const { body, status } = yield* send("GET", "/api/v1/workflows", { key: owner.key })
          assert.strictEqual(status, 200)
          const [{ updatedAt, ...item }] = body.items
          assert.isString(updatedAt)
          assert.deepStrictEqual(item, {
            id,
            name: chain.name,
            description: chain.description,
            thumbnailUrl: chain.thumbnailUrl,
            nodeCount: 2,
            revision: 1,
          })
          assert.deepStrictEqual(fieldsOf(body), ["items", "nextCursor"])
          assert.isNull(body.nextCursor)
        }),
    )
  })
})
