/**
 * The typed client against the real interface, in one process.
 */
import { assert, describe, layer } from "@effect/vitest"
import * as Client from "@millrace/api/Client"
import { Runs } from "@millrace/core/engine/Runs"
import { Effect, Fiber, Layer, Stream } from "effect"
import { FetchHttpClient } from "effect/http"
import { TestClock } from "effect/testing"
import { Harness } from "./Harness.ts"
import { chain } from "./Samples.ts"

/** How many requests were answered so far. */
let answered = 0

/** `fetch`, but into the handler. */
const inProcess = FetchHttpClient.layer.pipe(
  Layer.provide(
    Layer.effect(
      FetchHttpClient.Fetch,
      Effect.map(
        Harness,
        ({ handler }): typeof fetch =>
          (input, init) =>
            handler(new Request(input, init)).finally(() => (answered += 1)),
      ),
    ),
  ),
)

const turn = Effect.promise(() => new Promise((resolve) => setImmediate(resolve)))

/** Waits for so many more answers, and lets everything happen that does not wait for the clock. */
const afterAnswers = Effect.fnUntraced(function* (count: number) {
  const wanted = answered + count
  yield* Effect.repeat(turn, { while: () => answered < wanted })
  yield* Effect.repeat(turn, { times: 50 })
})

const baseUrl = "http://localhost"

