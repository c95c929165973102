/**
 * What a session of the console sees: its account, or some workflows of it.
 */
import { assert, layer } from "@effect/vitest"
import { WorkflowId } from "@millrace/core/domain/Id"
import { LedgerStore } from "@millrace/core/ports/LedgerStore"
import { WebhookStore } from "@millrace/core/ports/WebhookStore"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { over, root, tokenOf } from "./ConsoleScene.ts"
import { Harness } from "./Harness.ts"
import { chain, create, deliver, failing, finish, hello } from "./Samples.ts"

layer(over)("A session of some workflows", (it) => {
  it.effect("sees what belongs to them, and nothing else", () =>
    Effect.gen(function* () {
      const { send, tenant } = yield* Harness
      const owner = yield* tenant()
      const [mine, other] = [yield* create(owner, chain), yield* create(owner, chain)]
      const [myRun, otherRun] = [yield* finish(owner, mine), yield* finish(owner, other)]
      const workflows = [WorkflowId.make(mine)]
      const { key } = yield* tokenOf(owner.accountId, { role: "owner", workflows })
      const status = (method: string, path: string, json?: unknown) =>
        Effect.map(send(method, root + path, { key, json }), (each) => each.status)
      assert.strictEqual(yield* status("GET", `/workflows/${mine}`), 200)
      assert.strictEqual(yield* status("GET", `/runs/${myRun}`), 200)
      assert.strictEqual(yield* status("POST", "/runs", { workflowId: mine, values: {} }), 201)
      const hidden = yield* send("GET", `${root}/runs/${otherRun}`, { key })
      const none = yield* send("GET", `${root}/runs/run_none`, { key })
      assert.deepStrictEqual([hidden.status, hidden.text], [none.status, none.text])
      assert.strictEqual(yield* status("GET", `/workflows/${other}`), 404)
      assert.strictEqual(yield* status("PATCH", `/workflows/${other}`, { name: "x" }), 404)
      assert.strictEqual(yield* status("POST", "/runs", { workflowId: other, values: {} }), 404)
      assert.strictEqual(yield* status("POST", `/runs/${otherRun}/cancel`), 404)
      assert.strictEqual(yield* status("GET", `/runs/${otherRun}/deliveries`), 404)
      const listed = (path: string) =>
        Effect.map(send("GET", root + path, { key }), ({ body }) => body.items)
      const ids = (items: ReadonlyArray<{ readonly id: string }>) => items.map(({ id }) => id)
      assert.deepStrictEqual(ids(yield* listed("/workflows")), [mine])
      assert.deepStrictEqual(ids(yield* listed("/workflows?search=none")), [])
      const runs = yield* listed("/runs")
      assert.isTrue(runs.every(({ workflowId }: any) => workflowId === mine))
      assert.include(ids(runs), myRun)
      assert.deepStrictEqual(yield* listed(`/runs?workflowId=${other}`), [])
      const batch = { ids: [myRun, otherRun] }
      const { body } = yield* send("POST", `${root}/runs/batch`, { key, json: batch })
      assert.deepStrictEqual(ids(body.runs), [myRun])
      const watching = (watch: string) => ({ type: "run_end", watch })
      const triggers = `/workflows/${mine}/triggers`
      const foreign = yield* send("POST", root + triggers, { key, json: watching(other) })
      const nobody = yield* send("POST", root + triggers, { key, json: watching("wf_none") })
      assert.deepStrictEqual([foreign.status, nobody.status], [400, 400])
      assert.strictEqual(foreign.text.replaceAll(other, "wf_none"), nobody.text)
      const made = yield* send("POST", `/api/v1${triggers}`, {
        key: owner.key,
        json: watching(other),
      })
      const change = `${triggers}/${made.body.id}`
      assert.strictEqual(yield* status("PATCH", change, { into: { a: "output" } }), 400)
      assert.strictEqual(yield* status("PATCH", change, { enabled: false }), 200)
      assert.strictEqual(yield* status("GET", "/runs?page=1"), 400)
      assert.strictEqual(yield* status("GET", "/keys"), 403)
      assert.strictEqual(yield* status("GET", "/secrets"), 403)
    }),
  )
})

