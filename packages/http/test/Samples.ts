/**
 * Small workflows for the tests of the interface, and short ways to store and start them.
 */
import { DeliveryId, RunId } from "@millrace/core/domain/Id"
import { Runs } from "@millrace/core/engine/Runs"
import { WebhookStore } from "@millrace/core/ports/WebhookStore"
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { Harness } from "./Harness.ts"
import type { Tenant } from "./Harness.ts"

const at = (x: number) => ({ x, y: 0 })

/** One node, complete: it runs at once. */
export const hello = {
  name: "Hello",
  nodes: [{ id: "say", type: "echo", position: at(0), data: { inputs: { text: "hi" } } }],
}

/** Two nodes in a row; the second counts the words of the first. */
export const chain = {
  name: "Chain",
  description: "Counts words",
  thumbnailUrl: "https://example.com/chain.png",
  nodes: [
    { id: "say", type: "echo", position: at(0), data: { inputs: { text: "one two" } } },
    { id: "count", type: "measure", position: at(360), data: { mode: "words" } },
  ],
  edges: [{ id: "e1", source: "say", target: "count", targetHandle: "text" }],
}

/** A request of a run of {@link chain} whose first node puts out a large value. */
export const large = { graphInputOverrides: { say: { text: "word ".repeat(20_000) } } }

/** The id of the large value that the first node of a run has put out. */
export const valueOf = Effect.fnUntraced(function* (tenant: Tenant, runId: string) {
  const { send } = yield* Harness
  const { body } = yield* send("GET", `/api/v1/runs/${runId}`, { key: tenant.key })
  return body.nodeRuns[0].largeValues[0].id as string
})

/** A schedule that is due once an hour. */
export const hourly = { type: "schedule", everySeconds: 3_600 }

/** Makes a trigger of a workflow. */
export const trigger = Effect.fnUntraced(function* (
  { key }: Tenant,
  workflow: string,
  json: object,
) {
  const { send } = yield* Harness
  return (yield* send("POST", `/api/v1/workflows/${workflow}/triggers`, { key, json })).body
})

/** Stores an inbound webhook through the interface and answers with its id. */
export const webhook = (tenant: Tenant, workflow: string) =>
  Effect.map(trigger(tenant, workflow, { type: "webhook" }), ({ id }) => id as string)

/** Publishes a workflow. */
export const publish = Effect.fnUntraced(function* (tenant: Tenant, workflow: string) {
  const { send } = yield* Harness
  const path = `/api/v1/workflows/${workflow}/publish`
  const answer = yield* send("POST", path, { key: tenant.key, json: {} })
  assert.strictEqual(answer.status, 200, answer.text)
})

/** One node that never ends by itself. */
export const endless = {
  name: "Endless",
  nodes: [{ id: "wait", type: "hang", position: at(0) }],
}

/** One node that fails. */
export const failing = {
  name: "Failing",
  nodes: [{ id: "bad", type: "broken", position: at(0) }],
}

/** Stores a workflow through the interface and answers with its id. */
export const create = Effect.fnUntraced(function* (tenant: Tenant, content: object) {
  const { send } = yield* Harness
  const { body, status } = yield* send("POST", "/api/v1/workflows", {
    key: tenant.key,
    json: content,
  })
  if (status !== 201) return yield* Effect.die(new Error(JSON.stringify(body)))
  return body.id as string
})

let delivered = 0

/** Puts a delivery of a run into the store, as a commit would, and answers with its id. */
export const deliver = Effect.fnUntraced(function* ({ accountId }: Tenant, run?: string) {
  const store = yield* WebhookStore
  const origin = "https://receiver.example"
  const id = DeliveryId.make(`msg_sample-${String(++delivered).padStart(6, "0")}x0`)
  yield* Effect.orDie(
    store.insert({
      id,
      accountId,
      runId: run === undefined ? null : RunId.make(run),
      sequence: null,
      type: "webhook.test",
      url: `${origin}/hook`,
      origin,
      headers: null,
      body: "{}",
      createdAt: 0,
    }),
  )
  return id
})

/** Starts a run through the interface and answers with its id. */
export const start = Effect.fnUntraced(function* (tenant: Tenant, workflowId: string, rest = {}) {
  const { send } = yield* Harness
  const { body, status } = yield* send("POST", "/api/v1/runs", {
    key: tenant.key,
    json: { workflowId, ...rest },
  })
  if (status !== 201) return yield* Effect.die(new Error(JSON.stringify(body)))
  return body.runId as RunId
})

/** Starts a run of {@link chain} whose first node asks people, and waits until it does. */
export const ask = Effect.fnUntraced(function* (tenant: Tenant, workflowId: string) {
  const { send } = yield* Harness
  const asking = { id: "say", type: "approval", position: at(0), data: {} }
  const run = yield* start(tenant, workflowId, { nodeOverrides: [asking] })
  const path = `/api/v1/runs/${run}/approvals/say`
  yield* send("GET", path, { key: tenant.key }).pipe(
    Effect.repeat({ until: ({ body }) => body.status === "pending" }),
  )
  return run
})

/** Starts a run and waits for its end. */
export const finish = Effect.fnUntraced(function* (tenant: Tenant, workflowId: string, rest = {}) {
  const runs = yield* Runs
  const id = yield* start(tenant, workflowId, rest)
  yield* Effect.orDie(runs.wait(tenant.accountId, id))
  return id
})
