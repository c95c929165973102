/**
 * The operations on runs, one block each (specification 2.4 to 2.6 and 4.5 to 4.8).
 */
import { assert, describe, layer } from "@effect/vitest"
import { Effect } from "effect"
import type { Tenant } from "./Harness.ts"
import { Harness } from "./Harness.ts"
import { chain, create, endless, failing, finish, hello, start } from "./Samples.ts"

const fieldsOf = (value: object) => Object.keys(value).toSorted()

const sorted = (names: string) => names.split(" ").toSorted()

const itemFields = sorted(
  "id workflowId workflowName status mode startedAt finishedAt createdAt error estimatedCredits " +
    "actualCredits nodeRunCount source",
)

const detailFields = sorted(
  "id status workflowId triggerRunId createdAt startedAt finishedAt error context nodeRuns",
)

const nodeRunFields = sorted(
  "nodeId nodeType status input output logs error startedAt finishedAt attempt credits dueAt " +
    "skipReason",
)

const post = Effect.fnUntraced(function* ({ key }: Tenant, path: string, json?: unknown) {
  const { send } = yield* Harness
  return yield* send("POST", `/api/v1/runs${path}`, { key, json })
})

const get = Effect.fnUntraced(function* ({ key }: Tenant, path: string) {
  const { send } = yield* Harness
  return yield* send("GET", `/api/v1/runs${path}`, { key })
})

const begin = Effect.fnUntraced(function* (content: object) {
  const { tenant } = yield* Harness
  const owner = yield* tenant()
  return { owner, workflowId: yield* create(owner, content) }
})

