/**
 * The inboxes of runs: what is read of them, and what becomes of what is sent.
 *
 * Leaves out: the methods; see `RunStore`, which gives these types to everybody else.
 */
import type { RunId } from "./Id.ts"
import type { Message } from "./Message.ts"
import type { RunStatus } from "./Run.ts"

/** The result of sending a message. */
export type SendResult =
  /** It is in the inbox under this number; `isReplay` if it was there before. */
  | { readonly _tag: "Sent"; readonly number: number; readonly isReplay: boolean }
  /** The account has no such run. */
  | { readonly _tag: "NotFound" }
  /** The run has ended. */
  | { readonly _tag: "Ended"; readonly status: RunStatus }
  /** The inbox holds `messagesPerRun` messages that no node has taken. */
  | { readonly _tag: "Full" }

/** The result of sending a signal to a workflow. */
export type SignalResult =
  /** This run has it; `isReplay` if it was sent before. */
  | { readonly _tag: "Taken"; readonly runId: RunId; readonly isReplay: boolean }
  /** It is kept until a run waits for it. */
  | { readonly _tag: "Kept"; readonly isReplay: boolean }
  /** The account has no such workflow. */
  | { readonly _tag: "NotFound" }
  /** No run waits for it, and `signalsPerWorkflow` are kept. */
  | { readonly _tag: "Full" }

/** Which messages of a run to read. */
export interface InboxRequest {
  readonly runId: RunId
  /** Messages with a larger number that no node has taken and that are still kept; 0 for all. */
  readonly after: number
  /** The numbers of further messages, which nodes have taken. */
  readonly held: ReadonlyArray<number>
}

/** The messages of one run, in the order of their numbers. */
export interface Inbox {
  readonly runId: RunId
  readonly messages: ReadonlyArray<Message>
}
