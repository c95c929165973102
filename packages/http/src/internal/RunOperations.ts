/**
 * The operations on runs. Reads go to the store, everything else to the engine.
 */
import type { AccountId } from "@millrace/core/domain/Id"
import { RunId, WorkflowId } from "@millrace/core/domain/Id"
import { CurrentLimits, problemsListed } from "@millrace/core/domain/Limits"
import type { Run, RunRecord } from "@millrace/core/domain/Run"
import { isTerminal } from "@millrace/core/domain/Run"
import { RunNotFound } from "@millrace/core/engine/Refusals"
import { LargeValues } from "@millrace/core/engine/LargeValues"
import { Runs } from "@millrace/core/engine/Runs"
import { RunViews } from "@millrace/core/engine/RunViews"
import { RunStore } from "@millrace/core/ports/RunStore"
import { Effect, Option } from "effect"
import { Digest } from "effect/crypto"
import * as Hex from "effect/encoding/Hex"
import { runAddress } from "../Addresses.ts"
import { InvalidRequest } from "../Errors.ts"
import type { Input, OperationAnswer, OperationsOf } from "./Operation.ts"
import * as LiveRuns from "./LiveRuns.ts"
import * as RunFollowers from "./RunFollowers.ts"
import {
  definitionOf,
  itemOf,
  loopItemOf,
  nodeOf,
  readOf,
  rerunPlanOf,
  summaryOf,
} from "./RunForms.ts"
import { makePaginate } from "./Paging.ts"
import { makeListRuns } from "./RunListing.ts"
import type { Source } from "./RunStream.ts"
import * as SessionListing from "./SessionListing.ts"

/** The records in the order in which their ids were first asked for. */
const inOrder = (ids: ReadonlyArray<string>, records: ReadonlyArray<RunRecord>) => {
  const byId = new Map<string, RunRecord>(records.map((record) => [record.run.id, record]))
  return ids.flatMap((id) => byId.get(id) ?? [])
}

const makeReads = Effect.gen(function* () {
  const store = yield* RunStore
  const values = yield* LargeValues
  const views = yield* RunViews
  const list = yield* makeListRuns
  const paginate = yield* makePaginate
  /** Records with the large values that fit into one answer. */
  const withValues = Effect.fnUntraced(function* (records: ReadonlyArray<RunRecord>) {
    return yield* values.withValues(records, (yield* CurrentLimits).batchBytes)
  })
  const find = Effect.fnUntraced(function* (account: AccountId, id: string) {
    const found = yield* store.find(account, RunId.make(id))
    return Option.isSome(found) ? found.value : yield* new RunNotFound({ runId: id })
  })
  return {
    list: ({ account, query, session }) =>
      Effect.map(list(account, query, SessionListing.seenBy(session)), (found) => ({
        value: { items: found.items.map(itemOf), nextCursor: found.nextCursor },
      })),
    batch: Effect.fnUntraced(function* ({ account, payload, session }) {
      const ids = [...new Set(payload.ids)].filter((id) => id !== "").map((id) => RunId.make(id))
      if (ids.length === 0) return { value: { runs: [] } }
      const { batchBytes } = yield* CurrentLimits
      const all = yield* store.findMany(account, ids, batchBytes)
      const seen = SessionListing.seenBy(session)
      const found = all.filter(({ run }) => seen === null || seen.includes(run.workflowId))
      return { value: { runs: (yield* withValues(inOrder(ids, found))).map(readOf) } }
    }),
    get: Effect.fnUntraced(function* ({ account, params, query }) {
      const found = yield* find(account, params.id)
      if (query.view === "summary") return { value: summaryOf(found) }
      const [record] = yield* withValues([found])
      return { value: readOf(record!) }
    }),
    node: Effect.fnUntraced(function* ({ account, params: { id, nodeId } }) {
      const { batchBytes } = yield* CurrentLimits
      const { nodeRun, run } = yield* views.node(account, RunId.make(id), nodeId, batchBytes)
      return { value: nodeOf(run, nodeRun) }
    }),
    items: Effect.fnUntraced(function* ({ account, params: { id, nodeId }, query }) {
      const runId = RunId.make(id)
      const ofNode = { ...query, runId: id, nodeId }
      const found = yield* paginate(account, "items", ofNode, ({ status }, { after, limit }) => {
        const asked = { account, parentRunId: runId, nodeId, status, limit: limit + 1 }
        // The place of an item is its number, where other listings have a time.
        return Effect.map(store.children({ ...asked, after: after?.createdAt ?? -1 }), (runs) => {
          const items = runs.slice(0, limit)
          const last = items.at(-1)
          const isLast = runs.length <= limit || last === undefined
          const next = isLast ? undefined : { createdAt: last.parent!.index, id: last.id }
          return { items, next }
        })
      })
      // A node with items exists. After an empty page, it is looked for.
      if (found.items.length === 0) yield* views.node(account, runId, nodeId, 0)
      return { value: { items: found.items.map(loopItemOf), nextCursor: found.nextCursor } }
    }),
    definition: Effect.fnUntraced(function* ({ account, params }) {
      const record = yield* find(account, params.id)
      return { value: definitionOf(record, views.ports(record)) }
    }),
    value: Effect.fnUntraced(function* ({ account, params: { id, valueId } }) {
      const { bytes, value } = yield* values.open(account, RunId.make(id), valueId)
      return { value: bytes, file: { name: `${value.id}.json`, bytes: value.bytes } }
    }),
  } satisfies Partial<OperationsOf<"runs">>
})