layer(Harness.layer)("starting runs", (it) => {
  describe("POST /v1/runs", () => {
    it.effect("answers 201 with a runId and nothing else, and Location", () =>
      Effect.gen(function* () {
        const { owner, workflowId } = yield* begin(hello)
        const { body, headers, status } = yield* post(owner, "", { workflowId })
        assert.strictEqual(status, 201)
        assert.deepStrictEqual(fieldsOf(body), ["runId"])
        assert.match(body.runId, /^run_/)
        assert.strictEqual(headers.get("location"), `/api/v1/runs/${body.runId}`)
      }),
    )

    it.effect("hands values, viewport and source to the run", () =>
      Effect.gen(function* () {
        const { owner, workflowId } = yield* begin(hello)
        const id = yield* finish(owner, workflowId, {
          values: { a: [1, null], b: { c: "d" } },
          viewport: { x: -1, y: 2.5, zoom: 0.5 },
          source: "ui",
        })
        const { body } = yield* get(owner, `/${id}`)
        assert.deepStrictEqual(body.context, {
          values: { a: [1, null], b: { c: "d" } },
          output: null,
          viewport: { x: -1, y: 2.5, zoom: 0.5 },
          workflowRevision: 1,
        })
        assert.strictEqual(body.source, "ui")
      }),
    )

    it.effect("applies graphInputOverrides and nodeOverrides to this run only", () =>
      Effect.gen(function* () {
        const { owner, workflowId } = yield* begin(hello)
        const outputOf = Effect.fnUntraced(function* (rest: object) {
          const id = yield* finish(owner, workflowId, rest)
          return (yield* get(owner, `/${id}`)).body.nodeRuns[0].output
        })
        const other = { ...hello.nodes[0], data: { inputs: { text: "replaced" } } }
        assert.deepStrictEqual(yield* outputOf({ graphInputOverrides: { say: { text: "ho" } } }), {
          output: "ho",
        })
        assert.deepStrictEqual(yield* outputOf({ nodeOverrides: [other] }), { output: "replaced" })
        assert.deepStrictEqual(yield* outputOf({}), { output: "hi" })
      }),
    )

    it.effect("names every missing input by node and port with 400 and starts nothing", () =>
      Effect.gen(function* () {
        const node = (id: string) => ({ id, type: "measure", position: { x: 0, y: 0 } })
        const { owner, workflowId } = yield* begin({
          name: "Incomplete",
          nodes: [node("one"), node("two"), { ...node("end"), type: "echo" }],
          edges: [
            { id: "e1", source: "one", target: "end", sourceHandle: "count" },
            { id: "e2", source: "two", target: "end", sourceHandle: "count" },
          ],
        })
        const { body, headers, status } = yield* post(owner, "", { workflowId })
        assert.strictEqual(status, 400)
        assert.strictEqual(headers.get("x-error-code"), "invalid_graph")
        assert.deepStrictEqual(fieldsOf(body), ["error"])
        for (const part of ["one", "two", "text"]) assert.include(body.error, part)
        assert.deepStrictEqual((yield* get(owner, "")).body.items, [])
      }),
    )

    it.effect("starts once under an Idempotency-Key and repeats the first answer", () =>
      Effect.gen(function* () {
        const { send } = yield* Harness
        const { owner, workflowId } = yield* begin(hello)
        const start = (raw: string, name = "order 7") => {
          const headers = { "content-type": "application/json", "idempotency-key": name }
          return send("POST", "/api/v1/runs", { key: owner.key, raw, headers })
        }
        const raw = JSON.stringify({ workflowId })
        const first = yield* start(raw)
        assert.strictEqual(first.status, 201)
        assert.isNull(first.headers.get("idempotent-replayed"))
        const again = yield* Effect.forEach(Array.from({ length: 1_000 }), () => start(raw), {
          concurrency: "unbounded",
        })
        for (const answer of again) {
          assert.strictEqual(answer.status, 201)
          assert.deepStrictEqual(answer.body, first.body)
          assert.strictEqual(answer.headers.get("location"), first.headers.get("location"))
          assert.strictEqual(answer.headers.get("idempotent-replayed"), "true")
        }
        const other = yield* start(`${raw} `)
        assert.strictEqual(other.status, 409)
        assert.strictEqual(other.headers.get("x-error-code"), "idempotency_key_taken")
        const error = "Idempotency-Key: was given to another start within 24 hours"
        assert.deepStrictEqual(other.body, { error })
        assert.lengthOf((yield* get(owner, "")).body.items, 1)
      }),
    )

    it.effect("keeps the Idempotency-Keys of two accounts apart", () =>
      Effect.gen(function* () {
        const { send } = yield* Harness
        const headers = { "idempotency-key": "k" }
        const ids = yield* Effect.forEach([1, 2], () =>
          Effect.gen(function* () {
            const { owner, workflowId } = yield* begin(hello)
            const parts = { key: owner.key, json: { workflowId }, headers }
            const { body, status } = yield* send("POST", "/api/v1/runs", parts)
            assert.strictEqual(status, 201)
            return body.runId
          }),
        )
        assert.notStrictEqual(ids[0], ids[1])
      }),
    )

    it.effect("takes an Idempotency-Key of 1 to 255 visible ASCII characters", () =>
      Effect.gen(function* () {
        const { send } = yield* Harness
        const { owner, workflowId } = yield* begin(hello)
        const start = (name: string) =>
          send("POST", "/api/v1/runs", {
            key: owner.key,
            json: { workflowId },
            headers: { "idempotency-key": name },
          })
        for (const good of ["x", "~".repeat(255), "a b"]) {
          assert.strictEqual((yield* start(good)).status, 201)
        }
        for (const bad of ["", "x".repeat(256), "\u00e9", "a\tb"]) {
          const { body, status } = yield* start(bad)
          assert.strictEqual(status, 400)
          const error = "idempotency-key: expected 1 to 255 visible ASCII characters"
          assert.deepStrictEqual(body, { error })
        }
      }),
    )

    it.effect("refuses unknown nodes and inputs of overrides with 400", () =>
      Effect.gen(function* () {
        const { owner, workflowId } = yield* begin(hello)
        const overrides = [
          { graphInputOverrides: { nope: { text: "x" } } },
          { graphInputOverrides: { say: { nope: "x" } } },
          { nodeOverrides: [{ id: "nope", type: "echo", position: { x: 0, y: 0 } }] },
        ]
        for (const rest of overrides) {
          const { status } = yield* post(owner, "", { workflowId, ...rest })
          assert.strictEqual(status, 400)
        }
      }),
    )

    it.effect("refuses a body of the wrong form with 400 and names every place", () =>
      Effect.gen(function* () {
        const { owner } = yield* begin(hello)
        const { body, status } = yield* post(owner, "", {
          values: [],
          viewport: { x: 0, y: 0, zoom: "1" },
          graphInputOverrides: { say: 1 },
          source: "cli",
        })
        assert.strictEqual(status, 400)
        assert.deepStrictEqual(body, {
          error:
            "workflowId: is missing; values: expected an object; " +
            "graphInputOverrides.say: expected an object; viewport.zoom: expected a number; " +
            'source: expected "ui", "mcp" or "api"',
        })
      }),
    )

    it.effect("refuses a webhook where nobody delivers, and starts nothing", () =>
      Effect.gen(function* () {
        const { owner, workflowId } = yield* begin(hello)
        const webhook = { url: "https://example.com/hook", events: ["run.completed"] }
        const hooked = yield* post(owner, "", { workflowId, webhook })
        assert.strictEqual(hooked.status, 400)
        assert.deepStrictEqual(hooked.body, {
          error: "webhook: this engine delivers no webhooks; start without one",
        })
        const single = yield* post(owner, "", { workflowId, singleNodeId: "nobody" })
        assert.strictEqual(single.status, 400)
        assert.match(single.body.error, /cannot run alone: the workflow has no such node/)
        assert.deepStrictEqual((yield* get(owner, "")).body.items, [])
      }),
    )

    it.effect("answers 404 for an unknown workflow", () =>
      Effect.gen(function* () {
        const { owner } = yield* begin(hello)
        const { body, status } = yield* post(owner, "", { workflowId: "wf_none" })
        assert.strictEqual(status, 404)
        assert.deepStrictEqual(body, { error: "The workflow does not exist" })
      }),
    )
  })

  describe("POST /v1/runs/{id}/cancel", () => {
    it.effect("answers 200 with the canceled run, again too", () =>
      Effect.gen(function* () {
        const { owner, workflowId } = yield* begin(endless)
        const id = yield* start(owner, workflowId)
        const canceled = yield* post(owner, `/${id}/cancel`)
        assert.strictEqual(canceled.status, 200)
        assert.deepStrictEqual(fieldsOf(canceled.body), itemFields)
        assert.strictEqual(canceled.body.status, "CANCELED")
        const again = yield* post(owner, `/${id}/cancel`)
        assert.strictEqual(again.status, 200)
        assert.deepStrictEqual(again.body, canceled.body)
      }),
    )

    it.effect("answers 409 for a run that has completed", () =>
      Effect.gen(function* () {
        const { owner, workflowId } = yield* begin(hello)
        const id = yield* finish(owner, workflowId)
        const { body, headers, status } = yield* post(owner, `/${id}/cancel`)
        assert.strictEqual(status, 409)
        assert.deepStrictEqual(body, { error: `Run ${id} has already ended: COMPLETED` })
        assert.strictEqual(headers.get("x-error-code"), "run_ended")
      }),
    )

    it.effect("answers 404 for an unknown run", () =>
      Effect.gen(function* () {
        const { owner } = yield* begin(hello)
        assert.strictEqual((yield* post(owner, "/run_none/cancel")).status, 404)
      }),
    )
  })
})

