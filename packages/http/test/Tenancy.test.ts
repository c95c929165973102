/**
 * One account sees nothing of another. Every operation that the OpenAPI document names is asked
 * about an identifier of its own, a foreign one, an unknown one and malformed ones; a foreign one
 * answers exactly as an unknown one, in status, body and headers. So it is for API keys, for
 * sessions, and for sessions that see only some workflows of their account.
 */
import { assert, describe, layer } from "@effect/vitest"
import { Api } from "@millrace/api/Api"
import { WorkflowId } from "@millrace/core/domain/Id"
import type { NewSession } from "@millrace/core/engine/Sessions"
import { Sessions } from "@millrace/core/engine/Sessions"
import { Effect, Redacted } from "effect"
import { OpenApi } from "effect/http-api"
import { TestClock } from "effect/testing"
import type { Answer, Tenant } from "./Harness.ts"
import { Harness } from "./Harness.ts"
import type { Document, Operation } from "./Operations.ts"
import { bodyExampleOf, bodySchemaOf, operationsOf } from "./Operations.ts"
import {
  ask as asked,
  chain,
  create,
  deliver,
  finish,
  hourly,
  large,
  publish,
  webhook,
  valueOf,
} from "./Samples.ts"

const document = OpenApi.fromApi(Api) as unknown as Document

type Kind = "workflow" | "run" | "value" | "delivery" | "trigger" | "approval"

/** What an account has of each kind. */
type Ids = Readonly<Record<Kind, string>>

/** Somebody with an account's things. */
interface Settled {
  readonly owner: Tenant
  readonly ids: Ids
  /** Where the interface is that the owner's key, or token, opens. */
  readonly root: string
}

/** A place of a request where an identifier goes. */
interface Slot {
  readonly operation: Operation
  readonly place: "path" | "query" | "body"
  readonly name: string
  readonly kind: Kind
}

/** Names of fields and parameters that hold identifiers of things that an account owns. */
const owned: Readonly<Record<string, Kind>> = { workflowId: "workflow", runId: "run", ids: "run" }

/** What the identifier in an operation's path names. */
const kindOf = ({ path }: Operation): Kind => {
  if (path.includes("/approvals/")) return "approval"
  const kinds = { runs: "run", deliveries: "delivery", workflows: "workflow" } as const
  return kinds[path.split("/")[3] as keyof typeof kinds]
}

const slotsOf = (operation: Operation): ReadonlyArray<Slot> => {
  const { path, parameters } = operation
  const kind = kindOf(operation)
  const inPath = path.includes("{id}")
    ? [{ operation, place: "path", name: "id", kind } as const]
    : []
  const inRun = path.includes("{valueId}")
    ? [{ operation, place: "path", name: "valueId", kind: "value" } as const]
    : []
  const inWorkflow = path.includes("{triggerId}")
    ? [{ operation, place: "path", name: "triggerId", kind: "trigger" } as const]
    : []
  const inQuery = parameters.flatMap(({ in: place, name }) => {
    const owner = place === "query" ? owned[name] : undefined
    return owner === undefined ? [] : [{ operation, place: "query", name, kind: owner } as const]
  })
  const fields = Object.keys(bodySchemaOf(document, operation)?.properties ?? {})
  const inBody = fields.flatMap((name) => {
    const owner = owned[name]
    return owner === undefined ? [] : [{ operation, place: "body", name, kind: owner } as const]
  })
  return [...inPath, ...inRun, ...inWorkflow, ...inQuery, ...inBody]
}

const operations = operationsOf(document)
const slots = operations.flatMap(slotsOf)

/** Operations that name no thing of an account. A new one belongs here only if that is so. */
const withoutSlot = [
  "nodeTypes.list",
  "usage.read",
  "workflows.create",
  "workflows.list",
  "triggers.paused",
  "triggers.pause",
  "triggers.resume",
  "deliveries.listAll",
  "deliveries.redeliverFailed",
]

/** Bodies that fit the workflow of the tests, where the document's example does not. */
const bodies: Readonly<Record<string, (ids: Ids) => object>> = {
  "workflows.addNode": () => ({ nodeType: "echo" }),
  "triggers.create": () => hourly,
  "triggers.update": () => ({ enabled: false }),
  "runs.planRerun": () => ({ from: ["say"] }),
  "approvals.decide": () => ({ outcome: "rejected" }),
  "approvals.link": () => ({ address: "ann@example.com" }),
  "workflows.evaluate": ({ run }) => ({ runId: run, nodeId: "say", text: "{{ run.id }}" }),
}

