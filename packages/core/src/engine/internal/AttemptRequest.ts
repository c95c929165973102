/**
 * What an attempt of a node needs to know of its run and of what its process shares.
 */
import type { Clock } from "effect"
import type { Limits } from "../../domain/Limits.ts"
import type { Message } from "../../domain/Message.ts"
import type { CalledWorkflows, LogLine, Run } from "../../domain/Run.ts"
import type { GraphNode } from "../../graph/Graph.ts"
import type { Evaluator } from "../../ports/Evaluator.ts"
import type { ChildRun } from "../CurrentNode.ts"
import type { Executable } from "../NodeTypes.ts"
import type { ApprovalLinks } from "./ApprovalTokens.ts"
import type { BodyRun, ChildSource, Loop } from "./ChildSource.ts"
import type { Handler, Handlers } from "./Handlers.ts"
import type { Started } from "./RunState.ts"
import type { RunSecrets } from "./RunSecrets.ts"
import type { RunValues } from "./RunValues.ts"

interface LoopOfNode extends Loop {
  /** Computes a run of the body, if it ends at once. */
  readonly compute: (child: BodyRun) => ChildRun | undefined
}

/** What all attempts of a process share. */
export interface SharedByAttempts {
  readonly handlers: Pick<Handlers, "enter" | "leave">
  readonly clock: Clock.Clock
  readonly evaluator: Evaluator
  readonly children: ChildSource
  /** How a node comes by links for people; `undefined` if nobody makes any. */
  readonly links: ApprovalLinks | undefined
}

/** What an attempt needs to know. */
export interface AttemptRequest {
  readonly run: Run
  readonly node: GraphNode
  readonly executable: Executable<unknown>
  readonly started: Started
  readonly shared: SharedByAttempts
  /** The body of the node, if it is a loop with one, and what that uses of other nodes. */
  readonly loop: LoopOfNode | undefined
  /** The workflows that the run's graph calls. */
  readonly workflows: CalledWorkflows | undefined
  /** The secrets of the run; `undefined` if its graph names none. */
  readonly secrets: RunSecrets | undefined
  /** The large values of the run; `undefined` if they are kept nowhere. */
  readonly values: RunValues | undefined
  /** The message that ended its wait. */
  readonly message: Message | undefined
  /** What earlier attempts of the node have logged. */
  readonly earlier: ReadonlyArray<LogLine> | null
  readonly limits: Limits
  /** The handler as one that may block the event loop. */
  readonly handler: Handler
}
