/**
 * How a call of the promise interface reaches its operation: over HTTP, or directly in the same
 * process. Arguments and answers are the same for both.
 *
 * Leaves out: the interface itself; see `PromiseClient`.
 */
import type { Api } from "./Api.ts"
import type * as PresenceWire from "./PresenceWire.ts"
import type * as EventWire from "./RunEventWire.ts"
import type * as RunWire from "./RunWire.ts"

type Groups = (typeof Api)["groups"]

/** An operation of `/api/v1`: `runs.start`. */
export type OperationName = {
  [G in keyof Groups]: `${G}.${keyof Groups[G]["endpoints"] & string}`
}[keyof Groups]

/** Fields that are sent as text, by name. */
export type TextFields = Readonly<Record<string, string | number | boolean | undefined>>

/** The given fields, as text. */
export const textOf = (fields: TextFields = {}): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Object.entries(fields).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, String(value)]],
    ),
  )

/** A call of an operation. Its body is a copy as JSON; nothing else is checked. */
export interface TransportCall {
  readonly operation: OperationName
  readonly id?: string | undefined
  /** The second identifier of an address. */
  readonly valueId?: string | undefined
  /** The number of the version of an address. */
  readonly version?: string | undefined
  /** The trigger of an address. */
  readonly triggerId?: string | undefined
  /** The node of an address. */
  readonly nodeId?: string | undefined
  /** The name of a secret or a signal of an address. */
  readonly name?: string | undefined
  readonly query?: TextFields | undefined
  /** By their names in HTTP. */
  readonly headers?: TextFields | undefined
  readonly body?: unknown
  /** A client of the database, in whose open transaction the operation takes part. */
  readonly client?: unknown
  /** Aborting it ends the call. */
  readonly signal?: AbortSignal | undefined
}

/** The answer of an operation, as JSON; `etag` and `isReplay` are headers over HTTP. */
export interface Answer {
  readonly body: unknown
  readonly etag?: string | undefined
  readonly isReplay?: boolean | undefined
}

/** What comes while a run is followed, as it travels. */
export type WireEvent =
  | { readonly event: "snapshot"; readonly data: typeof EventWire.RunSnapshot.Encoded }
  | { readonly event: "node"; readonly data: typeof RunWire.NodeRun.Encoded }
  | {
      /** The number of the event, to go on behind. */
      readonly id: string
      readonly event: (typeof EventWire.RunEvent.Encoded)["type"]
      readonly data: typeof EventWire.RunEvent.Encoded
    }

/** What comes while a listing of runs is watched, as it travels. */
export type WireLiveEvent =
  | {
      readonly event: "page"
      readonly data: {
        readonly items: ReadonlyArray<typeof RunWire.RunItem.Encoded>
        readonly nextCursor: string | null
      }
    }
  | { readonly event: "run"; readonly data: typeof RunWire.RunItem.Encoded }

/** What comes while a workflow is open, as it travels. */
export type WireWorkflowEvent =
  | { readonly event: "presence"; readonly data: typeof PresenceWire.Presence.Encoded }
  | { readonly event: "revision"; readonly data: typeof PresenceWire.StoredRevision.Encoded }

/** Calls operations. A refused call rejects with a `MillraceError`. */
export interface Transport {
  readonly call: (call: TransportCall) => Promise<Answer>
  /**
   * One stream of events behind the one of this number; it may break off before the run ends.
   * `undefined` where there is nothing more to come. With a view, nodes come, too.
   */
  readonly events: (
    id: string,
    after: number,
    signal: AbortSignal | undefined,
    view?: "summary",
  ) => Promise<AsyncIterable<WireEvent> | undefined>
  /** One stream of runs that change; it may break off. */
  readonly live: (
    query: TextFields,
    signal: AbortSignal | undefined,
  ) => Promise<AsyncIterable<WireLiveEvent>>
  /** One stream of who has a workflow open, and of its revisions; it may break off. */
  readonly liveWorkflow: (
    id: string,
    signal: AbortSignal | undefined,
  ) => Promise<AsyncIterable<WireWorkflowEvent>>
  /** The run once it has ended, where that is known sooner than by following it. */
  readonly wait?: (
    id: string,
    signal: AbortSignal | undefined,
  ) => Promise<typeof RunWire.RunRead.Encoded>
}
