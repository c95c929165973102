/**
 * The operations on runs: reads go to the store, decisions to the engine.
 */
import { Api } from "@millrace/api/Api"
import { CurrentKey } from "@millrace/api/Authorization"
import type { RunQuery } from "@millrace/api/PageQuery"
import type { RunDetail, RunItem, RunRead } from "@millrace/api/RunWire"
import { RunBatch as BatchBody, StartRun as StartBody } from "@millrace/api/RunWire"
import { RunId, WorkflowId } from "@millrace/core/domain/Id"
import { CurrentLimits } from "@millrace/core/domain/Limits"
import type { Run, RunRecord } from "@millrace/core/domain/Run"
import { isTerminal, nodeRunsOf } from "@millrace/core/domain/Run"
import { RunNotFound } from "@millrace/core/engine/Refusals"
import { Runs } from "@millrace/core/engine/Runs"
import { RunStore } from "@millrace/core/ports/RunStore"
import { Effect, Layer, Option, Stream } from "effect"
import { Digest } from "effect/crypto"
import { Hex } from "effect/encoding"
import type { HttpServerRequest } from "effect/http"
import { HttpServerResponse } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import { BasePath, runAddress } from "../Addresses.ts"
import { originalReader, reader } from "./Body.ts"
import { addHeaders, InvalidRequest, refuse } from "../Errors.ts"
import { makePaginate } from "./Paging.ts"
import * as RunStream from "./RunStream.ts"
import { StreamSlots } from "./StreamSlots.ts"

const readStart = originalReader(StartBody)
const readBatch = reader(BatchBody)

const itemOf = ({ singleNodeId, ...run }: Run): RunItem =>
  singleNodeId === null ? run : { ...run, singleNodeId }

const contextOf = ({ output, values, viewport, workflowRevision }: Run) => ({
  values,
  output,
  viewport,
  workflowRevision,
})

const detailOf = (record: RunRecord): RunDetail => {
  const { run } = record
  return {
    id: run.id,
    status: run.status,
    workflowId: run.workflowId,
    triggerRunId: run.executionId,
    createdAt: run.createdAt,
    startedAt: run.startedAt,
    finishedAt: run.finishedAt,
    error: run.error,
    context: record.omitted === true ? null : contextOf(run),
    nodeRuns: nodeRunsOf(record),
    ...(record.omitted === true ? { omitted: true } : {}),
  }
}

const readOf = (record: RunRecord): RunRead => ({ ...itemOf(record.run), ...detailOf(record) })

/** The records asked for, in the order in which each was first asked for. */
const inOrder = (ids: ReadonlyArray<string>, records: ReadonlyArray<RunRecord>) => {
  const byId = new Map<string, RunRecord>(records.map((record) => [record.run.id, record]))
  return ids.flatMap((id) => byId.get(id) ?? [])
}

/** A request that names a run. */
interface ById {
  readonly params: { readonly id: string }
}

/** A request whose body is read here. */
interface WithBody {
  readonly request: HttpServerRequest.HttpServerRequest
}

interface Start extends WithBody {
  readonly headers: { readonly "idempotency-key"?: string }
}

const makeReads = Effect.gen(function* () {
  const store = yield* RunStore
  const paginate = yield* makePaginate
  return {
    list: Effect.fnUntraced(function* ({ query }: { readonly query: RunQuery }) {
      const { accountId: account } = yield* CurrentKey
      const found = yield* paginate(account, "runs", query, ({ search, status, ...rest }, page) => {
        const workflowId =
          rest.workflowId === undefined ? undefined : WorkflowId.make(rest.workflowId)
        return Effect.catch(store.list({ account, workflowId, status, search, ...page }), refuse)
      })
      return { ...found, items: found.items.map(itemOf) }
    }),
    batch: Effect.fnUntraced(function* ({ request }: WithBody) {
      const { accountId } = yield* CurrentKey
      const body = yield* readBatch(request)
      const ids = [...new Set(body.ids)].filter((id) => id !== "").map((id) => RunId.make(id))
      if (ids.length === 0) return { runs: [] }
      const { batchBytes } = yield* CurrentLimits
      const found = yield* Effect.catch(store.findMany(accountId, ids, batchBytes), refuse)
      return { runs: inOrder(ids, found).map(detailOf) }
    }),
    get: Effect.fnUntraced(function* ({ params }: ById) {
      const { accountId } = yield* CurrentKey
      const id = RunId.make(params.id)
      const found = yield* Effect.catch(store.find(accountId, id), refuse)
      if (Option.isNone(found)) return yield* refuse(new RunNotFound({ runId: id }))
      return readOf(found.value)
    }),
  }
})

