/**
 * Every status that the OpenAPI document names for an operation, brought about once; each answer is
 * held against the document.
 */
import { assert, describe, it, layer } from "@effect/vitest"
import { Api } from "@millrace/api/Api"
import { defaultLimits } from "@millrace/core/domain/Limits"
import * as Engine from "@millrace/core/engine/Engine"
import { Sessions } from "@millrace/core/engine/Sessions"
import { KeyStore } from "@millrace/core/ports/KeyStore"
import { StorageError } from "@millrace/core/ports/StorageError"
import * as Stores from "@millrace/memory/Stores"
import { Effect, Layer, Logger, Redacted } from "effect"
import { OpenApi } from "effect/http-api"
import { makeDeviationOf } from "./Conformity.ts"
import type { Answer, Parts, Tenant } from "./Harness.ts"
import { Harness, types } from "./Harness.ts"
import type { Document, Operation } from "./Operations.ts"
import { operationsOf } from "./Operations.ts"
import {
  ask,
  chain,
  create,
  deliver,
  finish,
  hourly,
  large,
  publish,
  webhook,
  start,
  valueOf,
} from "./Samples.ts"

const document = OpenApi.fromApi(Api) as unknown as Document
const deviationOf = makeDeviationOf(document)
const operations = operationsOf(document)

/** What a request can refer to. */
interface Stage {
  readonly owner: Tenant
  readonly workflow: string
  /** A run that has ended, well. */
  readonly run: string
  readonly value: string
  readonly delivery: string
  readonly trigger: string
  /** A run of which the node `say` asks. */
  readonly asking: string
}

/** Method, path below `/api/v1`, and the rest. */
type Call = readonly [method: string, path: string, parts?: Parts]

