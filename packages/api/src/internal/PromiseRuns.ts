/**
 * Runs as promises, and their events as async iterables.
 *
 * Guarantees: if an event stream breaks, a new one starts after the last event, so no event is lost
 * or comes twice. Leaves out: waiting without limit for a server that is gone.
 */
import type { Json } from "@millrace/core/domain/Json"
import type { RunSource, RunStatus } from "@millrace/core/domain/Run"
import type { Duration } from "../Duration.ts"
import { millisOf } from "../Duration.ts"
import { MillraceError } from "../MillraceError.ts"
import type * as Wire from "../RunWire.ts"
import type { Answer, Transport, WireEvent, WireLiveEvent } from "../Transport.ts"
import type { Ask, CallOptions } from "./Ask.ts"
import { checkFields, checkId, makeAsk } from "./Ask.ts"
import type { Given } from "./Given.ts"
import type { Listing, PageQuery } from "./Pages.ts"
import { makeListing } from "./Pages.ts"
import { sleep } from "./Sleep.ts"
import { isRefusal, retryMillis, retriesInSequence, watch } from "./Watching.ts"

/** A run in a listing (specification 2.4). Times are ISO 8601 in UTC. */
export type RunItem = typeof Wire.RunItem.Encoded

/** What happened to one node (specification 2.6). */
export type NodeRun = typeof Wire.NodeRun.Encoded

/** The fields of a run that differ from the wire. */
interface Handy {
  /** The input of the response node; `null` without one. */
  readonly output: Json
  /** All nodes by id, in the order of the workflow. Also the skipped and not reached ones. */
  readonly nodes: { readonly [id: string]: NodeRun }
}

/** A run with its current state or its result (specification 2.5). */
export type Run = Omit<typeof Wire.RunRead.Encoded, "nodeRuns"> & Handy

/** A run of a batch. `omitted` if its data would have made the answer too large. */
export type RunDetail = Omit<typeof Wire.RunDetail.Encoded, "nodeRuns"> & Handy

/** The graph that a run executes, as it was when the run was started. */
export type RunDefinition = typeof Wire.RunDefinition.Encoded

/** How much of a run to read. */
export interface ReadOptions extends CallOptions {
  /** Leaves out inputs, outputs and logs, and gives their `sizes`. */
  readonly view?: "summary"
}

/** What to start (specification 4.5). */
export type StartRequest = Given<typeof Wire.StartRun.Encoded>

/** What of an ended run to execute anew. */
export type RerunRequest = Given<typeof Wire.RerunRun.Encoded>

/** What a rerun would execute and why, what it would take over, and what it would cost. */
export type RerunPlan = typeof Wire.RerunPlan.Encoded

/** Which failed runs to take up again: those of a filter, some at a time. */
export type RerunFailedRequest = Given<typeof Wire.RerunFailed.Encoded>

/** What became of failed runs; `nextCursor` goes on behind them. */
export type RerunBatch = typeof Wire.RerunBatch.Encoded

/** What a start would cost, and why it would be refused. */
export type RunEstimate = typeof Wire.RunEstimate.Encoded

/** Which runs to list. */
export interface RunQuery extends PageQuery, RunFilter {}

/** Which runs to watch. */
export interface LiveQuery extends RunFilter {
  /** Runs of the page, 1 to 50; 20 by default. */
  readonly limit?: number
}

/** An item of watched runs: a page of them, or one that is new or has changed. */
export type LiveEvent = WireLiveEvent

/** Which items of a loop to list. */
export interface ItemQuery extends Omit<PageQuery, "page" | "pageSize" | "search"> {
  readonly status?: RunStatus
}

/** What became of one item of a loop. */
export type LoopItem = typeof Wire.LoopItem.Encoded