layer(Harness.layer)("reading runs", (it) => {
  describe("GET /v1/runs", () => {
    it.effect("answers 200 with exactly the fields of a listed run", () =>
      Effect.gen(function* () {
        const { owner, workflowId } = yield* begin(chain)
        const id = yield* finish(owner, workflowId)
        const { body, status } = yield* get(owner, "")
        assert.strictEqual(status, 200)
        assert.deepStrictEqual(fieldsOf(body), ["items", "nextCursor"])
        const [item] = body.items
        assert.deepStrictEqual(fieldsOf(item), itemFields)
        const { createdAt, finishedAt, startedAt, ...rest } = item
        for (const time of [createdAt, finishedAt, startedAt]) assert.match(time, /\.\d{3}Z$/)
        assert.deepStrictEqual(rest, {
          id,
          workflowId,
          workflowName: "Chain",
          status: "COMPLETED",
          mode: "full",
          error: null,
          estimatedCredits: 0.25,
          actualCredits: 0.25,
          nodeRunCount: 2,
          source: "api",
        })
      }),
    )

    it.effect("says null for what is not known yet", () =>
      Effect.gen(function* () {
        const { owner, workflowId } = yield* begin(endless)
        const id = yield* start(owner, workflowId)
        const { finishedAt, error } = (yield* get(owner, "")).body.items[0]
        assert.deepStrictEqual({ finishedAt, error }, { finishedAt: null, error: null })
        yield* post(owner, `/${id}/cancel`)
      }),
    )
  })

  describe("GET /v1/runs/{id}", () => {
    it.effect("answers 200 with the detail and the fields of a listed run", () =>
      Effect.gen(function* () {
        const { owner, workflowId } = yield* begin(chain)
        const id = yield* finish(owner, workflowId)
        const { body, status } = yield* get(owner, `/${id}`)
        assert.strictEqual(status, 200)
        const expected = new Set([...detailFields, ...itemFields])
        assert.deepStrictEqual(new Set(Object.keys(body)), expected)
        assert.match(body.triggerRunId, /^exe_/)
        assert.deepStrictEqual(
          body.nodeRuns.map((each: { nodeId: string }) => each.nodeId),
          ["say", "count"],
        )
        for (const nodeRun of body.nodeRuns) {
          assert.deepStrictEqual(fieldsOf(nodeRun), nodeRunFields)
        }
        const { error, input, nodeType, output, status: state } = body.nodeRuns[1]
        assert.deepStrictEqual(
          { error, input, nodeType, output, state },
          {
            error: null,
            input: { text: "one two" },
            nodeType: "measure",
            output: { count: 2 },
            state: "COMPLETED",
          },
        )
      }),
    )

    it.effect("shows nodes that were not reached as pending while the run is open", () =>
      Effect.gen(function* () {
        const nodes = [...endless.nodes, { id: "after", type: "echo", position: { x: 360, y: 0 } }]
        const edges = [{ id: "e", source: "wait", target: "after", sourceHandle: "error" }]
        const { owner, workflowId } = yield* begin({ name: "Open", nodes, edges })
        const id = yield* start(owner, workflowId)
        const { body } = yield* get(owner, `/${id}`)
        const { input, output, startedAt, status } = body.nodeRuns[1]
        assert.deepStrictEqual(
          { input, output, startedAt, status },
          { input: null, output: null, startedAt: null, status: "PENDING" },
        )
        yield* post(owner, `/${id}/cancel`)
      }),
    )

    it.effect("shows a failed run with its error", () =>
      Effect.gen(function* () {
        const { owner, workflowId } = yield* begin(failing)
        const id = yield* finish(owner, workflowId)
        const { body } = yield* get(owner, `/${id}`)
        assert.strictEqual(body.status, "FAILED")
        assert.include(body.error, "bad")
        assert.include(body.nodeRuns[0].error, "broken on purpose")
      }),
    )

    it.effect("answers 404 for an unknown run", () =>
      Effect.gen(function* () {
        const { owner } = yield* begin(hello)
        const { body, headers, status } = yield* get(owner, "/run_none")
        assert.strictEqual(status, 404)
        assert.deepStrictEqual(body, { error: "The run does not exist" })
        assert.strictEqual(headers.get("x-error-code"), "run_not_found")
      }),
    )
  })

  describe("POST /v1/runs/batch", () => {
    it.effect("answers 200 with exactly the fields of a run's detail", () =>
      Effect.gen(function* () {
        const { owner, workflowId } = yield* begin(chain)
        const id = yield* finish(owner, workflowId)
        const { body, status } = yield* post(owner, "/batch", { ids: [id] })
        assert.strictEqual(status, 200)
        assert.deepStrictEqual(fieldsOf(body), ["runs"])
        assert.deepStrictEqual(fieldsOf(body.runs[0]), detailFields)
        assert.deepStrictEqual(fieldsOf(body.runs[0].nodeRuns[0]), nodeRunFields)
        assert.deepStrictEqual(fieldsOf(body.runs[0].context), [
          "output",
          "values",
          "viewport",
          "workflowRevision",
        ])
      }),
    )

    it.effect("keeps the order of first occurrence, once each, without unknown ids", () =>
      Effect.gen(function* () {
        const { owner, workflowId } = yield* begin(hello)
        const first = yield* finish(owner, workflowId)
        const second = yield* finish(owner, workflowId)
        const { body } = yield* post(owner, "/batch", {
          ids: [second, "run_none", "", first, second, first],
        })
        assert.deepStrictEqual(
          body.runs.map((run: { id: string }) => run.id),
          [second, first],
        )
      }),
    )

    it.effect("answers an empty list for no ids, takes 50 and refuses 51 with 400", () =>
      Effect.gen(function* () {
        const { owner } = yield* begin(hello)
        const batch = (count: number) =>
          post(owner, "/batch", { ids: Array.from({ length: count }, (_, each) => `run_${each}`) })
        assert.deepStrictEqual((yield* batch(0)).body, { runs: [] })
        assert.deepStrictEqual((yield* batch(50)).body, { runs: [] })
        const refused = yield* batch(51)
        assert.strictEqual(refused.status, 400)
        assert.deepStrictEqual(refused.body, { error: "ids: expected at most 50 ids" })
      }),
    )

    it.effect("refuses a body of the wrong form with 400", () =>
      Effect.gen(function* () {
        const { owner } = yield* begin(hello)
        const errorOf = (json: unknown) =>
          Effect.map(post(owner, "/batch", json), ({ body, status }) => [status, body.error])
        assert.deepStrictEqual(yield* errorOf({}), [400, "ids: is missing"])
        assert.deepStrictEqual(yield* errorOf({ ids: "run_1" }), [400, "ids: expected an array"])
        assert.deepStrictEqual(yield* errorOf({ ids: [1] }), [400, "ids[0]: expected a string"])
        assert.deepStrictEqual(yield* errorOf([]), [400, "body: expected an object"])
      }),
    )
  })
})
