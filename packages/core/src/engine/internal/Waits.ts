/**
 * The ends of waits: by messages, and by their times.
 *
 * Guarantees: pure; of the nodes that wait for a message, the first in the run gets it, and no
 * other. Leaves out: what follows, which is `Step`'s.
 */
import { Result } from "effect"
import type { Message } from "../../domain/Message.ts"
import { childEndOf } from "../../domain/Message.ts"
import type { WaitingNode } from "../../domain/Run.ts"
import type { Timestamp } from "../../domain/Timestamp.ts"
import { endsWait } from "../../domain/WorkflowSignal.ts"
import type { CommitBuilder } from "./CommitBuilder.ts"
import { isComputable } from "./ComputedNodes.ts"
import { finishNode } from "./NodeOutcome.ts"
import type { RunState } from "./RunState.ts"
import { activeOf, endedBy, isHalted, readyOf } from "./RunState.ts"

/** Binds a node's inputs: it becomes ready, or fails for want of exactly one value at a port. */
export const bind = (
  progress: RunState,
  change: CommitBuilder,
  index: number,
  now: Timestamp,
): void => {
  const ready = readyOf(progress, index, now)
  if (Result.isSuccess(ready)) {
    if (isComputable(progress, ready.success)) progress.computable.push(ready.success)
    else progress.ready.push(ready.success)
    return
  }
  finishNode(progress, change, progress.graph.nodes[index]!, {
    status: "FAILED",
    attempt: 0,
    input: null,
    output: null,
    logs: null,
    error: ready.failure,
    credits: 0,
    startedAt: null,
    finishedAt: now,
  })
}

/** Ends the wait of a node: it needs a slot now. */
const wake = (
  progress: RunState,
  change: CommitBuilder,
  waiting: WaitingNode,
  now: Timestamp,
): void => {
  progress.waiting.delete(waiting.ordinal)
  progress.again.set(waiting.ordinal, activeOf(waiting))
  bind(progress, change, waiting.ordinal, now)
}

/** True if this message ends the wait. A message that came too late does not. */
const isEndedBy = (wait: WaitingNode, message: Message): boolean => {
  if (message.at > wait.due || !endsWait(wait, message)) return false
  const end = childEndOf(message)
  return end === undefined || wait.children?.some((id) => id === end.runId) === true
}

/** Of the waits that this message would end, that of the node that comes first in the run. */
export const firstEndedBy = (
  waits: Iterable<WaitingNode>,
  message: Message,
): WaitingNode | undefined => {
  let first: WaitingNode | undefined
  for (const wait of waits) {
    const isFirst = first === undefined || wait.ordinal < first.ordinal
    if (isFirst && isEndedBy(wait, message)) first = wait
  }
  return first
}

/** Gives a message to the node of a wait. */
export const take = (
  progress: RunState,
  change: CommitBuilder,
  ordinal: number,
  message: Message,
) => {
  progress.held.set(message.number, message)
  change.take(message, progress.graph.nodes[ordinal]!)
}

/**
 * A wait that has taken one more end of a child. Its node is called with one of these messages:
 * with the first that tells of a child that did not complete, or else with the first.
 */
const endedToo = (progress: RunState, wait: WaitingNode, message: Message): WaitingNode => {
  const before = progress.held.get(wait.message!)!
  const isTold = isCompleted(message) || !isCompleted(before)
  progress.held.delete((isTold ? message : before).number)
  return { ...endedBy(wait, message), message: (isTold ? before : message).number }
}

const isCompleted = (message: Message): boolean => childEndOf(message)?.status === "COMPLETED"

/** Gives each message that nobody has taken to a node that waits for it. */
export const deliver = (progress: RunState, change: CommitBuilder, now: Timestamp): void => {
  if (progress.inbox.length === 0) return
  const ended = new Map<number, WaitingNode>()
  progress.inbox = progress.inbox.filter((message) => {
    const wait = firstEndedBy(progress.waiting.values(), message)
    const again = wait ?? firstEndedBy(ended.values(), message)
    if (again === undefined || (wait === undefined && again.together !== true)) return true
    const { ordinal } = again
    take(progress, change, ordinal, message)
    progress.waiting.delete(ordinal)
    ended.set(
      ordinal,
      wait === undefined ? endedToo(progress, again, message) : endedBy(again, message),
    )
    return false
  })
  for (const wait of ended.values()) wake(progress, change, wait, now)
}

/** Ends waits by messages, and those of nodes that are due by their times; gives the latter. */
export const endWaits = (
  progress: RunState,
  change: CommitBuilder,
  due: ReadonlyArray<number>,
  now: Timestamp,
): ReadonlyArray<WaitingNode> => {
  if (!isHalted(progress)) deliver(progress, change, now)
  const missed: Array<WaitingNode> = []
  for (const index of due) {
    const wait = progress.waiting.get(index)
    if (wait === undefined) continue
    wake(progress, change, wait, now)
    if (wait.for !== undefined) missed.push(wait)
  }
  return missed
}