/** A request of an operation that succeeds. */
const fine: Readonly<Record<string, (stage: Stage) => Call>> = {
  "workflows.list": () => ["GET", "/workflows?limit=1"],
  "workflows.create": () => ["POST", "/workflows", { json: chain }],
  "workflows.get": ({ workflow }) => ["GET", `/workflows/${workflow}`],
  "workflows.update": ({ workflow }) => [
    "PATCH",
    `/workflows/${workflow}`,
    { json: { name: "New" }, headers: { "if-match": '"1"' } },
  ],
  "workflows.remove": ({ workflow }) => ["DELETE", `/workflows/${workflow}`],
  "workflows.duplicate": ({ workflow }) => ["POST", `/workflows/${workflow}/duplicate`],
  "workflows.addNode": ({ workflow }) => [
    "POST",
    `/workflows/${workflow}/nodes`,
    { json: { nodeType: "measure", mode: "words", inputs: { text: "x" } } },
  ],
  "workflows.validate": ({ workflow }) => ["POST", `/workflows/${workflow}/validate`, { json: {} }],
  "workflows.evaluate": ({ run, workflow }) => [
    "POST",
    `/workflows/${workflow}/evaluate`,
    { json: { runId: run, nodeId: "a", text: "{{ run.id }}" } },
  ],
  "workflows.signal": ({ workflow }) => [
    "POST",
    `/workflows/${workflow}/signals/paid`,
    { json: { correlation: "17", payload: 1 } },
  ],
  "workflows.publish": ({ workflow }) => [
    "POST",
    `/workflows/${workflow}/publish`,
    { json: { note: "First" }, headers: { "if-match": '"1"' } },
  ],
  "workflows.unpublish": ({ workflow }) => ["POST", `/workflows/${workflow}/unpublish`],
  "workflows.versions": ({ workflow }) => ["GET", `/workflows/${workflow}/versions?limit=1`],
  "workflows.version": ({ workflow }) => ["GET", `/workflows/${workflow}/versions/1`],
  "workflows.restore": ({ workflow }) => [
    "POST",
    `/workflows/${workflow}/versions/1/restore`,
    { headers: { "if-match": '"1"' } },
  ],
  "workflows.difference": ({ workflow }) => [
    "GET",
    `/workflows/${workflow}/versions/1/difference?with=1`,
  ],
  "triggers.list": ({ workflow }) => ["GET", `/workflows/${workflow}/triggers`],
  "triggers.create": ({ workflow }) => [
    "POST",
    `/workflows/${workflow}/triggers`,
    { json: hourly },
  ],
  "triggers.get": ({ trigger, workflow }) => ["GET", `/workflows/${workflow}/triggers/${trigger}`],
  "triggers.update": ({ trigger, workflow }) => [
    "PATCH",
    `/workflows/${workflow}/triggers/${trigger}`,
    { json: { enabled: false } },
  ],
  "triggers.readdress": ({ trigger, workflow }) => [
    "POST",
    `/workflows/${workflow}/triggers/${trigger}/address`,
  ],
  "triggers.beginTest": ({ trigger, workflow }) => [
    "POST",
    `/workflows/${workflow}/triggers/${trigger}/test`,
  ],
  "triggers.readTest": ({ trigger, workflow }) => [
    "GET",
    `/workflows/${workflow}/triggers/${trigger}/test`,
  ],
  "triggers.endTest": ({ trigger, workflow }) => [
    "DELETE",
    `/workflows/${workflow}/triggers/${trigger}/test`,
  ],
  "triggers.remove": ({ trigger, workflow }) => [
    "DELETE",
    `/workflows/${workflow}/triggers/${trigger}`,
  ],
  "triggers.paused": () => ["GET", "/triggers/pause"],
  "triggers.pause": () => ["POST", "/triggers/pause"],
  "triggers.resume": () => ["POST", "/triggers/resume"],
  "workflows.live": ({ workflow }) => ["GET", `/workflows/${workflow}/live`],
  "runs.list": () => ["GET", "/runs"],
  "runs.live": () => ["GET", "/runs/live"],
  "runs.start": ({ workflow }) => ["POST", "/runs", { json: { workflowId: workflow } }],
  "runs.estimate": ({ workflow }) => ["POST", "/runs/estimate", { json: { workflowId: workflow } }],
  "runs.batch": ({ run }) => ["POST", "/runs/batch", { json: { ids: [run] } }],
  "runs.get": ({ run }) => ["GET", `/runs/${run}`],
  "runs.node": ({ run }) => ["GET", `/runs/${run}/nodes/say`],
  "runs.items": ({ run }) => ["GET", `/runs/${run}/nodes/say/items`],
  "runs.definition": ({ run }) => ["GET", `/runs/${run}/definition`],
  "runs.value": ({ run, value }) => ["GET", `/runs/${run}/values/${value}`],
  "runs.events": ({ run }) => ["GET", `/runs/${run}/events`],
  "runs.cancel": ({ run }) => ["POST", `/runs/${run}/cancel`],
  "runs.signal": ({ run }) => ["POST", `/runs/${run}/signals/paid`, { json: { payload: 1 } }],
  "runs.rerun": ({ run }) => ["POST", `/runs/${run}/rerun`, { json: { from: ["say"] } }],
  "runs.rerunFailed": () => ["POST", "/runs/rerun-failed", { json: {} }],
  "runs.planRerun": ({ run }) => ["POST", `/runs/${run}/rerun/plan`, { json: { from: ["say"] } }],
  "approvals.list": () => ["GET", "/approvals"],
  "approvals.get": ({ asking }) => ["GET", `/runs/${asking}/approvals/say`],
  "approvals.decide": ({ asking }) => [
    "POST",
    `/runs/${asking}/approvals/say/decide`,
    { json: { outcome: "approved" } },
  ],
  "approvals.link": ({ asking }) => [
    "POST",
    `/runs/${asking}/approvals/say/link`,
    { json: { address: "ann@example.com" } },
  ],
  "deliveries.list": ({ run }) => ["GET", `/runs/${run}/deliveries`],
  "deliveries.listAll": () => ["GET", "/deliveries?state=FAILED"],
  "deliveries.redeliverFailed": () => ["POST", "/deliveries/redeliver-failed", { json: {} }],
  "deliveries.get": ({ delivery }) => ["GET", `/deliveries/${delivery}`],
  "deliveries.redeliver": ({ delivery }) => ["POST", `/deliveries/${delivery}/redeliver`],
  "usage.read": () => ["GET", "/usage"],
  "nodeTypes.list": () => ["GET", "/node-types"],
}

const callOf = ({ operationId }: Operation, stage: Stage): Call => {
  const make = fine[operationId]
  if (make === undefined) throw new Error(`say how ${operationId} is called`)
  return make(stage)
}

const send = Effect.fnUntraced(function* (stage: Stage, [method, path, parts]: Call) {
  const harness = yield* Harness
  return yield* harness.send(method, `/api/v1${path}`, { key: stage.owner.key, ...parts })
})

