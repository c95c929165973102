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
import type { Message, Wait } from "../domain/Message.ts"
import type { LogLine } from "../domain/Run.ts"

/** A handler's own, expected failure: one sentence for the run's record. */
export class NodeError extends Schema.TaggedError<NodeError>()("NodeError", {
  message: Schema.String,
  /** False: another attempt would fail alike. */
  retryable: Schema.optionalKey(Schema.Boolean),
  /** Wait so long before the next attempt, instead of what the node's policy says. */
  retryAfterMillis: Schema.optionalKey(Schema.Number),
}) {}

/**
 * How a handler leaves before its work is done: to be called again, in the same attempt, once what
 * it waits for is there. It travels as a defect, so that no handler catches it by accident.
 */
export class Suspension {
  readonly wait: Wait
  readonly state: Json

  constructor(wait: Wait, state: Json) {
    this.wait = wait
    this.state = state
  }
}

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
    /** What the node left behind when it suspended itself; `undefined` where it did not. */
    readonly resumed: Json | undefined
    /**
     * The message that ended the node's wait, also on every further attempt until the node waits
     * again or ends. `undefined` where none did: then, of a resumed node, its time has passed.
     */
    readonly message: Message | undefined
    /**
     * Leaves the handler without an outcome. It is called again when what it waits for is there, in
     * this process or another one, with `state` in `resumed`. Until then the node holds no slot and
     * no memory. A message that came no later than `until`, by the store's clock, is not missed.
     */
    readonly suspend: (wait: Wait, state: Json) => Effect.Effect<never>
    /**
     * Calls something that may compute for long, so that a block of the event loop is told with
     * this node's name. What a handler does before it first waits is watched without it.
     */
    readonly watched: <A>(call: () => A) => A
    /** Adds to what this node run costs, in credits. Replaces the estimate once called. */
    readonly charge: (credits: number) => Effect.Effect<void>
    /** Adds a line to the node's log. `Effect.log` inside a handler does the same. */
    readonly log: (level: LogLine["level"], message: string, data?: Json) => void
  }
>()("@millrace/core/engine/CurrentNode") {}