layer(over)("Reruns of failed runs", (it) => {
  it.effect("are of runs that the caller sees, and of no other ones", () =>
    Effect.gen(function* () {
      const { send, tenant } = yield* Harness
      const [owner, stranger] = [yield* tenant(), yield* tenant()]
      const [mine, other] = [yield* create(owner, failing), yield* create(owner, failing)]
      const [myRun, otherRun] = [yield* finish(owner, mine), yield* finish(owner, other)]
      const { key } = yield* tokenOf(owner.accountId, {
        role: "editor",
        workflows: [WorkflowId.make(mine)],
      })
      const ask = (address: string, by: string, json: object) =>
        Effect.map(send("POST", `${address}/runs/rerun-failed`, { key: by, json }), ({ body }) =>
          body.started.map(({ rerunOf }: { readonly rerunOf: string }) => rerunOf),
        )
      assert.deepStrictEqual(yield* ask("/api/v1", stranger.key, { workflowId: mine }), [])
      assert.deepStrictEqual(yield* ask("/api/v1", stranger.key, {}), [])
      assert.deepStrictEqual(yield* ask(root, key, { workflowId: other }), [])
      assert.deepStrictEqual(yield* ask(root, key, {}), [myRun])
      const { body } = yield* send("GET", `/api/v1/runs/${myRun}-r1`, { key: owner.key })
      assert.deepStrictEqual([body.mode, body.rerunOf, body.source], ["rerun", myRun, "ui"])
      assert.include(yield* ask("/api/v1", owner.key, { workflowId: other }), otherRun)
    }),
  )
})

layer(over)("Usage, deliveries and the stream of runs, for a session of some workflows", (it) => {
  /** Two workflows of an account, each with a run and a delivery, and a session of the first. */
  const settled = Effect.gen(function* () {
    const { send, tenant } = yield* Harness
    const owner = yield* tenant()
    const [mine, other] = [yield* create(owner, chain), yield* create(owner, chain)]
    const [myRun, otherRun] = [yield* finish(owner, mine), yield* finish(owner, other)]
    const [myDelivery, otherDelivery] = [
      yield* deliver(owner, myRun),
      yield* deliver(owner, otherRun),
    ]
    yield* deliver(owner)
    const workflows = [WorkflowId.make(mine)]
    const { key } = yield* tokenOf(owner.accountId, { role: "editor", workflows })
    const ask = (method: string, path: string, json?: unknown) =>
      send(method, root + path, { key, json })
    return { ask, owner, mine, other, myRun, otherRun, myDelivery, otherDelivery }
  })

  it.effect("say what belongs to them, and leave out the rest", () =>
    Effect.gen(function* () {
      const { ask, mine, myDelivery, myRun, other, otherRun, owner } = yield* settled
      const usage = yield* ask("GET", "/usage")
      assert.strictEqual(usage.status, 200, usage.text)
      assert.deepStrictEqual(
        usage.body.workflows.map(({ runs, workflowId }: any) => [workflowId, runs]),
        [[mine, 1]],
      )
      assert.deepStrictEqual([usage.body.days.length, usage.body.days[0].runs], [1, 1])
      assert.deepStrictEqual(usage.body.keys, [])
      assert.notProperty(usage.body, "balance")
      const deliveries = yield* ask("GET", "/deliveries")
      const ids = deliveries.body.items.map(({ id }: { readonly id: string }) => id)
      assert.deepStrictEqual(ids, [myDelivery])
      const live = yield* ask("GET", "/runs/live")
      assert.strictEqual(live.status, 200, live.text)
      assert.include(live.text, myRun)
      const said = usage.text + deliveries.text + live.text
      for (const id of [other, otherRun]) assert.notInclude(said, id)
      const named = yield* ask("GET", `/runs/live?workflowId=${other}`)
      assert.notInclude(named.text, "run_")
      const all = yield* tokenOf(owner.accountId, { role: "viewer" })
      const { send } = yield* Harness
      const whole = yield* send("GET", `${root}/usage`, { key: all.key })
      assert.strictEqual(whole.body.days[0].runs, 2)
      assert.property(whole.body.balance, "available")
    }),
  )

  it.effect("learn nothing of the balance from a start that credits do not cover", () =>
    Effect.gen(function* () {
      const { send, tenant } = yield* Harness
      const owner = yield* tenant()
      const workflowId = yield* create(owner, hello)
      const ledger = yield* LedgerStore
      const operation = { accountId: owner.accountId, actor: "ada", reason: "test", id: "m" }
      yield* ledger.meter(operation, true)
      const tokens = [
        yield* tokenOf(owner.accountId, {
          role: "editor",
          workflows: [WorkflowId.make(workflowId)],
        }),
        yield* tokenOf(owner.accountId, { role: "editor" }),
      ]
      const said = []
      for (const { key } of tokens) {
        const { body, status } = yield* send("POST", `${root}/runs`, { key, json: { workflowId } })
        assert.strictEqual(status, 402)
        said.push(body.error.split(", and ")[1])
      }
      assert.deepStrictEqual(said, ["fewer are available", "0 are available"])
    }),
  )

  it.effect("send again what belongs to them, and nothing else", () =>
    Effect.gen(function* () {
      const { ask, myDelivery, otherDelivery, owner } = yield* settled
      const store = yield* WebhookStore
      for (const id of [myDelivery, otherDelivery]) {
        const [claim] = yield* store.claim([id], 60_000)
        const next = { _tag: "Failed", isGone: false } as const
        const { attempt: number, fence } = claim!
        yield* store.record({ id, fence, number, attempt: null, next })
      }
      const sent = yield* ask("POST", "/deliveries/redeliver-failed", {})
      assert.deepStrictEqual([sent.status, sent.body], [200, { count: 1 }])
      const page = yield* store.list({ account: owner.accountId, state: "FAILED", limit: 9 })
      assert.deepStrictEqual(
        page.items.map(({ id }) => id),
        [otherDelivery],
      )
    }),
  )
})

