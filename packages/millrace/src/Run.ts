/**
 * Runs of an engine: starting, awaiting, canceling and reading them, as promises.
 */
import { RunQuery as WireRunQuery } from "@millrace/api/PageQuery"
import * as Wire from "@millrace/api/RunWire"
import { Identifier } from "@millrace/api/Text"
import { toNumber } from "@millrace/core/domain/Credits"
import type { AccountId } from "@millrace/core/domain/Id"
import { RunId, WorkflowId } from "@millrace/core/domain/Id"
import type { Json } from "@millrace/core/domain/Json"
import type { Run, RunRecord, RunStatus } from "@millrace/core/domain/Run"
import { nodeRunsOf } from "@millrace/core/domain/Run"
import type { WebhookConfig } from "@millrace/core/domain/Webhook"
import { RunNotFound } from "@millrace/core/engine/Refusals"
import { Runs as Core } from "@millrace/core/engine/Runs"
import { RunStore } from "@millrace/core/ports/RunStore"
import type { Cursors } from "@millrace/http/Cursor"
import { Effect, Option, Schema, Struct } from "effect"
import type { Duration } from "./Duration.ts"
import { format, millisOf } from "./Duration.ts"
import { reader, writer } from "./internal/Json.ts"
import type { Listing, PageQuery } from "./Listing.ts"
import { make as makeListing, readPage } from "./Listing.ts"
import { WaitTimeout } from "./MillraceError.ts"
import type { Runtime } from "./internal/Runtime.ts"
import type { DrawnNode } from "./Workflow.ts"
import { pageFields } from "./Workflow.ts"

/** A run in a listing (specification 2.4). Times are ISO 8601 in UTC. */
export type RunItem = typeof Wire.RunItem.Encoded

/** What happened to one node (specification 2.6). */
export type NodeRun = typeof Wire.NodeRun.Encoded

/** How a run stands or ended. */
export interface RunResult {
  readonly id: string
  readonly workflowId: string
  readonly status: RunStatus
  /** One sentence of a failed run: the first node that failed, and how many more. */
  readonly error: string | null
  /** What arrived at the response node; `null` without one. */
  readonly output: Json
  readonly actualCredits: number
  /** By node id; also nodes that were skipped or not reached. */
  readonly nodes: { readonly [id: string]: NodeRun }
}

/** What to start (specification 4.5). */
export interface StartRequest {
  readonly workflowId: string
  /** Over the stored defaults of the request node. */
  readonly values?: Readonly<Record<string, unknown>>
  /** For this run only: node id, then input port, then value. */
  readonly graphInputOverrides?: Readonly<Record<string, Readonly<Record<string, unknown>>>>
  /** Replace whole nodes by id, for this run only. */
  readonly nodeOverrides?: ReadonlyArray<DrawnNode>
  readonly viewport?: { readonly x?: number; readonly y?: number; readonly zoom?: number }
  readonly source?: "ui" | "mcp" | "api"
  /** The most that this run may cost, in credits; it fails before it would cost more. */
  readonly maxCredits?: number
  /** Where the run's events are to be sent, signed with the secrets of `engine.webhooks`. */
  readonly webhook?: WebhookConfig
}

/** What a start would cost. */
export type RunEstimate = typeof Wire.RunEstimate.Encoded

/** How long to wait; without a timeout as long as it takes. */
export interface WaitOptions {
  readonly timeout?: Duration
}

/** A started run. */
export interface RunHandle {
  readonly id: string
  /** Resolves when the run has ended, however; rejects with `TIMEOUT` while the run goes on. */
  wait(options?: WaitOptions): Promise<RunResult>
  /** Ends the run at once. Of a canceled run a no-op, of one that ended otherwise `RUN_ENDED`. */
  cancel(): Promise<void>
}

/** Which runs to list. */
export interface RunQuery extends PageQuery {
  readonly workflowId?: string
  readonly status?: RunStatus
  /** A part of the workflow's name or of the error in any case, or the beginning of a run id. */
  readonly search?: string
}

/** The runs of the engine's account. */
export interface Runs {
  /**
   * Freezes the workflow as it is now and runs it. Rejects with `WORKFLOW_NOT_FOUND`, or with
   * `INVALID_GRAPH` and every problem of the graph and the values, or where credits do not cover
   * it with `INSUFFICIENT_CREDITS` or `BEYOND_MAX_CREDITS`; then nothing was started.
   */
  start(request: StartRequest): Promise<RunHandle>
  /** What a start would cost, node by node, or everything that stands against it. */
  estimate(request: StartRequest): Promise<RunEstimate>
  /** Rejects with `RUN_NOT_FOUND`. */
  get(id: string): Promise<RunResult>
  /** As on a handle, for a run that is known by its id only. */
  wait(id: string, options?: WaitOptions): Promise<RunResult>
  /** As on a handle, for a run that is known by its id only. */
  cancel(id: string): Promise<void>
  /** Newest first. */
  list(query?: RunQuery): Listing<RunItem>
}

