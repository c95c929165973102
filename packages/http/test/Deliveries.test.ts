/**
 * The log of deliveries, as its owner sees it.
 */
import { assert, describe, layer } from "@effect/vitest"
import type { DeliveryId } from "@millrace/core/domain/Id"
import { WebhookStore } from "@millrace/core/ports/WebhookStore"
import { Effect, Layer } from "effect"
import type { Answer } from "./Harness.ts"
import { anyTarget, Harness, servicesWith } from "./Harness.ts"
import { create, hello } from "./Samples.ts"

const harness = Harness.layerNoDeps.pipe(Layer.provideMerge(servicesWith(anyTarget)))

/** A run that has ended, with a webhook. */
const begin = Effect.fnUntraced(function* (webhook: object = {}) {
  const { send, tenant } = yield* Harness
  const owner = yield* tenant()
  const workflowId = yield* create(owner, hello)
  const given = { url: "https://receiver.example/hook", ...webhook }
  const json = { workflowId, webhook: given }
  const started = yield* send("POST", "/api/v1/runs", { key: owner.key, json })
  assert.strictEqual(started.status, 201, started.text)
  const runId = started.body.runId as string
  const call = (method: string, path: string) => send(method, `/api/v1${path}`, { key: owner.key })
  yield* Effect.repeat(call("GET", `/runs/${runId}`), {
    until: ({ body }) => body.status === "COMPLETED",
  })
  return { call, owner, runId }
})

/** What a dispatcher does when the receiver answers 500. */
const failOnce = Effect.fnUntraced(function* (id: DeliveryId) {
  const store = yield* WebhookStore
  const [claimed] = yield* store.claim([id], 45_000)
  yield* store.record({
    id,
    fence: claimed!.fence,
    number: claimed!.attempt,
    attempt: { at: 0, durationMillis: 12, status: 500, error: "status", answer: "oops" },
    next: { _tag: "Failed", isGone: false },
  })
})

