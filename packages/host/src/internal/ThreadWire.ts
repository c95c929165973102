/**
 * The messages between a process and its handler threads. Types only.
 */
import type { Json, JsonObject } from "@millrace/core/domain/Json"
import type { LogLine } from "@millrace/core/domain/Run"
import type { NodeError } from "@millrace/core/engine/CurrentNode"

/** The data of a new thread. */
export interface ThreadData {
  /** The address of the module that exports the node types. */
  readonly millraceModule: string
}

/** One attempt. */
export interface ThreadCall {
  /** Every message of the thread about this attempt has the same number. */
  readonly id: number
  readonly type: string
  readonly version: number
  readonly inputs: JsonObject
  /** How many log lines the thread sends at most. */
  readonly logLines: number
  readonly current: {
    readonly accountId: string
    readonly workflowId: string
    readonly runId: string
    readonly nodeId: string
    readonly mode: string
    readonly attempt: number
    readonly idempotencyKey: string
  }
}

/** A message of a thread during an attempt, or at its end. */
export type ThreadNews =
  | {
      readonly _tag: "Logged"
      readonly id: number
      readonly level: LogLine["level"]
      readonly message: string
      readonly data: Json | undefined
    }
  | { readonly _tag: "Charged"; readonly id: number; readonly credits: number }
  | { readonly _tag: "Done"; readonly id: number; readonly output: JsonObject }
  | {
      readonly _tag: "Failed"
      readonly id: number
      /** False: the thread must be ended. */
      readonly isReusable: boolean
      readonly error: Pick<NodeError, "message" | "retryable" | "retryAfterMillis">
    }