/** The answer to a start. */
const started = (runId: RunId, isReplay = false) => ({
  value: { runId },
  location: runAddress(runId),
  isReplay,
})

/** What an idempotency key stands for: it, and the body of its request. */
const makeKeyOf = Effect.map(
  Digest.Digest,
  ({ digest }) =>
    (key: string, bytes: () => Uint8Array) =>
      Effect.map(Effect.orDie(digest(Digest.sha256, bytes())), (hash) => ({
        key,
        bodyHash: Hex.encode(hash),
      })),
)

const makeWrites = Effect.gen(function* () {
  const runs = yield* Runs
  const keyOf = yield* makeKeyOf

  const start = Effect.fnUntraced(function* (input: Input<"runs", "start">) {
    const { account, bytes, headers, keyId, payload, session } = input
    const source = session === undefined ? payload.source : ("ui" as const)
    const starter = { source, keyId, sessionId: session?.id }
    const wanted = { ...payload, ...starter, workflowId: WorkflowId.make(payload.workflowId) }
    const key = headers["idempotency-key"]
    if (key === undefined) return started((yield* runs.start(account, wanted)).id)
    const { isReplay, runId } = yield* runs.startOnce(account, wanted, yield* keyOf(key, bytes))
    return started(runId, isReplay)
  })

  return {
    start: (input) =>
      input.client === undefined ? start(input) : runs.within(input.client)(start(input)),
    estimate: ({ account, payload }) => {
      const asked = { ...payload, workflowId: WorkflowId.make(payload.workflowId) }
      return Effect.map(runs.estimate(account, asked), ({ problems, ...said }) => ({
        value: { ...said, problems: problems.slice(0, problemsListed) },
      }))
    },
    cancel: ({ account, params }) =>
      Effect.map(runs.cancel(account, RunId.make(params.id)), (run) => ({ value: itemOf(run) })),
    signal: ({ account, headers, params: { id, name }, payload: { payload = null } }) => {
      const runId = RunId.make(id)
      const sent = { name, payload, idempotencyKey: headers["idempotency-key"] }
      return Effect.map(runs.signal(account, runId, sent), (number) => ({
        value: { runId, number },
      }))
    },
  } satisfies Partial<OperationsOf<"runs">>
})

