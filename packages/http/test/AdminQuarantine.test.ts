/**
 * What operators are told of runs that have lost owners, and what they may do about them.
 */
import { assert, describe, layer } from "@effect/vitest"
import { RunId, RunnerId } from "@millrace/core/domain/Id"
import { RunStore } from "@millrace/core/ports/RunStore"
import { AdminToken } from "@millrace/http/AdminAuthorization"
import { Effect, Layer, Redacted } from "effect"
import { TestClock } from "effect/testing"
import { Harness } from "./Harness.ts"

const token = "an operator token that nobody guesses"

const Mounted = Harness.layer.pipe(Layer.provide(Layer.succeed(AdminToken, Redacted.make(token))))

const admin = Effect.fnUntraced(function* (method: string, path: string) {
  const { send } = yield* Harness
  return yield* send(method, `/api/admin/v1/quarantine${path}`, { key: token })
})

/** A run whose first process has died while its only node was in progress. */
const suspect = Effect.gen(function* () {
  const { send, tenant } = yield* Harness
  const store = yield* RunStore
  const { accountId, key } = yield* tenant()
  const nodes = [{ id: "boom", type: "hang", position: { x: 0, y: 0 }, data: {} }]
  const json = { name: "Guilty", nodes, edges: [] }
  const workflowId = (yield* send("POST", "/api/v1/workflows", { key, json })).body.id as string
  const started = yield* send("POST", "/api/v1/runs", { key, json: { workflowId } })
  const runId = RunId.make(started.body.runId)
  // A run that hangs holds up the end of the server, whose grace time the test's clock never tells.
  const cancel = send("POST", `/api/v1/runs/${runId}/cancel`, { key })
  yield* Effect.addFinalizer(() => Effect.ignore(cancel))
  const dead = RunnerId.make(`exe_dead_of_${runId}`)
  yield* store.heartbeat(dead, 0)
  yield* store.takeOver(accountId, runId, dead)
  yield* TestClock.adjust("1 second")
  const read = Effect.map(send("GET", `/api/v1/runs/${runId}`, { key }), ({ body }) => body)
  return { accountId, dead, read, runId, workflowId }
})

layer(Mounted)("with a token", (it) => {
  describe("the operations on runs in quarantine", () => {
    it.effect("list whose they are, who executes them and what they have lost", () =>
      Effect.gen(function* () {
        const { accountId, dead, runId, workflowId } = yield* suspect
        const { body, status } = yield* admin("GET", "")
        assert.strictEqual(status, 200)
        const [{ createdAt, holder, losses, ...run }, ...rest] = body.items
        assert.deepStrictEqual(rest, [])
        const workflowName = "Guilty"
        const expected = { runId, accountId, workflowId, workflowName, status: "RUNNING" }
        assert.deepStrictEqual(run, expected)
        assert.match(createdAt, /^\d{4}-\d\d-\d\dT/)
        assert.notStrictEqual(holder, dead)
        assert.match(holder, /^exe_/)
        const [{ lostAt, ...loss }] = losses
        assert.match(lostAt, /^\d{4}-\d\d-\d\dT/)
        assert.deepStrictEqual(loss, { runner: dead, cause: "died", millis: null, nodes: ["boom"] })
        yield* admin("POST", `/${runId}/end`)
      }),
    )

    it.effect("end one, with a sentence that says what happened", () =>
      Effect.gen(function* () {
        const { read, runId } = yield* suspect
        const error =
          "The run was ended by an operator: " +
          'its process died once while node "boom" was in progress'
        const { body, status } = yield* admin("POST", `/${runId}/end`)
        assert.strictEqual(status, 200)
        assert.deepStrictEqual(body, { runId, status: "FAILED", error })
        const run = yield* read
        assert.deepStrictEqual([run.status, run.error], ["FAILED", error])
        assert.deepStrictEqual((yield* admin("GET", "")).body.items, [])
      }),
    )

    it.effect("release one, which goes on like any other", () =>
      Effect.gen(function* () {
        const { read, runId } = yield* suspect
        const { body, status } = yield* admin("POST", `/${runId}/release`)
        assert.strictEqual(status, 200)
        assert.deepStrictEqual(body, { runId })
        assert.deepStrictEqual((yield* admin("GET", "")).body.items, [])
        assert.strictEqual((yield* read).status, "RUNNING")
      }),
    )

    for (const what of ["release", "end"]) {
      it.effect(`have nothing to ${what} where no run is in quarantine`, () =>
        Effect.gen(function* () {
          const { runId } = yield* suspect
          yield* admin("POST", `/${runId}/release`)
          for (const id of [runId, "run_unknown"]) {
            const { body, headers, status } = yield* admin("POST", `/${id}/${what}`)
            assert.strictEqual(status, 404)
            assert.strictEqual(headers.get("x-error-code"), "not_in_quarantine")
            assert.match(body.error, /is not in quarantine/)
          }
        }),
      )
    }
  })
})
