/**
 * What a process and a thread for its handlers say to each other. Types only.
 */
import type { Json, JsonObject } from "@millrace/core/domain/Json"
import type { LogLine } from "@millrace/core/domain/Run"
import type { NodeError } from "@millrace/core/engine/CurrentNode"

/** What a thread is made for. */
export interface ThreadData {
  /** The address of the module that exports the node types. */
  readonly millraceModule: string
}

/** One attempt. */
export interface ThreadCall {
  /** What the thread says of this attempt carries the same number. */
  readonly id: number
  readonly type: string
  readonly version: number
  readonly inputs: JsonObject
  /** How many log lines the thread passes on at most. */
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

/** What a thread says while it is at an attempt, and at its end. */
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
      /** False: the thread is good for nothing more. */
      readonly isReusable: boolean
      readonly error: Pick<NodeError, "message" | "retryable" | "retryAfterMillis">
    }