const bodyOf = ({ operation, place, name }: Slot, ids: Ids, id: string) => {
  const example = bodies[operation.operationId]?.(ids) ?? bodyExampleOf(operation)
  if (place !== "body") return example
  return { ...example, [name]: name === "ids" ? [id] : id }
}

/** Asks with this identifier in the slot; whatever else the operation names is the account's. */
const ask = Effect.fnUntraced(function* (slot: Slot, { ids, owner, root }: Settled, id: string) {
  const { send } = yield* Harness
  const { method, path } = slot.operation
  const named = slot.name === "id" ? id : ids[kindOf(slot.operation)]
  const value = slot.name === "valueId" ? id : ids.value
  const trigger = slot.name === "triggerId" ? id : ids.trigger
  const query = slot.place === "query" ? `?${slot.name}=${encodeURIComponent(id)}` : ""
  const address = path
    .replace("/api/v1", root)
    .replace("{id}", encodeURIComponent(named))
    .replace("{triggerId}", encodeURIComponent(trigger))
    .replace("{nodeId}", "say")
    .replace("{version}", "1")
    .replace("{valueId}", encodeURIComponent(value))
  return yield* send(method, address + query, { key: owner.key, json: bodyOf(slot, ids, id) })
})

/** What of an answer could tell one identifier from another. */
const tellOf = ({ headers, status, text }: Answer) => ({
  status,
  text,
  headers: [...headers].filter(
    ([name]) => !["x-request-id", "x-ratelimit-remaining"].includes(name),
  ),
})

/** A workflow of an account, and a run of it. */
const settle = Effect.fnUntraced(function* (owner: Tenant) {
  const { send } = yield* Harness
  // Followers of many runs are spaced in time.
  yield* TestClock.adjust("1 second")
  const workflow = yield* create(owner, chain)
  const run = yield* finish(owner, workflow, large)
  const value = yield* valueOf(owner, run)
  const delivery = yield* deliver(owner, run)
  const trigger = yield* webhook(owner, workflow)
  const approval = yield* asked(owner, workflow)
  yield* publish(owner, workflow)
  const view = Effect.gen(function* () {
    const paths = [
      `workflows/${workflow}`,
      `runs/${run}`,
      "workflows",
      "runs",
      `runs/${approval}/approvals/say`,
      `deliveries/${delivery}`,
      `workflows/${workflow}/triggers/${trigger}`,
      `workflows/${workflow}/versions`,
      `workflows/${workflow}/versions/1`,
    ]
    return yield* Effect.forEach(paths, (path) =>
      Effect.map(send("GET", `/api/v1/${path}`, { key: owner.key }), ({ body }) => body),
    )
  })
  return {
    owner,
    ids: { workflow, run, value, delivery, trigger, approval },
    view,
    root: "/api/v1",
  }
})

/** An account with a workflow and a run of it. */
const settled = Effect.flatMap(
  Effect.flatMap(Harness, ({ tenant }) => tenant()),
  settle,
)

type Scene = Effect.Success<typeof settled>

/** The same for a session of the account. */
const withSession = Effect.fnUntraced(function* (scene: Scene, wanted: NewSession) {
  const sessions = yield* Sessions
  const { token } = yield* Effect.orDie(sessions.create(scene.owner.accountId, wanted))
  const owner = { ...scene.owner, key: Redacted.value(token) }
  return { ...scene, owner, root: "/api/console/v1" }
})

/** Who asks about what: about things of their own, and about those of somebody else. */
const askers = {
  "an API key": Effect.all({ own: settled, other: settled }),
  "a session": Effect.gen(function* () {
    const [own, other] = [yield* settled, yield* settled]
    return { own: yield* withSession(own, { role: "owner" }), other }
  }),
  "a session of some workflows": Effect.gen(function* () {
    const own = yield* settled
    const workflows = [WorkflowId.make(own.ids.workflow)]
    const other = yield* settle(own.owner)
    return { own: yield* withSession(own, { role: "editor", workflows }), other }
  }),
}

/** What a session of some workflows may never do. */
const never = ["workflows.duplicate", "approvals.link"]

/** What finds nothing here, where no run has failed; `ConsoleReach.test.ts` asks about others. */
const namesNothing = ["runs.rerunFailed", "workflows.live", "workflows.signal"]

