/**
 * How a call of the promise interface reaches its operation: over HTTP, or directly in the same
 * process. What a call means and what its answer looks like is the same for both.
 *
 * Leaves out: the interface itself; see `PromiseClient`.
 */
import type { Api } from "./Api.ts"
import type * as EventWire from "./RunEventWire.ts"
import type * as RunWire from "./RunWire.ts"

type Groups = (typeof Api)["groups"]

/** An operation of `/api/v1`: `runs.start`. */
export type OperationName = {
  [G in keyof Groups]: `${G}.${keyof Groups[G]["endpoints"] & string}`
}[keyof Groups]

/** What travels as text, by name. */
export type TextFields = Readonly<Record<string, string | number | undefined>>

/** Those that are given, as text. */
export const textOf = (fields: TextFields = {}): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Object.entries(fields).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, String(value)]],
    ),
  )

/** What a call brings. Nothing in it is checked but that a body is JSON of its own. */
export interface Call {
  readonly operation: OperationName
  readonly id?: string | undefined
  readonly query?: TextFields | undefined
  /** By their names in HTTP. */
  readonly headers?: TextFields | undefined
  readonly body?: unknown
  /** Aborting it gives the call up. */
  readonly signal?: AbortSignal | undefined
}

/** What an operation answers, as JSON, and what it says beside it. */
export interface Answer {
  readonly body: unknown
  readonly etag?: string | undefined
  readonly isReplay?: boolean | undefined
}

/** What comes while a run is followed, as it travels. */
export type WireEvent =
  | { readonly event: "snapshot"; readonly data: typeof EventWire.RunSnapshot.Encoded }
  | {
      /** The number of the event, to go on behind. */
      readonly id: string
      readonly event: (typeof EventWire.RunEvent.Encoded)["type"]
      readonly data: typeof EventWire.RunEvent.Encoded
    }

/** Calls operations. Every method rejects with a `MillraceError` where it is refused. */
export interface Transport {
  readonly call: (call: Call) => Promise<Answer>
  /**
   * One stream of events behind the one of this number; it may break off before the run ends.
   * `undefined` where there is nothing more to come.
   */
  readonly events: (
    id: string,
    after: number,
    signal: AbortSignal | undefined,
  ) => Promise<AsyncIterable<WireEvent> | undefined>
  /** The run once it has ended, where that is known sooner than by following it. */
  readonly wait?: (
    id: string,
    signal: AbortSignal | undefined,
  ) => Promise<typeof RunWire.RunRead.Encoded>
}
