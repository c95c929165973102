/**
 * What a start says of its order among runs: its priority, and when it is to start.
 */
import { CurrentLimits, defaultLimits } from "@millrace/core/domain/Limits"
import { assert, describe, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import type { Tenant } from "./Harness.ts"
import { Harness } from "./Harness.ts"
import { create, endless, finish, hello } from "./Samples.ts"

const call = Effect.fnUntraced(function* (
  { key }: Tenant,
  method: "GET" | "POST",
  path: string,
  json?: unknown,
) {
  const { send } = yield* Harness
  return yield* send(method, `/api/v1/runs${path}`, { key, json })
})

const begin = Effect.gen(function* () {
  const { tenant } = yield* Harness
  const owner = yield* tenant()
  return { owner, workflowId: yield* create(owner, hello) }
})

layer(Harness.layer)("order among runs", (it) => {
  describe("POST /v1/runs", () => {
    it.effect("takes a priority, which the run shows, and 0 is left out", () =>
      Effect.gen(function* () {
        const { owner, workflowId } = yield* begin
        for (const priority of [-10, 10]) {
          const id = yield* finish(owner, workflowId, { priority })
          assert.strictEqual((yield* call(owner, "GET", `/${id}`)).body.priority, priority)
        }
        const id = yield* finish(owner, workflowId, { priority: 0 })
        assert.isUndefined((yield* call(owner, "GET", `/${id}`)).body.priority)
        const { items } = (yield* call(owner, "GET", "")).body
        assert.deepStrictEqual(
          items.map((item: { priority?: number }) => item.priority),
          [undefined, 10, -10],
        )
      }),
    )

    it.effect("takes a time to start, shows it, and lets the run be canceled before", () =>
      Effect.gen(function* () {
        const { owner, workflowId } = yield* begin
        const startAt = "1970-01-02T00:00:00.000Z"
        const { body, status } = yield* call(owner, "POST", "", { workflowId, startAt })
        assert.strictEqual(status, 201)
        const read = (yield* call(owner, "GET", `/${body.runId}`)).body
        assert.deepInclude(read, { status: "QUEUED", startAt, startedAt: null })
        const canceled = yield* call(owner, "POST", `/${body.runId}/cancel`)
        assert.strictEqual(canceled.body.status, "CANCELED")
      }),
    )

    it.effect("refuses a day that its month does not have", () =>
      Effect.gen(function* () {
        const { owner, workflowId } = yield* begin
        for (const startAt of ["1970-02-31T00:00:00Z", "1971-02-29", "1970-04-31T00:00:00Z"]) {
          const { body, status } = yield* call(owner, "POST", "", { workflowId, startAt })
          assert.deepStrictEqual(
            [status, body],
            [400, { error: "startAt: expected an ISO 8601 time" }],
          )
        }
        assert.deepStrictEqual((yield* call(owner, "GET", "")).body.items, [])
      }),
    )

    it.effect("starts now if the time has passed", () =>
      Effect.gen(function* () {
        const { owner, workflowId } = yield* begin
        const id = yield* finish(owner, workflowId, { startAt: "1970-01-01T00:00:00Z" })
        assert.isUndefined((yield* call(owner, "GET", `/${id}`)).body.startAt)
      }),
    )

    it.effect("takes a concurrency key, or that of the workflow, and shows it", () =>
      Effect.gen(function* () {
        const { tenant } = yield* Harness
        const owner = yield* tenant()
        const settings = { concurrencyKey: "{{ values.customer }}", concurrency: 3 }
        const workflowId = yield* create(owner, { ...hello, settings })
        const ofWorkflow = yield* finish(owner, workflowId, { values: { customer: "acme" } })
        const read = (yield* call(owner, "GET", `/${ofWorkflow}`)).body
        assert.deepInclude(read, { concurrencyKey: "acme", concurrency: 3 })
        const own = { values: { customer: "acme" }, concurrencyKey: "mine" }
        const id = yield* finish(owner, workflowId, own)
        assert.strictEqual((yield* call(owner, "GET", `/${id}`)).body.concurrencyKey, "mine")
      }),
    )

    for (const concurrencyKey of ["", "k".repeat(256), 7, null, "{{ fetch.id }}"]) {
      it.effect(`refuses a concurrencyKey of ${JSON.stringify(concurrencyKey)} with 400`, () =>
        Effect.gen(function* () {
          const { owner, workflowId } = yield* begin
          const { body, status } = yield* call(owner, "POST", "", { workflowId, concurrencyKey })
          assert.strictEqual(status, 400)
          assert.match(body.error, /^concurrencyKey: /)
        }),
      )
    }

    for (const concurrency of [0, 1_001, 1.5, "2"]) {
      it.effect(`refuses a workflow with a concurrency of ${JSON.stringify(concurrency)}`, () =>
        Effect.gen(function* () {
          const { send, tenant } = yield* Harness
          const { key } = yield* tenant()
          const json = { ...hello, settings: { concurrency } }
          const { body, status } = yield* send("POST", "/api/v1/workflows", { key, json })
          assert.strictEqual(status, 400)
          assert.match(body.error, /^settings\.concurrency: /)
        }),
      )
    }

    for (const priority of [-11, 11, 1.5, "1", null]) {
      it.effect(`refuses a priority of ${JSON.stringify(priority)} with 400`, () =>
        Effect.gen(function* () {
          const { owner, workflowId } = yield* begin
          const { body, status } = yield* call(owner, "POST", "", { workflowId, priority })
          assert.strictEqual(status, 400)
          assert.match(body.error, /^priority: expected/)
          assert.deepStrictEqual((yield* call(owner, "GET", "")).body.items, [])
        }),
      )
    }

    for (const startAt of ["soon", "5 minutes", "2026-13-01T00:00:00Z", "", 7, null]) {
      it.effect(`refuses a startAt of ${JSON.stringify(startAt)} with 400`, () =>
        Effect.gen(function* () {
          const { owner, workflowId } = yield* begin
          const { body, status } = yield* call(owner, "POST", "", { workflowId, startAt })
          assert.strictEqual(status, 400)
          assert.match(body.error, /^startAt: expected/)
          assert.deepStrictEqual((yield* call(owner, "GET", "")).body.items, [])
        }),
      )
    }

    it.effect("refuses a time that is more than a year ahead with 400", () =>
      Effect.gen(function* () {
        const { owner, workflowId } = yield* begin
        const asked = { workflowId, startAt: "2400-01-01T00:00:00Z" }
        const { body, status } = yield* call(owner, "POST", "", asked)
        assert.strictEqual(status, 400)
        assert.match(body.error, /^startAt: expected a time before 1971-01-01T/)
      }),
    )
  })
})

const few = { ...defaultLimits, runsAtOnce: 2, runsPerAccountPercent: 50, runsQueuedPerAccount: 1 }

layer(Harness.layer.pipe(Layer.provide(Layer.succeed(CurrentLimits, few))))(
  "a full account",
  (it) => {
    it.effect("answers 429 with codes of its own, and others are not concerned", () =>
      Effect.gen(function* () {
        const { tenant } = yield* Harness
        const owner = yield* tenant()
        const workflowId = yield* create(owner, endless)
        const start = (more: object = {}) => call(owner, "POST", "", { workflowId, ...more })
        const first = yield* start({ whenFull: "refuse" })
        assert.strictEqual(first.status, 201)
        const refused = yield* start({ whenFull: "refuse" })
        assert.deepStrictEqual(
          [refused.status, refused.headers.get("x-error-code"), refused.headers.get("retry-after")],
          [429, "runs_full", "1"],
        )
        assert.match(refused.body.error, /^The run would have to wait: /)
        const second = yield* start()
        assert.strictEqual(second.status, 201)
        const beyond = yield* start()
        assert.deepStrictEqual(
          [beyond.status, beyond.headers.get("x-error-code"), beyond.headers.get("retry-after")],
          [429, "queue_full", "1"],
        )
        const other = yield* tenant()
        const theirs = { workflowId: yield* create(other, endless), whenFull: "refuse" }
        const third = yield* call(other, "POST", "", theirs)
        assert.strictEqual(third.status, 201)
        // Nothing may go on when the test ends.
        yield* call(owner, "POST", `/${second.body.runId}/cancel`)
        yield* call(owner, "POST", `/${first.body.runId}/cancel`)
        yield* call(other, "POST", `/${third.body.runId}/cancel`)
      }),
    )

    it.effect("refuses a whenFull that is neither", () =>
      Effect.gen(function* () {
        const { tenant } = yield* Harness
        const owner = yield* tenant()
        const workflowId = yield* create(owner, hello)
        const { body, status } = yield* call(owner, "POST", "", { workflowId, whenFull: "drop" })
        assert.strictEqual(status, 400)
        assert.match(body.error, /^whenFull: /)
      }),
    )
  },
)