/** Which runs to show. */
export interface RunFilter {
  readonly workflowId?: string
  readonly status?: RunStatus
  /** Who asked for them; `ui`: people who have signed in. */
  readonly source?: RunSource
  /** Runs that this trigger has started. */
  readonly triggerId?: string
  /** Runs that this run has started. */
  readonly parent?: string
  /**
   * Only runs that no run has started, which is the default; `"false"`: all. With `parent`, all.
   */
  readonly roots?: "true" | "false"
  /** Runs that were created then or later, in ISO 8601: `2026-01-31T09:30:00Z`. */
  readonly from?: string
  /** Runs that were created before. */
  readonly to?: string
  /** A part of the workflow's name or the error, in any case, or the beginning of a run id. */
  readonly search?: string
}

/** An item of a followed run: first a snapshot of the run, then its events with their numbers. */
export type StreamedEvent =
  | {
      readonly event: "snapshot"
      /** `sequence` is the number of the last event before the snapshot. */
      readonly data: { readonly sequence: number; readonly run: Run }
    }
  | Exclude<WireEvent, { readonly event: "snapshot" | "node" }>

/** A node of a followed run whose status, attempt or `dueAt` has moved, as in a summary. */
export type StreamedNode = Extract<WireEvent, { readonly event: "node" }>

/** How to start a run. */
export interface StartOptions extends CallOptions {
  /** A key for this start. Repeating the request with it within 24 hours starts no second run. */
  readonly idempotencyKey?: string
  /**
   * Starts the run inside the transaction that is open on this client, with an engine on
   * `postgres`: the run exists once the transaction is committed, and a rollback leaves nothing.
   * The client must reach the tables of the engine; an engine on another store, and a client of a
   * server, reject with `INVALID_REQUEST`.
   */
  readonly client?: TransactionClient
}

/** How to send a signal. */
export interface SignalOptions extends CallOptions {
  /** A key for this signal. Sending to the run with it again sends nothing. */
  readonly idempotencyKey?: string
}

/** A signal that was sent: its place among what the run was sent, from 1. */
export type SentSignal = typeof Wire.SentSignal.Encoded

/** How to start a rerun. */
export interface RerunOptions extends CallOptions {
  /** A key for this start, as for every start. */
  readonly idempotencyKey?: string
}

/** A `Client` of the package `pg`, or one checked out of a `Pool`, with an open transaction. */
export interface TransactionClient {
  query(query: {
    readonly text: string
    readonly values: Array<unknown>
  }): Promise<{ readonly rows: ReadonlyArray<unknown> }>
}

/** How long to wait; without a timeout, until the run has ended. */
export interface WaitOptions extends CallOptions {
  readonly timeout?: Duration
}

/** Which events of a run to follow. */
export interface FollowOptions extends CallOptions {
  /** The number of the last known event; 0 by default. */
  readonly after?: number
}

/** Which events of a run to follow, and its nodes beside them. */
export interface SummaryOptions extends FollowOptions {
  /** The snapshot has no inputs, outputs and logs, but their `sizes`. */
  readonly view: "summary"
}

/** A started run. */
export interface RunHandle {
  readonly id: string
  /** True if an earlier start with the same idempotency key has started it. */
  readonly isReplay: boolean
  /**
   * Resolves when the run has ended. Rejects with `TIMEOUT`; the run continues then. Rejects with
   * `RUN_NOT_FOUND` while the transaction of the start is not committed.
   */
  wait(options?: WaitOptions): Promise<Run>
  /** Ends the run at once. Rejects with `RUN_ENDED` if it has completed or failed. */
  cancel(options?: CallOptions): Promise<RunItem>
  /** As `signal` of `runs`. */
  signal(name: string, payload?: Json, options?: SignalOptions): Promise<SentSignal>
  /** A snapshot, then every event after the number `after`, until the run ends. */
  events(options?: FollowOptions): AsyncIterable<StreamedEvent>
  /** The same, and each node whenever it moves, as long as the run goes on. */
  events(options: SummaryOptions): AsyncIterable<StreamedEvent | StreamedNode>
  /** What has happened to each node so far, by node id. */
  nodes(options?: CallOptions): Promise<Run["nodes"]>
}

