/**
 * Credits over the interface: estimates, refusals for want of credits, balance and usage.
 */
import { dayMillis } from "@millrace/core/domain/Timestamp"
import { LedgerStore } from "@millrace/core/ports/LedgerStore"
import { assert, describe, layer } from "@effect/vitest"
import { Effect } from "effect"
import type { Tenant } from "./Harness.ts"
import { Harness } from "./Harness.ts"
import { chain, create, failing, finish, hello } from "./Samples.ts"

const call = Effect.fnUntraced(function* (
  { key }: Tenant,
  method: string,
  path: string,
  json?: unknown,
) {
  const { send } = yield* Harness
  return yield* send(method, `/api/v1${path}`, { key, json })
})

/** A tenant with so many credits, who needs them. */
const metered = Effect.fnUntraced(function* (credits: number) {
  const { tenant } = yield* Harness
  const owner = yield* tenant()
  const ledger = yield* LedgerStore
  const operation = { accountId: owner.accountId, actor: "ada", reason: "test" }
  yield* ledger.meter({ ...operation, id: "m" }, true)
  yield* ledger.grant({
    ...operation,
    id: "g",
    amount: credits * 1e6,
    priority: 0,
    expiresAt: null,
  })
  return owner
})

layer(Harness.layer)("credits", (it) => {
  describe("POST /v1/runs", () => {
    it.effect("answers 402 with both amounts where credits do not cover it, without a trace", () =>
      Effect.gen(function* () {
        const owner = yield* metered(0.3)
        const workflowId = yield* create(owner, hello)
        yield* finish(owner, workflowId)
        const { body, headers, status } = yield* call(owner, "POST", "/runs", { workflowId })
        assert.strictEqual(status, 402)
        assert.deepStrictEqual(body, {
          error: "The run requires 0.25 credits, and 0.05 are available",
        })
        assert.strictEqual(headers.get("x-error-code"), "insufficient_credits")
        assert.isNull(headers.get("location"))
        const { body: listed } = yield* call(owner, "GET", "/runs")
        assert.strictEqual(listed.items.length, 1)
      }),
    )

    it.effect("answers 402 where a run is expected to cost more than its maxCredits", () =>
      Effect.gen(function* () {
        const owner = yield* metered(1)
        const workflowId = yield* create(owner, hello)
        const json = { workflowId, maxCredits: 0.2 }
        const { body, headers, status } = yield* call(owner, "POST", "/runs", json)
        assert.strictEqual(status, 402)
        assert.strictEqual(body.error, "The run requires 0.25 credits, and its maxCredits is 0.2")
        assert.strictEqual(headers.get("x-error-code"), "beyond_max_credits")
      }),
    )

    for (const maxCredits of [-1, 0.000_000_1, 1e10, "1", null]) {
      it.effect(`refuses a maxCredits of ${JSON.stringify(maxCredits)} with 400`, () =>
        Effect.gen(function* () {
          const owner = yield* metered(1)
          const workflowId = yield* create(owner, hello)
          const { body, status } = yield* call(owner, "POST", "/runs", { workflowId, maxCredits })
          assert.strictEqual(status, 400)
          assert.match(body.error, /^maxCredits: expected a number/)
        }),
      )
    }
  })

  describe("POST /v1/runs/estimate", () => {
    it.effect("answers with the credits of each node, whatever there is, and starts nothing", () =>
      Effect.gen(function* () {
        const owner = yield* metered(0)
        const workflowId = yield* create(owner, chain)
        const { body, status } = yield* call(owner, "POST", "/runs/estimate", { workflowId })
        assert.strictEqual(status, 200)
        assert.deepStrictEqual(body, {
          problems: [],
          estimatedCredits: 0.25,
          nodes: [
            { nodeId: "say", nodeType: "echo", credits: 0.25 },
            { nodeId: "count", nodeType: "measure", credits: 0 },
          ],
        })
        assert.deepStrictEqual((yield* call(owner, "GET", "/runs")).body.items, [])
      }),
    )

    it.effect("names what stands against a start with 200, and knows no foreign workflow", () =>
      Effect.gen(function* () {
        const owner = yield* metered(0)
        const other = yield* metered(0)
        const workflowId = yield* create(owner, {
          name: "Broken",
          nodes: [{ id: "a", type: "nobody", position: { x: 0, y: 0 } }],
        })
        const { body, status } = yield* call(owner, "POST", "/runs/estimate", { workflowId })
        assert.deepStrictEqual([status, body.estimatedCredits, body.nodes], [200, 0, []])
        assert.match(
          body.problems[0].message,
          /^Node "a": unknown type "nobody"; a type of your own/,
        )
        assert.deepStrictEqual([body.problems.length, body.problems[0].nodeId], [1, "a"])
        const foreign = yield* call(other, "POST", "/runs/estimate", { workflowId })
        assert.strictEqual(foreign.status, 404)
      }),
    )
  })

  describe("GET /v1/usage", () => {
    it.effect("answers with the balance, and usage by day, workflow and key", () =>
      Effect.gen(function* () {
        const owner = yield* metered(10)
        const workflowId = yield* create(owner, hello)
        const failed = yield* create(owner, failing)
        yield* finish(owner, workflowId)
        yield* finish(owner, workflowId)
        yield* finish(owner, failed)
        const { body, status } = yield* call(owner, "GET", "/usage")
        assert.strictEqual(status, 200)
        const sums = { runs: 3, estimatedCredits: 0.5, actualCredits: 0.5 }
        assert.deepStrictEqual(body.balance, {
          metered: true,
          posted: 9.5,
          reserved: 0,
          available: 9.5,
        })
        assert.deepStrictEqual(body.days, [{ day: body.to, ...sums }])
        assert.deepStrictEqual(body.workflows, [
          { workflowId, workflowName: "Hello", ...sums, runs: 2 },
          {
            workflowId: failed,
            workflowName: "Failing",
            runs: 1,
            estimatedCredits: 0,
            actualCredits: 0,
          },
        ])
        assert.strictEqual(body.keys.length, 1)
        assert.match(body.keys[0].keyId, /^key_/)
        assert.deepStrictEqual({ ...body.keys[0], keyId: 0 }, { keyId: 0, ...sums })
      }),
    )

    it.effect("tells of 30 days, or of the days that are asked about", () =>
      Effect.gen(function* () {
        const owner = yield* metered(1)
        const { body } = yield* call(owner, "GET", "/usage?to=2026-11-21")
        assert.deepStrictEqual([body.from, body.to], ["2026-10-23", "2026-11-21"])
        const asked = yield* call(owner, "GET", "/usage?from=2024-02-29&to=2024-02-29")
        assert.deepStrictEqual([asked.body.from, asked.body.to], ["2024-02-29", "2024-02-29"])
      }),
    )

    const bad = [
      "from=2026-02-30",
      "from=2026-2-3",
      "from=2026-02-03T00:00:00Z",
      "to=x",
      "from=2026-02-02&to=2026-02-01",
      "from=2026-01-01&to=2026-04-03",
    ]
    for (const query of bad) {
      it.effect(`refuses ${query} with 400`, () =>
        Effect.gen(function* () {
          const owner = yield* metered(1)
          const { body, status } = yield* call(owner, "GET", `/usage?${query}`)
          assert.strictEqual(status, 400)
          assert.match(body.error, /^(from|to): expected a day/)
        }),
      )
    }

    it.effect("is about 92 days at most", () =>
      Effect.gen(function* () {
        const owner = yield* metered(1)
        const { body } = yield* call(owner, "GET", "/usage?from=2026-01-01&to=2026-04-02")
        const millis = Date.parse(body.to) - Date.parse(body.from)
        assert.strictEqual(millis / dayMillis, 91)
      }),
    )
  })
})
