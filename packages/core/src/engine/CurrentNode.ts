/**
 * The node run that a handler executes: its identity, its attempt, its log and its charges. Every
 * handler has this service. The node's logger finds the log with it.
 *
 * Guarantees: `idempotencyKey` is the same on every attempt of a node run.
 */
import type { Effect, Redacted } from "effect"
import * as Context from "effect/Context"
import * as Schema from "effect/Schema"
import type { AccountId, RunId, WorkflowId } from "../domain/Id.ts"
import type { Json, JsonObject } from "../domain/Json.ts"
import type { Message, Wait } from "../domain/Message.ts"
import type { LogLine, Run } from "../domain/Run.ts"
import type { VersionChoice } from "../domain/WorkflowVersion.ts"
import type { StartedRun } from "../ports/RunStore.ts"

/** A failure that a handler expects: one sentence for the node's record. */
export class NodeError extends Schema.TaggedError<NodeError>()("NodeError", {
  message: Schema.String,
  /** False: another attempt would fail, too. */
  retryable: Schema.optionalKey(Schema.Boolean),
  /** Wait so long before the next attempt, instead of what the node's policy says. */
  retryAfterMillis: Schema.optionalKey(Schema.Number),
}) {}

/** True for a {@link NodeError}, also of another copy of this package. */
export const isNodeError = (error: unknown): error is NodeError =>
  error instanceof Error && "_tag" in error && error._tag === "NodeError"

/**
 * How a handler stops before its work is done. It is called again, in the same attempt, when the
 * time or message that it waits for is there. It is a defect, so no handler catches it by accident.
 */
export class Suspension {
  readonly wait: Wait
  readonly state: Json
  readonly starts: ReadonlyArray<ChildRun>

  constructor(wait: Wait, state: Json, starts: ReadonlyArray<ChildRun> = []) {
    this.wait = wait
    this.state = state
    this.starts = starts
  }
}

/** A run that a node is about to start. It is stored when the node suspends itself with it. */
export type ChildRun = StartedRun

/** The start of a child run. */
export interface ChildRequest {
  /** A workflow of the same account. */
  readonly workflowId: string
  /** Asks for its draft or for a version; without it, the child takes what a start would take. */
  readonly version?: VersionChoice | undefined
  readonly values: JsonObject
  /** Which of the node's children it is, from 0. */
  readonly index: number
}

/** The start of a child run that executes the body of the node, which is a loop. */
export interface BodyRequest {
  /** What the nodes of the body see of the loop, by port. */
  readonly body: JsonObject
  /** Which of the node's children it is, from 0. */
  readonly index: number
}

/** An addressee of an approval. */
export interface ApproverPlace {
  /** Which one, from 0. */
  readonly approver: number
  /** How often its place was passed on. */
  readonly version: number
  readonly tokenHash: string | null
}

/** A link with which somebody decides. */
export interface ApprovalLink {
  /** `undefined` where nobody has told the public address of this process. Never to be recorded. */
  readonly url: Redacted.Redacted | undefined
  readonly tokenHash: string
}

/** A secret of the run: its value may be sent to some hosts only. */
export interface KnownSecret {
  readonly name: string
  readonly mayGoTo: (url: URL) => boolean
  /** True if a text holds the value, in any form that programs write it in. */
  readonly occursIn: (text: string) => boolean
}

export class CurrentNode extends Context.Service<
  CurrentNode,
  {
    readonly accountId: AccountId
    readonly workflowId: WorkflowId
    readonly runId: RunId
    readonly nodeId: string
    readonly nodeType: string
    /** The mode in force; the empty string for a type without modes. */
    readonly mode: string
    /** From 1. */
    readonly attempt: number
    /** `runId:nodeId`. Send it with calls that must not take effect twice. */
    readonly idempotencyKey: string
    /** The run's values, defaults applied. */
    readonly values: JsonObject
    /** The state with which the node suspended itself; `undefined` if it did not. */
    readonly resumed: Json | undefined
    /**
     * The message that ended the node's wait. Further attempts get it, too, until the node waits
     * again or ends. `undefined`: no message did. If the node is resumed, its time has passed then.
     */
    readonly message: Message | undefined
    /**
     * How many of the children that the node has started have not ended, as far as it has heard. A
     * wait that is `together` hears of all that have ended at once: `message` tells of one of them,
     * of the first that did not complete if there is one.
     */
    readonly openChildren: number
    /**
     * Leaves the handler without an outcome. The handler is called again when the wait is over, in
     * this process or another one, with `state` in `resumed`. Until then the node holds no slot and
     * no memory. A message that comes no later than `until`, by the store's clock, ends the wait.
     * The runs are started in the same atomic step that records the wait, or not at all. Each
     * sends one message `child` when it has ended. Those that the node does not wait for any more
     * when it ends are canceled.
     */
    readonly suspend: (
      wait: Wait,
      state: Json,
      starts?: ReadonlyArray<ChildRun>,
    ) => Effect.Effect<never>
    /**
     * Checks the start of a child run, as strictly as any other. Nothing is stored: give the result
     * to `suspend`. A run of a body that only computes may have ended already (`finishedAt`): no
     * message tells of its end.
     */
    readonly prepareChild: (
      request: ChildRequest | BodyRequest,
    ) => Effect.Effect<ChildRun, NodeError>
    /**
     * True once so many children have ended at once that they have to be stored before the next one
     * is prepared: the node suspends itself until now, and goes on then.
     */
    readonly isTurnOver: boolean
    /** True for a loop with nodes in its body. */
    readonly hasBody: boolean
    /**
     * The children that the node has started, as they are stored: the next hundred after this
     * index, by index; -1 for the first ones. None: there are no more.
     */
    readonly children: (after: number) => Effect.Effect<ReadonlyArray<Run>, NodeError>
    /** What a child run has put out that has COMPLETED. */
    readonly outputOfChild: (child: Run) => Effect.Effect<Json, NodeError>
    /**
     * The link with which an addressee of this node decides: its address, and the hash that is kept
     * of its token. With a hash, the link that has it, if the key that made it is still there.
     */
    readonly approvalLink: (approver: ApproverPlace) => Effect.Effect<ApprovalLink, NodeError>
    /**
     * Calls a function that may compute for long. If it blocks the event loop, the warning names
     * this node. Code before the handler's first wait is watched without this call.
     */
    readonly watched: <A>(call: () => A) => A
    /** The secrets that are known to the run; calls through the egress guard obey them. */
    readonly confined: ReadonlyArray<KnownSecret>
    /** Adds to the cost of this node run, in credits. After a call the estimate does not count. */
    readonly charge: (credits: number) => Effect.Effect<void>
    /** Adds a line to the node's log. `Effect.log` inside a handler does the same. */
    readonly log: (level: LogLine["level"], message: string, data?: Json) => void
  }
>()("@millrace/core/engine/CurrentNode") {}