/** The runs of the account. An unknown id rejects with `RUN_NOT_FOUND`. */
export interface Runs {
  /** Newest first. */
  list(query?: RunQuery, options?: CallOptions): Listing<RunItem>
  /**
   * Runs the workflow as it is now. Later changes do not affect the run. Rejects with
   * `WORKFLOW_NOT_FOUND`, with `INVALID_GRAPH` and every problem of the graph and the values, or,
   * if credits do not cover the run, with `INSUFFICIENT_CREDITS` or `BEYOND_MAX_CREDITS`.
   */
  start(request: StartRequest, options?: StartOptions): Promise<RunHandle>
  /**
   * A page of the listing, then each run that is new or whose item changes. Goes on until the
   * reader stops; after a break, a new page comes.
   */
  live(query?: LiveQuery, options?: CallOptions): AsyncIterable<LiveEvent>
  /**
   * Starts a run that takes over what an ended run has completed and executes the rest. What is
   * taken over costs nothing. Rejects with `RUN_OPEN` while the run goes on, and as `start` does.
   */
  rerun(id: string, request?: RerunRequest, options?: RerunOptions): Promise<RunHandle>
  /**
   * Starts a rerun of each failed run of the filter that has none yet, newest first. However often
   * it is repeated, a run gets one rerun from it.
   */
  rerunFailed(request?: RerunFailedRequest, options?: RerunOptions): Promise<RerunBatch>
  /** What a rerun would execute, and why. Starts nothing. */
  planRerun(id: string, request?: RerunRequest, options?: CallOptions): Promise<RerunPlan>
  /** What a start would cost, node by node, or all reasons why it would be refused. */
  estimate(request: StartRequest, options?: CallOptions): Promise<RunEstimate>
  get(id: string, options?: ReadOptions): Promise<Run>
  /** One node of a run, whole. Rejects with `NODE_NOT_FOUND`. */
  node(id: string, nodeId: string, options?: CallOptions): Promise<NodeRun>
  /** What became of the items of a loop, by number. Rejects with `NODE_NOT_FOUND`. */
  items(id: string, nodeId: string, query?: ItemQuery, options?: CallOptions): Listing<LoopItem>
  /** The graph of a run with the ports of its nodes, also after the workflow has changed. */
  definition(id: string, options?: CallOptions): Promise<RunDefinition>
  /**
   * A large value, by the id under which a run or one of its nodes names it in `largeValues`.
   * Rejects with `VALUE_NOT_FOUND`.
   */
  value(id: string, valueId: string, options?: CallOptions): Promise<Json>
  /** The known runs of at most 50 ids, in the order of the ids. */
  batch(ids: ReadonlyArray<string>, options?: CallOptions): Promise<ReadonlyArray<RunDetail>>
  /** As on a handle, by id. */
  cancel(id: string, options?: CallOptions): Promise<RunItem>
  /**
   * Sends a signal, which one node `wait_signal` of this name takes: one that waits, or the first
   * that begins to within seven days. Rejects with `RUN_ENDED`, and with `INBOX_FULL` if the run
   * has 100 signals that no node has taken.
   */
  signal(id: string, name: string, payload?: Json, options?: SignalOptions): Promise<SentSignal>
  /** As on a handle, by id. */
  events(id: string, options?: FollowOptions): AsyncIterable<StreamedEvent>
  /** As on a handle, by id. */
  events(id: string, options: SummaryOptions): AsyncIterable<StreamedEvent | StreamedNode>
  /** As on a handle, by id. */
  wait(id: string, options?: WaitOptions): Promise<Run>
}

const filter = [
  ...(["workflowId", "status", "source", "triggerId", "parent", "roots"] as const),
  ...(["from", "to", "search"] as const),
] as const

/** The longest time that a timer can be set to. */
const longestTimer = 2 ** 31 - 1

const ends = new Set(["run.completed", "run.failed", "run.canceled"])

const handy = <A extends Pick<typeof Wire.RunDetail.Encoded, "context" | "nodeRuns">>(
  run: A,
): Omit<A, "nodeRuns"> & Handy => {
  const { nodeRuns, ...rest } = run
  const nodes = Object.fromEntries(nodeRuns.map((node) => [node.nodeId, node]))
  return { ...rest, output: run.context?.output ?? null, nodes }
}