const StartFields = Schema.Struct(Struct.omit(Wire.StartRun.fields, ["singleNodeId"])).annotate({
  closed: true,
})
const { status, workflowId } = WireRunQuery.fields
const QueryFields = Schema.Struct({ ...pageFields, status, workflowId })

const readStart = reader(StartFields, "run")
const readQuery = reader(QueryFields, "query")
const readIdentifier = reader(Identifier, "id")
const readId = (id: string) => Effect.map(readIdentifier(id), (text) => RunId.make(text))
const writeEstimate = writer(Wire.RunEstimate)
const writeItem = writer(Wire.RunItem)
const writeNodes = writer(Schema.Array(Wire.NodeRun))

const itemOf = ({ singleNodeId, ...run }: Run): RunItem =>
  writeItem(singleNodeId === null ? run : { ...run, singleNodeId })

const resultOf = (record: RunRecord): RunResult => {
  const { actualCredits, error, id, output, status: ended, workflowId: of } = record.run
  const nodes = writeNodes(nodeRunsOf(record))
  return {
    id,
    workflowId: of,
    status: ended,
    error,
    output: structuredClone(output),
    actualCredits: toNumber(actualCredits),
    nodes: Object.fromEntries(nodes.map((node) => [node.nodeId, node])),
  }
}

const waited = <E, R>(
  ended: Effect.Effect<RunRecord, E, R>,
  id: RunId,
  timeout: Duration | undefined,
): Effect.Effect<RunRecord, E | WaitTimeout, R> => {
  if (timeout === undefined) return ended
  const message = `Run ${id} did not end within ${format(timeout)}; it goes on`
  return Effect.timeoutOrElse(ended, {
    duration: millisOf(timeout),
    orElse: () => Effect.fail(new WaitTimeout({ message })),
  })
}

const list = Effect.fnUntraced(function* (account: AccountId, given: RunQuery) {
  const store = yield* RunStore
  const query = yield* readQuery(given)
  const page = yield* readPage(account, "runs", query, (filter, request) =>
    store.list({
      account,
      status: filter.status,
      search: filter.search,
      workflowId: filter.workflowId === undefined ? undefined : WorkflowId.make(filter.workflowId),
      ...request,
    }),
  )
  return { ...page, items: page.items.map(itemOf) }
})

/** The runs of one account. */
export const make = ({ call }: Runtime<Core | RunStore | Cursors>, account: AccountId): Runs => {
  const wait = Effect.fnUntraced(function* (given: string, { timeout }: WaitOptions = {}) {
    const runs = yield* Core
    const id = yield* readId(given)
    return resultOf(yield* waited(runs.wait(account, id), id, timeout))
  }, call)
  const cancel = Effect.fnUntraced(function* (given: string) {
    const runs = yield* Core
    yield* runs.cancel(account, yield* readId(given))
  }, call)
  return {
    start: Effect.fnUntraced(function* (given: StartRequest) {
      const runs = yield* Core
      const request = yield* readStart(given)
      const workflow = WorkflowId.make(request.workflowId)
      const { id } = yield* runs.start(account, { ...request, workflowId: workflow })
      return { id, wait: (options?: WaitOptions) => wait(id, options), cancel: () => cancel(id) }
    }, call),
    estimate: Effect.fnUntraced(function* (given: StartRequest) {
      const runs = yield* Core
      const request = yield* readStart(given)
      const workflow = WorkflowId.make(request.workflowId)
      return writeEstimate(yield* runs.estimate(account, { ...request, workflowId: workflow }))
    }, call),
    get: Effect.fnUntraced(function* (given: string) {
      const store = yield* RunStore
      const id = yield* readId(given)
      const found = yield* store.find(account, id)
      if (Option.isNone(found)) return yield* new RunNotFound({ runId: id })
      return resultOf(found.value)
    }, call),
    wait,
    cancel,
    list: (query = {}) =>
      makeListing(
        (cursor) => call(list(account, cursor === undefined ? query : { ...query, cursor })),
        query.cursor,
      ),
  }
}