const stage = Effect.gen(function* () {
  const { tenant } = yield* Harness
  const owner = yield* tenant()
  const workflow = yield* create(owner, chain)
  const delivery = yield* deliver(owner)
  const run = yield* finish(owner, workflow, large)
  const value = yield* valueOf(owner, run)
  const trigger = yield* webhook(owner, workflow)
  const asking = yield* ask(owner, workflow)
  yield* publish(owner, workflow)
  return { owner, workflow, run, value, delivery, trigger, asking } satisfies Stage
})

const wantsOpenRun = ({ operationId }: Operation) =>
  operationId === "runs.cancel" || operationId === "runs.signal"

const withParts = ([method, path]: Call, parts: Parts): Call => [method, path, parts]

const json = { "content-type": "application/json" }

/** What an operation answers about a run that goes on. */
const whileOpen = Effect.fnUntraced(function* (each: Operation, at: Stage) {
  const hang = { id: "say", type: "hang", position: { x: 0, y: 0 } }
  const run = yield* start(at.owner, yield* create(at.owner, { name: "Hang", nodes: [hang] }))
  const answer = yield* send(at, callOf(each, { ...at, run }))
  // Nothing may go on when the test ends.
  yield* send(at, ["POST", `/runs/${run}/cancel`])
  return answer
})

/**
 * More changes of one workflow at once than may wait: what the one that is refused gets. A server
 * that makes them faster than they arrive is asked again.
 */
const crowd = (each: Operation, at: Stage) => {
  const calls = Array.from({ length: defaultLimits.workflowChangesWaiting + 2 }, () =>
    send(at, callOf(each, at)),
  )
  return Effect.all(calls, { concurrency: "unbounded" }).pipe(
    Effect.map((answers) => answers.find(({ status }) => status === 409) ?? answers[0]!),
    Effect.repeat({ until: ({ status }) => status === 409, times: 20 }),
  )
}

/** What an operation answers under the idempotency key of another request. */
const otherBody = Effect.fnUntraced(function* (each: Operation, at: Stage) {
  const headers = { "idempotency-key": "k" }
  yield* send(at, ["POST", "/runs", { json: { workflowId: at.workflow }, headers }])
  const [method, path] = callOf(each, at)
  const raw = `{ "workflowId": "${at.workflow}" }`
  return yield* send(at, [method, path, { raw, headers: { ...headers, ...json } }])
})

const nothing = {
  workflow: "wf_none",
  run: "run_none",
  delivery: "msg_none",
  asking: "run_none",
}

/** How each error is brought about, for any operation that can have it. */
const errors: Readonly<
  Record<
    string,
    (each: Operation, stage: Stage) => Effect.Effect<Answer, never, Harness | Sessions>
  >
> = {
  "400": (each, at) => {
    const [method, path, parts] = callOf(each, at)
    return send(at, [method, `${path}${path.includes("?") ? "&" : "?"}x=%ff`, parts ?? {}])
  },
  "401": (each, at) => {
    const [method, path, parts] = callOf(each, at)
    return send(at, [method, path, { ...parts, key: "mr_nobody" }])
  },
  "402": (_, at) =>
    send(at, ["POST", "/runs", { json: { workflowId: at.workflow, maxCredits: 0 } }]),
  // API keys act for the whole account; a session has a role.
  "403": (each, at) =>
    Effect.gen(function* () {
      const sessions = yield* Sessions
      const made = sessions.create(at.owner.accountId, { role: "viewer" })
      const key = Redacted.value((yield* Effect.orDie(made)).token)
      const [method, path, parts] = callOf(each, at)
      const harness = yield* Harness
      return yield* harness.send(method, `/api/console/v1${path}`, { ...parts, key })
    }),
  "404": (each, at) =>
    each.operationId === "runs.start"
      ? send(at, ["POST", "/runs", { json: { workflowId: "wf_none" } }])
      : send(at, callOf(each, { ...at, ...nothing })),
  "409": (each, at) => {
    if (each.path.endsWith("/rerun-failed")) return otherBody(each, at)
    if (each.path.includes("/rerun")) return whileOpen(each, at)
    if (wantsOpenRun(each)) return send(at, callOf(each, at))
    if (each.path.includes("/approvals/")) {
      return Effect.andThen(
        send(at, ["POST", `/runs/${at.asking}/cancel`]),
        send(at, callOf(each, at)),
      )
    }
    return each.operationId === "runs.start" ? otherBody(each, at) : crowd(each, at)
  },
  "412": (each, at) => {
    const [method, path, parts] = callOf(each, at)
    return send(at, [method, path, { ...parts, headers: { "if-match": '"7"' } }])
  },
  "413": (each, at) =>
    send(at, withParts(callOf(each, at), { raw: " ".repeat(1_048_577), headers: json })),
  "415": (each, at) => {
    const headers = { "content-type": "text/plain" }
    return send(at, withParts(callOf(each, at), { raw: "{}", headers }))
  },
  "429": (each, at) =>
    Effect.gen(function* () {
      const owner = yield* (yield* Harness).tenant({ perMinute: 1 })
      yield* send({ ...at, owner }, ["GET", "/node-types"])
      return yield* send({ ...at, owner }, callOf(each, at))
    }),
}