layer(over)("A listing for a session of several workflows", (it) => {
  it.effect("goes on by cursor through all of them, newest first, and each once", () =>
    Effect.gen(function* () {
      const { send, tenant } = yield* Harness
      const owner = yield* tenant()
      const drawn: Array<WorkflowId> = []
      const started: Array<string> = []
      for (let each = 0; each < 3; each++) {
        drawn.push(WorkflowId.make(yield* create(owner, chain)))
        yield* TestClock.adjust("1 second")
      }
      const workflows = drawn.slice(0, 2)
      for (const workflowId of [...drawn, ...drawn, ...workflows]) {
        const run = yield* finish(owner, workflowId)
        if (workflows.includes(workflowId)) started.unshift(run)
        yield* TestClock.adjust("1 second")
      }
      const { key } = yield* tokenOf(owner.accountId, { role: "viewer", workflows })
      const read = Effect.fnUntraced(function* (noun: string, limit: number) {
        const found: Array<string> = []
        let cursor = ""
        do {
          const { body } = yield* send("GET", `${root}/${noun}?limit=${limit}${cursor}`, { key })
          found.push(...body.items.map(({ id }: { readonly id: string }) => id))
          cursor = body.nextCursor === null ? "" : `&cursor=${body.nextCursor}`
        } while (cursor !== "")
        return found
      })
      for (const limit of [1, 2, 4, 50]) {
        assert.deepStrictEqual(yield* read("runs", limit), started)
        assert.deepStrictEqual(yield* read("workflows", limit), workflows.toReversed())
      }
    }),
  )
})

layer(over)("Keys, secrets and sessions of another account", (it) => {
  it.effect("look like those that there are not", () =>
    Effect.gen(function* () {
      const { send, tenant } = yield* Harness
      const [mine, other] = [yield* tenant(), yield* tenant()]
      const { key } = yield* tokenOf(mine.accountId, { role: "owner" })
      const { id, key: theirs } = yield* tokenOf(other.accountId, { role: "owner" })
      const made = yield* send("POST", `${root}/keys`, { key: theirs, json: { label: "theirs" } })
      assert.strictEqual(made.status, 201, made.text)
      const asked = [
        ["PATCH", `/keys/${made.body.id}`, "/keys/key_none", { label: "mine" }],
        ["POST", `/keys/${made.body.id}/revoke`, "/keys/key_none/revoke", undefined],
        ["POST", `/sessions/${id}/revoke`, "/sessions/ses_none/revoke", undefined],
      ] as const
      for (const [method, foreign, unknown, json] of asked) {
        const named = (text: string) => text.replaceAll(/(?:key|ses)_[\w-]+/g, "x")
        const [one, two] = [
          yield* send(method, root + foreign, { key, json }),
          yield* send(method, root + unknown, { key, json }),
        ]
        assert.deepStrictEqual([one.status, named(one.text)], [404, named(two.text)])
      }
      for (const noun of ["keys", "sessions"]) {
        const { text } = yield* send("GET", `${root}/${noun}`, { key })
        assert.notInclude(text, other.accountId)
      }
      const headers = { "x-millrace-account": other.accountId }
      const acted = yield* send("GET", `${root}/workflows`, { key, headers })
      assert.strictEqual(acted.status, 404)
      assert.strictEqual((yield* send("GET", `${root}/session`, { key: theirs })).status, 200)
    }),
  )
})