const makeWrites = Effect.gen(function* () {
  const runs = yield* Runs
  const basePath = yield* BasePath
  const { digest } = yield* Digest.Digest

  /** The name of a start that has one, and what tells its body from another one. */
  const idempotencyKeyOf = (key: string | undefined, bytes: Uint8Array) =>
    key === undefined
      ? Effect.succeed(undefined)
      : Effect.map(Effect.orDie(digest(Digest.sha256, bytes)), (hash) => ({
          key,
          bodyHash: Hex.encode(hash),
        }))

  const startOnce = Effect.fnUntraced(function* (...start: Parameters<typeof runs.startOnce>) {
    const { isReplay, runId } = yield* runs.startOnce(...start)
    if (isReplay) yield* addHeaders({ "idempotent-replayed": "true" })
    return runId
  })

  return {
    start: Effect.fnUntraced(function* ({ headers, request }: Start) {
      const { accountId, keyId } = yield* CurrentKey
      const { body, bytes } = yield* readStart(request)
      const wanted = { ...body, keyId, workflowId: WorkflowId.make(body.workflowId) }
      const idempotencyKey = yield* idempotencyKeyOf(headers["idempotency-key"], bytes)
      const started =
        idempotencyKey === undefined
          ? Effect.map(runs.start(accountId, wanted), ({ id }) => id)
          : startOnce(accountId, wanted, idempotencyKey)
      const runId = yield* Effect.catch(started, refuse)
      yield* addHeaders({ location: runAddress(basePath, runId) })
      return { runId }
    }),
    estimate: Effect.fnUntraced(function* ({ request }: WithBody) {
      const { accountId } = yield* CurrentKey
      const { body } = yield* readStart(request)
      const asked = { ...body, workflowId: WorkflowId.make(body.workflowId) }
      return yield* Effect.catch(runs.estimate(accountId, asked), refuse)
    }),
    cancel: Effect.fnUntraced(function* ({ params }: ById) {
      const { accountId } = yield* CurrentKey
      return itemOf(yield* Effect.catch(runs.cancel(accountId, RunId.make(params.id)), refuse))
    }),
  }
})

interface Follow extends ById {
  readonly headers: { readonly "last-event-id"?: string }
}

const streamHeaders = { "cache-control": "no-store", "x-accel-buffering": "no" }

const makeFollow = Effect.gen(function* () {
  const store = yield* RunStore
  const slots = new StreamSlots()
  return Effect.fnUntraced(function* ({ headers, params }: Follow) {
    const { accountId: account, keyId } = yield* CurrentKey
    const id = RunId.make(params.id)
    const found = yield* Effect.catch(store.find(account, id), refuse)
    if (Option.isNone(found)) return yield* refuse(new RunNotFound({ runId: id }))
    const { run } = found.value
    const after = Number(headers["last-event-id"] ?? 0)
    if (after > run.sequence) {
      const message = "last-event-id: expected the id of an event of this run"
      return yield* refuse(new InvalidRequest({ message }))
    }
    if (isTerminal(run.status) && after > 0 && after === run.sequence) {
      return HttpServerResponse.empty({ status: 204 })
    }
    yield* Effect.catch(slots.take(keyId), refuse)
    const source = { store, account, record: found.value, run: readOf(found.value), after }
    return HttpServerResponse.stream(Stream.encodeText(yield* RunStream.frames(source)), {
      contentType: "text/event-stream",
      headers: streamHeaders,
    })
  })
})

/** The handlers of the group `runs`. */
export const layer = HttpApiBuilder.group(
  Api,
  "runs",
  Effect.fnUntraced(function* (handlers) {
    const reads = yield* makeReads
    const writes = yield* makeWrites
    return handlers
      .handle("list", reads.list)
      .handleRaw("batch", reads.batch)
      .handle("get", reads.get)
      .handle("events", yield* makeFollow)
      .handleRaw("start", writes.start)
      .handleRaw("estimate", writes.estimate)
      .handle("cancel", writes.cancel)
  }),
).pipe(Layer.provide(Digest.layerWebCrypto))