const makeReruns = Effect.gen(function* () {
  const runs = yield* Runs
  const list = yield* makeListRuns
  const keyOf = yield* makeKeyOf

  const rerun = Effect.fnUntraced(function* (input: Input<"runs", "rerun">) {
    const { account, bytes, headers, keyId, params, payload, session } = input
    const id = RunId.make(params.id)
    const key = headers["idempotency-key"]
    // The same body to another run is another request.
    const ofRun = () => new TextEncoder().encode(`${id}\n${new TextDecoder().decode(bytes())}`)
    const named = key === undefined ? undefined : yield* keyOf(key, ofRun)
    const source = session === undefined ? ("api" as const) : ("ui" as const)
    const wanted = { ...payload, source, keyId, sessionId: session?.id }
    const { isReplay, runId } = yield* runs.rerun(account, id, wanted, named)
    return started(runId, isReplay)
  })

  const rerunFailed = Effect.fnUntraced(function* (input: Input<"runs", "rerunFailed">) {
    const { account, bytes, headers, keyId, payload, session } = input
    const { definition, error, ...page } = payload
    const query = { ...page, status: "FAILED" as const, roots: "true" as const }
    const listed = error === undefined ? query : { ...query, search: error }
    const found = yield* list(account, listed, SessionListing.seenBy(session))
    const { items, nextCursor, searched = "" } = found
    // A search finds a part of the workflow's name, too.
    const part = searched.toLowerCase()
    const failed = items.filter((run) => run.error?.toLowerCase().includes(part) === true)
    const key = headers["idempotency-key"]
    const named = key === undefined ? undefined : yield* keyOf(key, bytes)
    const source = session === undefined ? ("api" as const) : ("ui" as const)
    const wanted = { definition, source, keyId, sessionId: session?.id }
    return { value: { ...(yield* runs.rerunEach(account, failed, wanted, named)), nextCursor } }
  })

  return {
    rerun,
    rerunFailed,
    planRerun: ({ account, params, payload }) =>
      Effect.map(runs.planRerun(account, RunId.make(params.id), payload), (planned) => ({
        value: rerunPlanOf(planned),
      })),
  } satisfies Partial<OperationsOf<"runs">>
})

/** The last event that a summary makes superfluous. The end of a run is told in any case. */
const toldBy = ({ sequence, status }: Run): number =>
  isTerminal(status) ? Math.max(0, sequence - 1) : sequence

/** Finds the source of a stream of events; `undefined` if no further event can come. */
const makeFollow = Effect.zipWith(RunStore, RunFollowers.make, (store, followers) =>
  Effect.fnUntraced(function* ({ account, headers, params, query }: Input<"runs", "events">) {
    const id = RunId.make(params.id)
    const found = yield* store.find(account, id)
    if (Option.isNone(found)) return yield* new RunNotFound({ runId: id })
    const { run } = found.value
    const withNodes = query.view === "summary"
    const after = Number(headers["last-event-id"] ?? (withNodes ? toldBy(run) : 0))
    if (after > run.sequence) {
      const message = "last-event-id: expected the id of an event of this run"
      return yield* new InvalidRequest({ message })
    }
    const sourceOf = (record: RunRecord): Source => {
      const whole = withNodes ? summaryOf(record) : readOf(record)
      return { followers, account, record, run: whole, withNodes, after }
    }
    const value =
      isTerminal(run.status) && after > 0 && after === run.sequence
        ? undefined
        : sourceOf(found.value)
    return { value } satisfies OperationAnswer<Source | undefined>
  }),
)

/** Lets a caller watch runs, until the scope closes. */
const makeLive = Effect.map(
  LiveRuns.make,
  (watch) =>
    ({ account, query, session }: Input<"runs", "live">) =>
      watch(account, query, SessionListing.seenBy(session)),
)

/** The operations of the group `runs`, following a run, watching runs, and waiting for one. */
export const make = Effect.gen(function* () {
  const runs = yield* Runs
  const values = yield* LargeValues
  const operations: OperationsOf<"runs"> = {
    ...(yield* makeReads),
    ...(yield* makeWrites),
    ...(yield* makeReruns),
  }
  /** Waits until the run has ended. The answer is that of `get`. */
  const wait = Effect.fnUntraced(function* (account: AccountId, id: RunId) {
    const { batchBytes } = yield* CurrentLimits
    const [record] = yield* values.withValues([yield* runs.wait(account, id)], batchBytes)
    return readOf(record!)
  })
  return { operations, wait, follow: yield* makeFollow, live: yield* makeLive }
})