layer(inProcess.pipe(Layer.provideMerge(Harness.layer)))("client", (it) => {
  describe("Client.make", () => {
    it.effect("has every operation, typed", () =>
      Effect.gen(function* () {
        const { accountId, key } = yield* (yield* Harness).tenant()
        const { nodeTypes, runs, workflows } = yield* Client.make({ baseUrl, apiKey: key })
        const made = yield* workflows.create({ payload: chain })
        const params = { id: made.id }
        assert.deepStrictEqual(yield* workflows.get({ params }), made)
        const changed = yield* workflows.update({
          params,
          headers: { "if-match": '"1"' },
          payload: { name: "New" },
        })
        assert.strictEqual(changed.name, "New")
        assert.isNumber(changed.updatedAt)
        const copy = yield* workflows.duplicate({ params })
        const payload = { nodeType: "echo", column: 3 }
        const added = yield* workflows.addNode({ params: { id: copy.id }, payload })
        assert.deepStrictEqual(added.inputPorts, ["input", "text"])
        const listed = yield* workflows.list({ query: { limit: 50 } })
        assert.sameMembers(
          listed.items.map(({ nodeCount }) => nodeCount),
          [2, 3],
        )
        yield* workflows.remove({ params: { id: copy.id } })

        const start = { payload: { workflowId: made.id, values: { a: 1 } }, headers: {} }
        const { runId } = yield* runs.start(start)
        yield* (yield* Runs).wait(accountId, runId)
        const run = yield* runs.get({ params: { id: runId }, query: {} })
        assert.deepStrictEqual([run.status, run.workflowName], ["COMPLETED", "New"])
        const batch = yield* runs.batch({ payload: { ids: [runId] } })
        assert.deepStrictEqual(batch.runs[0]?.nodeRuns, run.nodeRuns)
        const page = yield* runs.list({ query: { status: "COMPLETED", page: 1, pageSize: 5 } })
        assert.deepStrictEqual(
          page.items.map(({ id }) => id),
          [runId],
        )
        assert.strictEqual((yield* nodeTypes.list()).items.length, 6)
      }),
    )

    it.effect("turns errors into tagged classes with the sentence", () =>
      Effect.gen(function* () {
        const { key } = yield* (yield* Harness).tenant()
        const { runs, workflows } = yield* Client.make({ baseUrl, apiKey: key })
        const missing = yield* Effect.flip(workflows.get({ params: { id: "wf_none" } }))
        assert.strictEqual(missing._tag, "NotFound")
        assert.strictEqual(missing.message, "The workflow does not exist")
        const made = yield* workflows.create({ payload: { name: "N" } })
        const outdated = yield* workflows
          .update({ params: made, headers: { "if-match": '"9"' }, payload: {} })
          .pipe(Effect.flip)
        assert.strictEqual(outdated._tag, "PreconditionFailed")
        const cursor = yield* runs.list({ query: { cursor: "x" } }).pipe(
          Effect.as("accepted"),
          Effect.catchTag("BadRequest", ({ error }) => Effect.succeed(error)),
        )
        assert.strictEqual(cursor, "cursor: is not one of this listing")
        const { runs: stranger } = yield* Client.make({ baseUrl, apiKey: "mr_nobody" })
        const refused = yield* Effect.flip(stranger.get({ params: { id: "run_1" }, query: {} }))
        assert.strictEqual(refused._tag, "Unauthorized")
      }),
    )

    it.effect("tells a 429 and shows the headers where they are asked for", () =>
      Effect.gen(function* () {
        const { key } = yield* (yield* Harness).tenant({ perMinute: 1, perDay: 10 })
        const { runs } = yield* Client.make({ baseUrl, apiKey: key, retries: 0 })
        const [, response] = yield* runs.list({
          query: {},
          responseMode: "decoded-and-response",
        })
        assert.strictEqual(response.headers["x-ratelimit-remaining"], "0")
        assert.strictEqual((yield* Effect.flip(runs.list({ query: {} })))._tag, "TooManyRequests")
      }),
    )

    it.effect("comes again after a 429 when the server says so, and not if that is too long", () =>
      Effect.gen(function* () {
        const { key } = yield* (yield* Harness).tenant({ perMinute: 1, perDay: 10 })
        const { nodeTypes } = yield* Client.make({ baseUrl, apiKey: key })
        yield* nodeTypes.list()
        const waiting = yield* Effect.forkChild(nodeTypes.list())
        yield* afterAnswers(1)
        assert.isUndefined(waiting.pollUnsafe())
        yield* TestClock.adjust("1 minute")
        assert.strictEqual((yield* Fiber.join(waiting)).items.length, 6)
        const hasty = yield* Client.make({ baseUrl, apiKey: key, longestWaitSeconds: 0 })
        const refused = yield* Effect.flip(hasty.nodeTypes.list())
        assert.strictEqual(refused._tag, "TooManyRequests")
      }),
    )
  })

  describe("Client.items", () => {
    it.effect("gives every item of a listing, page after page", () =>
      Effect.gen(function* () {
        const { key } = yield* (yield* Harness).tenant()
        const { workflows } = yield* Client.make({ baseUrl, apiKey: key })
        for (let n = 0; n < 7; n++) yield* workflows.create({ payload: { name: `W${n}` } })
        const all = Client.items((cursor) =>
          workflows.list({ query: cursor === undefined ? { limit: 3 } : { cursor, limit: 3 } }),
        )
        const names = (yield* Stream.runCollect(all)).map(({ name }) => name)
        assert.deepStrictEqual(names, ["W6", "W5", "W4", "W3", "W2", "W1", "W0"])
      }),
    )
  })

  describe("Client.follow", () => {
    it.effect("gives a snapshot and every event to the end of the run", () =>
      Effect.gen(function* () {
        const { accountId, key } = yield* (yield* Harness).tenant()
        const client = yield* Client.make({ baseUrl, apiKey: key })
        const made = yield* client.workflows.create({ payload: chain })
        const start = { payload: { workflowId: made.id }, headers: { "idempotency-key": "k" } }
        const { runId } = yield* client.runs.start(start)
        yield* (yield* Runs).wait(accountId, runId)
        const events = yield* Stream.runCollect(Client.follow(client, runId))
        assert.deepStrictEqual(
          events.map((each) => (each.event === "snapshot" ? each.event : each.id)),
          ["snapshot", "1", "2", "3", "4"],
        )
        const rest = yield* Stream.runCollect(Client.follow(client, runId, 3))
        assert.deepStrictEqual(
          rest.map(({ event }) => event),
          ["snapshot", "run.completed"],
        )
        assert.deepStrictEqual(yield* Stream.runCollect(Client.follow(client, runId, 4)), [])
        const unknown = yield* Effect.flip(Stream.runCollect(Client.follow(client, "run_none")))
        assert.strictEqual(unknown._tag, "NotFound")
      }),
    )
  })
})
