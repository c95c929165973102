/**
 * What can happen in a simulation: what clients ask for, and what goes wrong.
 *
 * Leaves out: what a seed draws of it, which `SimScenario` says.
 */
import type { InputOverrides, PinnedOutputs } from "@millrace/core/domain/Run"
import type { Node } from "@millrace/core/domain/Workflow"

/** What can happen to a server. */
export type Blow =
  | { readonly _tag: "Crash"; readonly downMillis: number }
  | { readonly _tag: "Pause"; readonly millis: number }
  | { readonly _tag: "Drain"; readonly downMillis: number }

/** What is struck in the middle of an operation, and when in it. */
export const strikable = ["commit", "claim", "takeOver", "heartbeat", "call"] as const

/** A message, as somebody sends it. */
export interface Sent {
  readonly id: string
  readonly name: string
}

/** Asks for a rerun of one run, or of all runs of its account that have failed. */
export interface RerunAction {
  readonly _tag: "Rerun"
  /** The API key of the request, which the rerun names: no two actions have the same. */
  readonly keyId: string
  readonly server: number
  /** The number of the run, and which run of that number: after the first come its reruns. */
  readonly run: number
  readonly place: number
  /** So long after its end; `null`: as soon as it is stored, when it is refused. */
  readonly delayMillis: number | null
  readonly isBatch: boolean
  /** True with an idempotency key: then it is asked for again until it is answered. */
  readonly isNamed: boolean
  readonly from: ReadonlyArray<string>
  readonly definition: "same" | "current"
  readonly replaced: ReadonlyArray<Node>
  readonly pinned: PinnedOutputs
  /** What happens to the server that is asked, around its next commit. */
  readonly strike: { readonly place: "arriving" | "landed"; readonly blow: Blow } | null
}

/** One thing that happens. Times are milliseconds from the beginning. */
export type Action =
  | {
      readonly _tag: "Start"
      readonly at: number
      readonly server: number
      readonly workflow: number
      /** The number by which handlers and cancels know the run. */
      readonly run: number
      readonly overrides: InputOverrides
      readonly replaced: ReadonlyArray<Node>
      readonly pinned: PinnedOutputs
      readonly single: string | null
    }
  | { readonly _tag: "Cancel"; readonly at: number; readonly server: number; readonly run: number }
  | RerunAction
  | {
      readonly _tag: "Edit"
      readonly at: number
      readonly workflow: number
      /** The node that changes or gets another one behind it; absent: none does. */
      readonly change?: { readonly nodeId: string; readonly isGrown: boolean }
    }
  | {
      /** Sends a run so many messages; where there are several, each has an id of its own. */
      readonly _tag: "Send"
      readonly at: number
      readonly server: number
      readonly run: number
      readonly message: Sent
      readonly count: number
    }
  | { readonly _tag: "Hit"; readonly at: number; readonly server: number; readonly blow: Blow }
  | {
      /** Hits a server in the middle of its so-manieth operation of a kind. */
      readonly _tag: "Strike"
      readonly operation: (typeof strikable)[number] | "send" | "inboxes" | "put"
      readonly count: number
      readonly place: "arriving" | "landed"
      readonly blow:
        | Blow
        | { readonly _tag: "Cancel"; readonly server: number }
        | { readonly _tag: "Send"; readonly message: Sent }
    }
  | {
      /** Sends the message of the so-manieth wait for one so long before its time is over. */
      readonly _tag: "Aim"
      readonly count: number
      readonly id: string
      readonly earlyMillis: number
    }
  | {
      /** The store is away for a server: nothing arrives, or no answer comes back. */
      readonly _tag: "Outage"
      readonly at: number
      readonly server: number
      readonly millis: number
      readonly place: "request" | "answer"
    }
  | { readonly _tag: "Leap"; readonly at: number; readonly millis: number }
  | {
      /** A wall clock is put forward or back: a server's, or (number 3) the store's forward. */
      readonly _tag: "Skew"
      readonly at: number
      readonly clock: number
      readonly millis: number
    }

export type StartAction = Extract<Action, { readonly _tag: "Start" }>
