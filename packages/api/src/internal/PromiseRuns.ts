/**
 * Runs of a server, as promises, and their events to iterate over.
 *
 * Guarantees: a stream of events that breaks off is asked for again where it broke off, so that no
 * event is lost and none comes twice. Leaves out: waiting for ever for a server that is gone.
 */
import type { RunStatus } from "@millrace/core/domain/Run"
import { ApiError } from "./ApiError.ts"
import { eventsOf } from "./EventStream.ts"
import type { Listing, PageQuery } from "./PromiseListing.ts"
import { makeListing } from "./PromiseListing.ts"
import type * as EventWire from "../RunEventWire.ts"
import type * as Wire from "../RunWire.ts"
import type { Parts, Send } from "./Transport.ts"
import { sleep } from "./Transport.ts"

/** A run with its nodes, and what a listing shows of it. */
export type Run = typeof Wire.RunRead.Encoded

/** Which runs to list. */
export interface RunFilter extends PageQuery {
  readonly workflowId?: string
  readonly status?: RunStatus
}

/** What comes while a run is followed. */
export type StreamedEvent =
  | { readonly event: "snapshot"; readonly data: typeof EventWire.RunSnapshot.Encoded }
  | {
      /** The number of the event, to go on behind. */
      readonly id: string
      readonly event: (typeof EventWire.RunEvent.Encoded)["type"]
      readonly data: typeof EventWire.RunEvent.Encoded
    }

/** A started run; `isReplay` where an earlier request under the same name has started it. */
export interface StartedRun {
  readonly runId: string
  readonly isReplay: boolean
}

/** The runs of the key's account. */
export interface Runs {
  /** Newest first. */
  list(query?: RunFilter): Listing<typeof Wire.RunItem.Encoded>
  /** Starts a run. Under an `idempotencyKey` once, however often it is repeated. */
  start(
    request: typeof Wire.StartRun.Encoded,
    options?: { readonly idempotencyKey?: string },
  ): Promise<StartedRun>
  /** What a start would cost, node by node, or what stands against it. Starts nothing. */
  estimate(request: typeof Wire.StartRun.Encoded): Promise<typeof Wire.RunEstimate.Encoded>
  get(id: string): Promise<Run>
  /**
   * Known runs, in the order in which they were first asked for; at most 50 ids. Those whose data
   * would have made the answer too large are `omitted`: without context, inputs, outputs and logs.
   */
  batch(ids: ReadonlyArray<string>): Promise<ReadonlyArray<typeof Wire.RunDetail.Encoded>>
  cancel(id: string): Promise<typeof Wire.RunItem.Encoded>
  /** A snapshot, then every event behind `after`, to the end of the run. */
  events(
    id: string,
    options?: { readonly after?: number; readonly signal?: AbortSignal },
  ): AsyncIterable<StreamedEvent>
  /** The run once it has ended, however. */
  wait(id: string, options?: { readonly signal?: AbortSignal }): Promise<Run>
}

/** How long to wait before a stream that broke off is asked for again. */
const pauseMillis = 1_000

/** After so many tries without any event the last failure is the caller's. */
const triesInARow = 30

const ends = new Set(["run.completed", "run.failed", "run.canceled"])

const isRefusal = (error: unknown): boolean => error instanceof ApiError && error.status < 500

/** One stream of events, up to where it breaks off; nothing where there is nothing more to come. */
const connect = async (
  send: Send,
  path: string,
  after: number,
  signal: AbortSignal | undefined,
) => {
  const headers = after === 0 ? {} : { "last-event-id": String(after) }
  const response = await send("GET", path, { headers, signal })
  return response.status === 204 || response.body === null ? undefined : eventsOf(response.body)
}

const follow = async function* (
  send: Send,
  id: string,
  { after = 0, signal }: { readonly after?: number; readonly signal?: AbortSignal },
): AsyncGenerator<StreamedEvent> {
  let last = after
  for (let tries = 1; ; tries++) {
    try {
      const path = `/runs/${encodeURIComponent(id)}/events`
      const stream = await connect(send, path, last, signal)
      if (stream === undefined) return
      for await (const { data, event, id: number } of stream) {
        tries = 0
        if (number !== undefined) last = Number(number)
        yield { id: number, event, data: JSON.parse(data) as unknown } as StreamedEvent
        if (ends.has(event)) return
      }
    } catch (error) {
      const isOver = signal?.aborted === true || tries >= triesInARow
      if (isRefusal(error) || isOver) throw error
    }
    await sleep(pauseMillis, signal)
  }
}

/** The runs that a key sees. */
export const makeRuns = (send: Send): Runs => {
  const at = (id: string, rest = "") => `/runs/${encodeURIComponent(id)}${rest}`
  const ask = async <A>(method: string, path: string, parts?: Parts) =>
    (await (await send(method, path, parts)).json()) as A
  const get = (id: string) => ask<Run>("GET", at(id))
  return {
    list: (query = {}) => makeListing(send, "/runs", query),
    start: async (body, { idempotencyKey } = {}) => {
      const headers = { "idempotency-key": idempotencyKey }
      const response = await send("POST", "/runs", { body, headers })
      const { runId } = (await response.json()) as typeof Wire.StartedRun.Encoded
      return { runId, isReplay: response.headers.get("idempotent-replayed") === "true" }
    },
    estimate: (body) => ask("POST", "/runs/estimate", { body }),
    get,
    batch: async (ids) => {
      const body = { ids }
      const { runs } = await ask<typeof Wire.RunDetails.Encoded>("POST", "/runs/batch", { body })
      return runs
    },
    cancel: (id) => ask("POST", at(id, "/cancel")),
    events: (id, options = {}) => follow(send, id, options),
    wait: async (id, options = {}) => {
      for await (const _ of follow(send, id, options));
      return get(id)
    },
  }
}