const streamed = (event: WireEvent): StreamedEvent | StreamedNode =>
  event.event === "snapshot"
    ? { event: event.event, data: { ...event.data, run: handy(event.data.run) } }
    : event

const follow = async function* (
  { events }: Transport,
  id: string,
  { after = 0, signal, view }: FollowOptions & Partial<SummaryOptions>,
): AsyncGenerator<WireEvent> {
  let last = after
  for (let tries = 1; ; tries++) {
    try {
      signal?.throwIfAborted()
      const stream = await events(id, last, signal, view)
      if (stream === undefined) return
      for await (const event of stream) {
        tries = 0
        if (event.event !== "snapshot" && event.event !== "node") last = Number(event.id)
        yield event
        if (ends.has(event.event)) return
      }
    } catch (error) {
      const isOver = signal?.aborted === true || tries >= retriesInSequence
      if (isRefusal(error) || isOver) throw error
    }
    await sleep(retryMillis, signal)
  }
}

/** Calls with a signal that is also aborted after the timeout. */
const within = async <A>(
  id: string,
  { signal, timeout }: WaitOptions,
  call: (signal: AbortSignal | undefined) => Promise<A>,
): Promise<A> => {
  if (timeout === undefined) return call(signal)
  const late = new AbortController()
  const words = typeof timeout === "number" ? `${timeout} millis` : timeout
  const message = `Run ${id} did not end within ${words}; it goes on`
  let timer: ReturnType<typeof setTimeout>
  const arm = (millis: number) => {
    const next = () =>
      millis > longestTimer
        ? arm(millis - longestTimer)
        : late.abort(new MillraceError("TIMEOUT", message))
    timer = setTimeout(next, Math.min(millis, longestTimer))
  }
  arm(millisOf(timeout, "timeout"))
  try {
    const either = signal === undefined ? late.signal : AbortSignal.any([signal, late.signal])
    return await call(either)
  } finally {
    clearTimeout(timer!)
  }
}

/** What to throw for an error of a run whose transaction may not be committed. */
const ofUncommitted = (id: string, error: unknown): unknown => {
  if (!(error instanceof MillraceError) || error.code !== "RUN_NOT_FOUND") return error
  const message = `Run ${id} is not stored: its transaction is not committed, or was rolled back`
  return new MillraceError(error.code, message, { status: error.status, cause: error })
}

/** The handle of a run that was started inside a transaction. */
const ofTransaction = (handle: RunHandle): RunHandle => {
  const refuse = (error: unknown): never => {
    throw ofUncommitted(handle.id, error)
  }
  return {
    ...handle,
    wait: (options) => handle.wait(options).catch(refuse),
    cancel: (options) => handle.cancel(options).catch(refuse),
    signal: (...given) => handle.signal(...given).catch(refuse),
    nodes: (options) => handle.nodes(options).catch(refuse),
    events: async function* (options) {
      try {
        yield* handle.events(options)
      } catch (error) {
        refuse(error)
      }
    },
  }
}

/** What a read answers. After trouble of the server or the network it is repeated like a stream. */
const persist = async <A>(read: () => Promise<A>, signal: AbortSignal | undefined): Promise<A> => {
  for (let tries = 1; ; tries++) {
    try {
      return await read()
    } catch (error) {
      if (isRefusal(error) || signal?.aborted === true || tries >= retriesInSequence) throw error
    }
    await sleep(retryMillis, signal)
  }
}

/** Following a run, and waiting for its end. */
const makeFollowing = (transport: Transport, get: Runs["get"]): Pick<Runs, "events" | "wait"> => ({
  events: async function* (id: string, options: FollowOptions = {}) {
    checkId(id)
    checkFields("options", options, ["signal", "after", "view"])
    for await (const event of follow(transport, id, options)) yield streamed(event)
  } as Runs["events"],
  wait: async (id, options = {}) => {
    checkId(id)
    checkFields("options", options, ["signal", "timeout"])
    return within(id, options, async (signal) => {
      signal?.throwIfAborted()
      if (transport.wait !== undefined) return handy(await transport.wait(id, signal))
      const until = signal === undefined ? {} : { signal }
      for await (const _ of follow(transport, id, until));
      return persist(() => get(id, until), signal)
    })
  },
})