/** A success; some operations take a run that is open. */
const succeed = Effect.fnUntraced(function* (each: Operation, status: string, at: Stage) {
  if (each.operationId === "runs.events" && status === "204") {
    const headers = { "last-event-id": "4" }
    return yield* send(at, withParts(callOf(each, at), { headers }))
  }
  if (!wantsOpenRun(each)) return yield* send(at, callOf(each, at))
  const hang = { id: "say", type: "hang", position: { x: 0, y: 0 } }
  const edges = { edges: [], nodes: [hang] }
  const workflow = yield* create(at.owner, { name: "Hang", ...edges })
  const run = yield* start(at.owner, workflow)
  const answer = yield* send(at, callOf(each, { ...at, run }))
  // Nothing may go on when the test ends.
  yield* send(at, ["POST", `/runs/${run}/cancel`])
  return answer
})

const isAsPromised = (each: Operation, status: string, answer: Answer) => {
  assert.strictEqual(String(answer.status), status, answer.text)
  // A session has no rate limit to tell of.
  if (status === "403") assert.deepStrictEqual(Object.keys(answer.body), ["error"])
  else assert.isUndefined(deviationOf(each, answer))
}

layer(Harness.layer)("statuses", (test) => {
  for (const each of operations) {
    describe(`${each.method} ${each.path}`, () => {
      for (const status of Object.keys(each.responses).filter((one) => one < "500")) {
        test.effect(`answers ${status} as the document says`, () =>
          Effect.gen(function* () {
            const at = yield* stage
            const bring = errors[status]
            if (status >= "400" && bring === undefined) throw new Error(`how is ${status} got?`)
            const answer = yield* bring?.(each, at) ?? succeed(each, status, at)
            isAsPromised(each, status, answer)
          }),
        )
      }
    })
  }
})

const failure = new StorageError({ operation: "test", cause: new Error("hunter2") })

/** The interface over a store of keys that does this with every request. */
const overKeys = (admit: Effect.Effect<never, StorageError>) =>
  Harness.layerNoDeps.pipe(
    Layer.provideMerge(
      Engine.layerWithoutWebhooks.pipe(
        Layer.provideMerge(
          Layer.effect(
            KeyStore,
            Effect.map(KeyStore, (store) => KeyStore.of({ ...store, admit: () => admit })),
          ),
        ),
        Layer.provideMerge(Layer.mergeAll(Stores.layer, types)),
      ),
    ),
    Layer.provideMerge(Logger.layer([])),
  )

/** Before a key is known there is no rate to tell of. */
const withoutRates = (each: Operation): Operation => {
  const isRate = ([name]: readonly [string, unknown]) => name.startsWith("X-RateLimit")
  const responses = Object.entries(each.responses).map(([status, { headers = {}, ...rest }]) => {
    const kept = Object.entries(headers).filter((one) => !isRate(one))
    return [status, { ...rest, headers: Object.fromEntries(kept) }]
  })
  return { ...each, responses: Object.fromEntries(responses) }
}

describe("every operation when something breaks", () => {
  const broken = [
    ["503", Effect.fail(failure)],
    ["500", Effect.die(new Error("hunter2"))],
  ] as const
  for (const [status, admit] of broken) {
    it.effect(`answers ${status} as the document says, and no more`, () =>
      Effect.gen(function* () {
        const owner = yield* (yield* Harness).tenant()
        for (const each of operations) {
          const own = { workflow: "wf_1", run: "run_1", value: "val_1", trigger: "trg_1" }
          const at = { owner, ...own, delivery: "msg_1", asking: "run_1" }
          const answer = yield* send(at, callOf(each, at))
          isAsPromised(withoutRates(each), status, answer)
          assert.notInclude(answer.text, "hunter2")
        }
      }).pipe(Effect.provide(overKeys(admit))),
    )
  }
})
