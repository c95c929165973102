/**
 * One account sees nothing of another: a foreign identifier answers exactly as an unknown one.
 */
import { assert, describe, layer } from "@effect/vitest"
import { Effect } from "effect"
import type { Answer } from "./Harness.ts"
import { Harness } from "./Harness.ts"
import { create, endless, hello, start } from "./Samples.ts"

interface Operation {
  readonly name: string
  readonly method: string
  readonly path: (id: string) => string
  readonly json?: (id: string) => unknown
}

const ofWorkflows: ReadonlyArray<Operation> = [
  { name: "reading", method: "GET", path: (id) => `/workflows/${id}` },
  {
    name: "changing",
    method: "PATCH",
    path: (id) => `/workflows/${id}`,
    json: () => ({ name: "Taken" }),
  },
  { name: "deleting", method: "DELETE", path: (id) => `/workflows/${id}` },
  { name: "duplicating", method: "POST", path: (id) => `/workflows/${id}/duplicate` },
  {
    name: "adding a node to",
    method: "POST",
    path: (id) => `/workflows/${id}/nodes`,
    json: () => ({ nodeType: "echo" }),
  },
  {
    name: "starting",
    method: "POST",
    path: () => "/runs",
    json: (workflowId) => ({ workflowId }),
  },
  { name: "listing the runs of", method: "GET", path: (id) => `/runs?workflowId=${id}` },
]

const ofRuns: ReadonlyArray<Operation> = [
  { name: "reading", method: "GET", path: (id) => `/runs/${id}` },
  { name: "canceling", method: "POST", path: (id) => `/runs/${id}/cancel` },
  { name: "listing the deliveries of", method: "GET", path: (id) => `/runs/${id}/deliveries` },
  { name: "searching", method: "GET", path: (id) => `/runs?search=${id}` },
  { name: "batching", method: "POST", path: () => "/runs/batch", json: (id) => ({ ids: [id] }) },
]

/** What of an answer could tell a foreign identifier from an unknown one. */
const tellOf = ({ headers, status, text }: Answer, id: string) => ({
  status,
  text: text.replaceAll(id, "ID"),
  headers: [...headers]
    .filter(([name]) => !["x-request-id", "x-ratelimit-remaining"].includes(name))
    .map(([name, value]) => [name, value.replaceAll(id, "ID")]),
})

const isHidden = Effect.fnUntraced(function* (
  operation: Operation,
  foreign: string,
  unknown: string,
) {
  const { send, tenant } = yield* Harness
  const { key } = yield* tenant()
  const ask = (id: string) =>
    Effect.map(
      send(operation.method, `/api/v1${operation.path(id)}`, { key, json: operation.json?.(id) }),
      (answer) => tellOf(answer, id),
    )
  assert.deepStrictEqual(yield* ask(foreign), yield* ask(unknown))
})

layer(Harness.layer)("tenancy", (it) => {
  describe("a workflow of another account", () => {
    for (const operation of ofWorkflows) {
      it.effect(`is as unknown as any to ${operation.name} it, and stays as it is`, () =>
        Effect.gen(function* () {
          const { send, tenant } = yield* Harness
          const owner = yield* tenant()
          const id = yield* create(owner, hello)
          yield* start(owner, id)
          yield* isHidden(
            operation,
            id,
            id.replace(/.$/, (last) => (last === "0" ? "1" : "0")),
          )
          const { body, headers } = yield* send("GET", `/api/v1/workflows/${id}`, {
            key: owner.key,
          })
          assert.strictEqual(body.name, hello.name)
          assert.strictEqual(headers.get("etag"), '"1"')
        }),
      )
    }
  })

  describe("a run of another account", () => {
    for (const operation of ofRuns) {
      it.effect(`is as unknown as any to ${operation.name} it, and stays as it is`, () =>
        Effect.gen(function* () {
          const { send, tenant } = yield* Harness
          const owner = yield* tenant()
          const id = yield* start(owner, yield* create(owner, endless))
          yield* isHidden(
            operation,
            id,
            id.replace(/.$/, (last) => (last === "0" ? "1" : "0")),
          )
          const { body } = yield* send("GET", `/api/v1/runs/${id}`, { key: owner.key })
          assert.notStrictEqual(body.status, "CANCELED")
          yield* send("POST", `/api/v1/runs/${id}/cancel`, { key: owner.key })
        }),
      )
    }
  })

  describe("listings", () => {
    it.effect("show only what the account has", () =>
      Effect.gen(function* () {
        const { send, tenant } = yield* Harness
        const owner = yield* tenant()
        yield* start(owner, yield* create(owner, hello))
        const { key } = yield* tenant()
        for (const noun of ["workflows", "runs"]) {
          const { body } = yield* send("GET", `/api/v1/${noun}`, { key })
          assert.deepStrictEqual(body, { items: [], nextCursor: null })
        }
      }),
    )
  })
})