/** Taking up runs again. */
const makeReruns = (
  ask: Ask,
  handleOf: (answer: Answer) => RunHandle,
): Pick<Runs, "rerun" | "rerunFailed" | "planRerun"> => ({
  rerun: async (id, body = {}, options) => {
    const headers = { "idempotency-key": options?.idempotencyKey }
    const parts = { id, body, headers, options, known: ["idempotencyKey"] }
    return handleOf(await ask("runs.rerun", parts))
  },
  rerunFailed: async (body = {}, options) => {
    const headers = { "idempotency-key": options?.idempotencyKey }
    const parts = { body, headers, options, known: ["idempotencyKey"] }
    return (await ask("runs.rerunFailed", parts)).body as RerunBatch
  },
  planRerun: async (id, body = {}, options) =>
    (await ask("runs.planRerun", { id, body, options })).body as RerunPlan,
})

/** The runs that a transport reaches. */
export const makeRuns = (transport: Transport): Runs => {
  const ask = makeAsk(transport)
  const list = makeListing<RunItem, RunQuery>(ask, "runs.list", filter)
  const items = makeListing<LoopItem, ItemQuery>(ask, "runs.items", ["status"])
  const get: Runs["get"] = async (id, options) => {
    const parts = { id, query: { view: options?.view }, options, known: ["view"] }
    return handy((await ask("runs.get", parts)).body as typeof Wire.RunRead.Encoded)
  }
  const cancel: Runs["cancel"] = async (id, options) =>
    (await ask("runs.cancel", { id, options })).body as RunItem
  const signal: Runs["signal"] = async (id, name, payload = null, options) => {
    const headers = { "idempotency-key": options?.idempotencyKey }
    const parts = { id, name, body: { payload }, headers, options, known: ["idempotencyKey"] }
    return (await ask("runs.signal", parts)).body as SentSignal
  }
  const { events, wait } = makeFollowing(transport, get)
  const handleOf = (answer: Answer): RunHandle => {
    const { runId: id } = answer.body as typeof Wire.StartedRun.Encoded
    return {
      id,
      isReplay: answer.isReplay === true,
      wait: (waiting) => wait(id, waiting),
      cancel: (canceling) => cancel(id, canceling),
      signal: (name, payload, signaling) => signal(id, name, payload, signaling),
      events: (following) => events(id, following),
      nodes: async (reading) => (await get(id, reading)).nodes,
    }
  }
  return {
    list: (query = {}, options) => list(query, options),
    live: async function* (query = {}, options = {}) {
      checkFields("query", query, [...filter, "limit"])
      checkFields("options", options, ["signal"])
      yield* watch(() => transport.live({ ...query }, options.signal), options.signal)
    },
    start: async (body, options) => {
      const headers = { "idempotency-key": options?.idempotencyKey }
      const client = options?.client
      const parts = { body, headers, client, options, known: ["idempotencyKey", "client"] }
      const answer = await ask("runs.start", parts)
      const handle = handleOf(answer)
      return client === undefined ? handle : ofTransaction(handle)
    },
    ...makeReruns(ask, handleOf),
    estimate: async (body, options) =>
      (await ask("runs.estimate", { body, options })).body as RunEstimate,
    get,
    node: async (id, nodeId, options) =>
      (await ask("runs.node", { id, nodeId, options })).body as NodeRun,
    items: (id, nodeId, query = {}, options) => items(query, options, id, nodeId),
    definition: async (id, options) =>
      (await ask("runs.definition", { id, options })).body as RunDefinition,
    value: async (id, valueId, options) =>
      (await ask("runs.value", { id, valueId, options })).body as Json,
    batch: async (ids, options) => {
      const { body } = await ask("runs.batch", { body: { ids }, options })
      return (body as typeof Wire.RunDetails.Encoded).runs.map(handy)
    },
    cancel,
    signal,
    events,
    wait,
  }
}