layer(harness)("deliveries", (it) => {
  describe("GET /runs/{id}/deliveries", () => {
    it.effect("lists one delivery for each event that the webhook asks for, newest first", () =>
      Effect.gen(function* () {
        const { call, runId } = yield* begin()
        const { body, status } = yield* call("GET", `/runs/${runId}/deliveries`)
        assert.strictEqual(status, 200)
        const types = body.items.map(({ type }: { type: string }) => type)
        assert.strictEqual(types[0], "run.completed")
        assert.strictEqual(types.at(-1), "run.started")
        const [first] = body.items
        const keys = "id runId sequence type url state attempts nextAttemptAt createdAt settledAt"
        assert.hasAllKeys(first, keys.split(" "))
        assert.deepInclude(first, { runId, state: "PENDING", attempts: 0, settledAt: null })
        const some = yield* begin({ events: ["run.completed"] })
        const few = yield* some.call("GET", `/runs/${some.runId}/deliveries`)
        assert.strictEqual(few.body.items.length, 1)
      }),
    )

    it.effect("goes through the pages by cursor, and by state", () =>
      Effect.gen(function* () {
        const { call, runId } = yield* begin()
        const path = `/runs/${runId}/deliveries`
        const all = (yield* call("GET", path)).body.items
        yield* failOnce(all[0].id)
        const failed = (yield* call("GET", `${path}?state=FAILED`)).body.items
        assert.deepStrictEqual(
          failed.map(({ id }: { id: string }) => id),
          [all[0].id],
        )
        const first = (yield* call("GET", `${path}?limit=1`)).body
        const cursor = encodeURIComponent(first.nextCursor)
        const second = (yield* call("GET", `${path}?limit=50&cursor=${cursor}`)).body
        assert.deepStrictEqual(
          [...first.items, ...second.items].map(({ id }) => id),
          all.map(({ id }: { id: string }) => id),
        )
        assert.strictEqual(second.nextCursor, null)
        const other = yield* begin()
        const mixed = yield* other.call("GET", `/runs/${other.runId}/deliveries?cursor=${cursor}`)
        assert.strictEqual(mixed.status, 400)
        assert.strictEqual((yield* call("GET", `${path}?state=LOST`)).status, 400)
      }),
    )

    it.effect("is empty for a run without a webhook, and 404 for one that is not there", () =>
      Effect.gen(function* () {
        const { send, tenant } = yield* Harness
        const owner = yield* tenant()
        const { key } = owner
        const json = { workflowId: yield* create(owner, hello) }
        const { body } = yield* send("POST", "/api/v1/runs", { key, json })
        const list = (id: string) => send("GET", `/api/v1/runs/${id}/deliveries`, { key })
        assert.deepStrictEqual((yield* list(body.runId)).body, { items: [], nextCursor: null })
        assert.strictEqual((yield* list("run_nobody")).status, 404)
      }),
    )
  })

  describe("GET /deliveries/{id}", () => {
    it.effect("shows what is sent, and every attempt with the beginning of its answer", () =>
      Effect.gen(function* () {
        const { call, runId } = yield* begin({ metadata: { n: 1 } })
        const [{ id }] = (yield* call("GET", `/runs/${runId}/deliveries`)).body.items
        yield* failOnce(id)
        const { body } = yield* call("GET", `/deliveries/${id}`)
        assert.deepInclude(body, { id, state: "FAILED", attempts: 1, nextAttemptAt: null })
        assert.deepInclude(JSON.parse(body.body), { runId, metadata: { n: 1 }, success: true })
        assert.deepStrictEqual(body.attemptLog, [
          {
            number: 1,
            at: "1970-01-01T00:00:00.000Z",
            durationMillis: 12,
            status: 500,
            error: "status",
            answer: "oops",
            nextAt: null,
          },
        ])
      }),
    )
  })

  describe("POST /deliveries/{id}/redeliver", () => {
    it.effect("makes a failed delivery due again, with its log", () =>
      Effect.gen(function* () {
        const { call, runId } = yield* begin()
        const [{ id }] = (yield* call("GET", `/runs/${runId}/deliveries`)).body.items
        yield* failOnce(id)
        const again = yield* call("POST", `/deliveries/${id}/redeliver`)
        assert.strictEqual(again.status, 200)
        assert.deepInclude(again.body, { id, state: "PENDING", attempts: 1, settledAt: null })
        assert.isString(again.body.nextAttemptAt)
        assert.strictEqual((yield* call("GET", `/deliveries/${id}`)).body.attemptLog.length, 1)
      }),
    )
  })

  describe("GET /deliveries", () => {
    it.effect("lists those of all runs of the account, by state and by cursor", () =>
      Effect.gen(function* () {
        const { call, owner, runId } = yield* begin({ events: ["run.completed"] })
        const { send } = yield* Harness
        const workflowId = yield* create(owner, hello)
        const webhook = { url: "https://receiver.example/hook", events: ["run.started"] }
        const json = { workflowId, webhook }
        yield* send("POST", "/api/v1/runs", { key: owner.key, json })
        const typesOf = ({ body }: Answer) => body.items.map(({ type }: any) => type)
        const all = yield* call("GET", "/deliveries")
        assert.sameMembers(typesOf(all), ["run.started", "run.completed"])
        const first = yield* call("GET", "/deliveries?limit=1")
        const rest = yield* call("GET", `/deliveries?limit=1&cursor=${first.body.nextCursor}`)
        assert.deepStrictEqual([...typesOf(first), ...typesOf(rest)], typesOf(all))
        const [{ id }] = (yield* call("GET", `/runs/${runId}/deliveries`)).body.items
        yield* failOnce(id)
        assert.deepStrictEqual(typesOf(yield* call("GET", "/deliveries?state=FAILED")), [
          "run.completed",
        ])
        assert.strictEqual((yield* call("GET", "/deliveries?state=LOST")).status, 400)
        const other = yield* begin({ events: ["run.failed"] })
        assert.deepStrictEqual(typesOf(yield* other.call("GET", "/deliveries")), [])
      }),
    )
  })

  describe("POST /deliveries/redeliver-failed", () => {
    it.effect("sends the account's failed ones again, by the time of their events", () =>
      Effect.gen(function* () {
        const { send } = yield* Harness
        const { call, owner, runId } = yield* begin({ events: ["run.completed"] })
        const other = yield* begin({ events: ["run.completed"] })
        for (const one of [{ call, runId }, other]) {
          const path = `/runs/${one.runId}/deliveries`
          yield* failOnce((yield* one.call("GET", path)).body.items[0].id)
        }
        const again = (json: object) =>
          send("POST", "/api/v1/deliveries/redeliver-failed", { key: owner.key, json })
        const later = yield* again({ since: "2100-01-01T00:00:00Z" })
        assert.deepStrictEqual(later.body, { count: 0 })
        assert.strictEqual((yield* again({ since: "yesterday" })).status, 400)
        assert.deepStrictEqual((yield* again({})).body, { count: 1 })
        assert.deepStrictEqual((yield* again({})).body, { count: 0 })
        const stays = yield* other.call("GET", "/deliveries?state=FAILED")
        assert.strictEqual(stays.body.items.length, 1)
      }),
    )
  })

  it.effect("belong to one account: to others they are as unknown ones", () =>
    Effect.gen(function* () {
      const { call, runId } = yield* begin()
      const [{ id }] = (yield* call("GET", `/runs/${runId}/deliveries`)).body.items
      const other = yield* begin()
      for (const [method, path] of [
        ["GET", `/runs/${runId}/deliveries`],
        ["GET", `/deliveries/${id}`],
        ["POST", `/deliveries/${id}/redeliver`],
      ] as const) {
        const foreign = yield* other.call(method, path)
        const unknown = yield* other.call(method, path.replace(/(run|msg)_[\w-]+/, "nobody"))
        assert.strictEqual(foreign.status, 404, path)
        const inWords = foreign.body.error.replaceAll(id, "nobody").replaceAll(runId, "nobody")
        assert.strictEqual(inWords, unknown.body.error)
      }
    }),
  )
})
