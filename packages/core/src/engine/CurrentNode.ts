/**
 * What a handler may know and do about the node run it executes: its identity, its attempt, what
 * it charges. Provided to every handler; also how the node's logger finds its log.
 *
 * Guarantees: `idempotencyKey` is the same on every attempt of a node run.
 */
import type { Effect } from "effect"
import { Context, Schema } from "effect"
import type { AccountId, RunId, WorkflowId } from "../domain/Id.ts"
import type { Json, JsonObject } from "../domain/Json.ts"
import type { LogLine } from "../domain/Run.ts"

/** A handler's own, expected failure: one sentence for the run's record. */
export class NodeError extends Schema.TaggedError<NodeError>()("NodeError", {
  message: Schema.String,
  /** False: another attempt would fail alike. */
  retryable: Schema.optionalKey(Schema.Boolean),
}) {}

export class CurrentNode extends Context.Service<
  CurrentNode,
  {
    readonly accountId: AccountId
    readonly workflowId: WorkflowId
    readonly runId: RunId
    readonly nodeId: string
    readonly nodeType: string
    /** Of a type that has modes, the one in force; else the empty string. */
    readonly mode: string
    /** From 1. */
    readonly attempt: number
    /** `runId:nodeId`: hand it to whatever must not happen twice. */
    readonly idempotencyKey: string
    /** The run's values, defaults applied. */
    readonly values: JsonObject
    /** Adds to what this node run costs, in credits. Replaces the estimate once called. */
    readonly charge: (credits: number) => Effect.Effect<void>
    /** Adds a line to the node's log. `Effect.log` inside a handler does the same. */
    readonly log: (level: LogLine["level"], message: string, data?: Json) => void
  }
>()("@millrace/core/engine/CurrentNode") {}