const unlike = (id: string) => id.replace(/.$/, (last) => (last === "0" ? "1" : "0"))

const malformed = [
  "\0",
  "a\0b",
  "%",
  "..",
  "../..",
  "wf_",
  "__proto__",
  " ",
  "ä😀",
  "x".repeat(5_000),
]

layer(Harness.layer)("tenancy", (it) => {
  describe("every operation of the document", () => {
    it.effect("is asked about what it names, or is known to name nothing", () =>
      Effect.sync(() => {
        const asked = new Set(slots.map(({ operation }) => operation.operationId))
        const names = operations.map(({ operationId }) => operationId)
        assert.sameMembers(
          names.filter((name) => !asked.has(name)),
          withoutSlot,
        )
      }),
    )
  })

  for (const [who, scene] of Object.entries(askers)) {
    for (const slot of slots) {
      const { operation, place, name } = slot
      const canMiss = "404" in operation.responses
      const isForbidden = who.endsWith("workflows") && never.includes(operation.operationId)

      describe(`${operation.operationId} with ${name} in its ${place}, by ${who}`, () => {
        it.effect("knows what is the asker's own", () =>
          Effect.gen(function* () {
            const { own } = yield* scene
            const { ids } = own
            const answer = yield* ask(slot, own, ids[slot.kind])
            const fine = isForbidden ? [403] : [200, 201, 202, 204, 409]
            assert.include(fine, answer.status, answer.text)
            if (canMiss || isForbidden || namesNothing.includes(operation.operationId)) return
            assert.include(answer.text, ids[slot.kind])
          }),
        )

        it.effect(
          "answers about a foreign thing as about an unknown one, and changes nothing",
          () =>
            Effect.gen(function* () {
              const { other, own } = yield* scene
              const { ids, view } = other
              const before = yield* view
              const foreign = yield* ask(slot, own, ids[slot.kind])
              const unknown = yield* ask(slot, own, unlike(ids[slot.kind]))
              assert.deepStrictEqual(tellOf(foreign), tellOf(unknown))
              const expected = isForbidden ? 403 : canMiss ? 404 : 200
              assert.strictEqual(foreign.status, expected, foreign.text)
              assert.notInclude(foreign.text, ids[slot.kind])
              assert.deepStrictEqual(yield* view, before)
            }),
        )

        it.effect("answers about a malformed identifier in the form that it always has", () =>
          Effect.gen(function* () {
            const { own } = yield* scene
            for (const id of malformed) {
              // `/runs/../deliveries` is the address of the account's own.
              const answer = yield* ask(slot, own, id)
              const what = `${JSON.stringify(id.slice(0, 20))}: ${answer.status} ${answer.text}`
              const isElsewhere = id === ".." && operation.operationId === "deliveries.list"
              const mayFind = !canMiss || isElsewhere
              const known = mayFind ? [200, 400] : [400, 404]
              const fine = isForbidden || isElsewhere ? [...known, 403, 404] : known
              assert.include(fine, answer.status, what)
              if (answer.status >= 400) assert.deepStrictEqual(Object.keys(answer.body), ["error"])
              if (id.includes("\0") && !isForbidden) assert.strictEqual(answer.status, 400, what)
            }
          }),
        )
      })
    }
  }

  describe("listings", () => {
    it.effect("show only what the account has", () =>
      Effect.gen(function* () {
        const { send, tenant } = yield* Harness
        const { ids } = yield* settled
        const { key } = yield* tenant()
        for (const query of ["", `?search=${ids.run}`, "?search=chain", "?page=1"]) {
          for (const noun of ["workflows", "runs"]) {
            const { body } = yield* send("GET", `/api/v1/${noun}${query}`, { key })
            assert.deepStrictEqual(body, { items: [], nextCursor: null })
          }
        }
      }),
    )

    it.effect("refuse the cursor of another account", () =>
      Effect.gen(function* () {
        const { send, tenant } = yield* Harness
        const { owner } = yield* settled
        yield* create(owner, chain)
        const path = "/api/v1/workflows?limit=1"
        const { body } = yield* send("GET", path, { key: owner.key })
        const { key } = yield* tenant()
        const next = `${path}&cursor=${body.nextCursor}`
        assert.strictEqual((yield* send("GET", next, { key: owner.key })).status, 200)
        assert.strictEqual((yield* send("GET", next, { key })).status, 400)
      }),
    )
  })
})
