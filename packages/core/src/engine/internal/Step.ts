/**
 * The next step of a run: finishes nodes whose attempts have ended, decides which nodes that
 * releases, and puts all of it into one commit, with the attempts that start after it.
 *
 * Guarantees: pure, so that a step is the same live and after a crash; nothing is started twice.
 * Leaves out: committing, calling handlers, and telling the time.
 */
import { Duration } from "effect"
import type { MicroCredits } from "../../domain/Credits.ts"
import type { RunId } from "../../domain/Id.ts"
import type { Message } from "../../domain/Message.ts"
import type { WaitingNode } from "../../domain/Run.ts"
import type { Timestamp } from "../../domain/Timestamp.ts"
import { isCorrelated, signalWaitsOf } from "../../domain/WorkflowSignal.ts"
import { hasResponse, responseOf, resultOf } from "../../graph/internal/Bindings.ts"
import type { InsufficientCredits } from "../../ports/LedgerStore.ts"
import type { RunCommit } from "../../ports/RunStore.ts"
import type { AttemptOutcome } from "./Attempt.ts"
import { expectedOf, sentenceOfLimit, sentenceOfRefusal } from "./Billing.ts"
import { CommitBuilder } from "./CommitBuilder.ts"
import type { Compute, Computed } from "./ComputedNodes.ts"
import { beginOf, computeNodes, nothingComputed } from "./ComputedNodes.ts"
import type { Ready, RunState, Started } from "./RunState.ts"
import {
  activeOf,
  endedBy,
  forgetReturned,
  isCanceledByParent,
  isHalted,
  isListening,
  nextDue,
  none,
  receive,
} from "./RunState.ts"
import { cancelAttempt, applyOutcome } from "./NodeOutcome.ts"
import { bind, deliver, endWaits, firstEndedBy, take } from "./Waits.ts"

/**
 * What can move a run: an attempt ended, a node has waited until its time, messages came, or the
 * run's time is up.
 */
export type StepEvent =
  | AttemptOutcome
  | { readonly _tag: "Received"; readonly messages: ReadonlyArray<Message> }
  | { readonly _tag: "Due"; readonly index: number }
  | { readonly _tag: "Expired" }

/** The options of a step. */
export interface StepOptions {
  /** True if no node may be started, because the process is about to stop. It may say so later. */
  readonly isDraining: () => boolean
  /** A run that has nothing to do for longer than this is parked. */
  readonly parkAfterMillis: number
  /** Calls nodes without effects within the step. Absent: they are started like all others. */
  readonly compute?: Compute
}

/** What one step asks for: a commit, and what to do once that is stored. */
export interface Step {
  readonly commit: RunCommit
  readonly started: ReadonlyArray<Started>
  /** Nodes whose attempts are to be broken off. */
  readonly stopped: ReadonlyArray<number>
  /** The step to take instead if the account's credits do not cover the commit. */
  readonly otherwise?: (refusal: InsufficientCredits) => Step
  /** The step to take instead if the run has messages that this step did not see. */
  readonly unseen?: ((messages: ReadonlyArray<Message>) => Step) | undefined
}

/** The decisions of a step, before its entries for the ledger are added. */
interface StepDecision extends Pick<Step, "started" | "stopped"> {
  readonly halted: boolean
  readonly timedOut: boolean
  /** True if nobody waits for the run any more: its parent has ended, for example. */
  readonly canceled: boolean
  /** True where what is in progress is broken off. */
  readonly aborted: boolean
  /** Waits for a message that were ended by their time. */
  readonly missed: ReadonlyArray<WaitingNode>
  readonly computed: Computed
}

/** The error of a failed run: the first failure, and how many more. */
const errorOf = ({ failed, firstFailure: first }: RunState): string | null => {
  if (first === undefined) return null
  const more = failed - 1
  const rest = more === 0 ? "" : more === 1 ? " (and 1 more node)" : ` (and ${more} more nodes)`
  return `Node "${first.node.id}" failed: ${first.error}${rest}`
}

/** Decides all that the finished nodes release, until nothing more follows. */
const release = (progress: RunState, change: CommitBuilder, now: Timestamp): void => {
  let decided = progress.frontier.advance()
  while (decided.length > 0) {
    for (const each of decided) {
      if (each._tag === "Run") {
        // After a restart this is also said of nodes that have begun already.
        const begun = progress.waiting.has(each.index) || progress.running.has(each.index)
        if (!begun) bind(progress, change, each.index, now)
        continue
      }
      const node = progress.graph.nodes[each.index]!
      const message = each._tag === "Skip" ? each.reason : "Disabled: the input is passed through"
      const level = node.isUnused && node.type.role !== "note" ? "warn" : "info"
      change.setNode(node, {
        status: "SKIPPED",
        output: each._tag === "Skip" ? null : each.output,
        logs: [{ at: now, level, message, attempt: 0 }],
        finishedAt: now,
      })
    }
    decided = progress.frontier.advance()
  }
}

/** Puts nodes in line for free slots, in place of those that were in it. */
const waitForSlots = (progress: RunState, nodes: Array<Ready>): void => {
  progress.ready = nodes
  progress.nextReady = 0
}

/**
 * Takes ready nodes into the free slots. A node without effects that could not be computed gets a
 * slot, too: a crash of the process counts only where an attempt is on record.
 */
const fill = (progress: RunState, now: Timestamp): ReadonlyArray<Started> => {
  const free = Math.max(0, progress.limits.nodesAtOnce - progress.running.size)
  const { computable, ready, nextReady: from } = progress
  const left = free - (ready.length - from)
  if (left > 0 && computable.length > 0) ready.push(...computable.splice(0, left))
  progress.nextReady = Math.min(ready.length, from + free)
  const next = ready.slice(from, progress.nextReady).map((each) => beginOf(progress, each, now))
  for (const started of next) progress.running.set(started.index, started)
  // Of nodes that have begun, nothing is kept here.
  if (progress.nextReady === ready.length) waitForSlots(progress, [])
  return next
}

/** Records what is in progress and what waits, and how much of that is new. */
const recordAttempts = (
  progress: RunState,
  change: CommitBuilder,
  started: ReadonlyArray<Started>,
  computed: Computed,
): void => {
  const { again, rows, running, waiting } = progress
  let { attempts, nodes } = computed
  for (const { attempt, index, message } of started) {
    const written = message === undefined ? undefined : change.attemptOf(index)
    // A suspended attempt goes on where its row says it stopped; any other number is a new attempt.
    if ((written ?? rows.get(index)?.attempt) !== attempt) attempts += 1
    if (!again.delete(index)) nodes += 1
  }
  change.setActive(running.values().map(activeOf), attempts, nodes)
  if (waiting.size === 0 && again.size === 0) return change.setWaiting([])
  // What found no slot is kept as a wait that is over, or the next owner would begin it anew.
  const overdue = Array.from(again.values(), (next) => ({ ...next, due: next.startedAt }))
  change.setWaiting([...waiting.values(), ...overdue].toSorted(byOrdinal))
}

const byOrdinal = (a: { ordinal: number }, b: { ordinal: number }): number => a.ordinal - b.ordinal

const finish = (
  progress: RunState,
  change: CommitBuilder,
  { canceled, timedOut }: StepDecision,
): void => {
  const { completed, failed } = progress
  const counts = { completed, failed }
  if (canceled) return change.end("CANCELED", null, null, counts)
  const millis = progress.definition.settings.timeoutMillis ?? 0
  const late = `The run timed out after ${Duration.format(Duration.millis(millis))}`
  const error = timedOut ? late : (progress.exhausted ?? errorOf(progress))
  const output =
    progress.definition.settings.body !== undefined && !hasResponse(progress.graph)
      ? resultOf(progress.graph, progress.frontier)
      : responseOf(progress.graph, progress.responses)
  change.end(error === null ? "COMPLETED" : "FAILED", error, output, counts)
}

/** Parks the run if it has nothing to do for long enough. */
const parkOrKeep = (
  progress: RunState,
  change: CommitBuilder,
  now: Timestamp,
  { isDraining, parkAfterMillis }: StepOptions,
): void => {
  const { computable, nextReady, ready, running } = progress
  const idle = running.size === 0 && nextReady === ready.length && computable.length === 0
  // A run in which nothing is in progress or ready waits, or it would have ended.
  const due = nextDue(progress)!
  if (!idle || (!isDraining() && due - now <= parkAfterMillis)) return change.keep()
  change.park(Math.min(due, progress.deadline ?? due))
}

/** Decides a step once more that nobody waits for: what it would start is not started. */
const cancelWithParent = (
  progress: RunState,
  change: CommitBuilder,
  now: Timestamp,
  options: StepOptions,
  decided: StepDecision,
): Step => {
  for (const { index } of decided.started) progress.running.delete(index)
  const more = [...progress.running.keys()]
  for (const index of more) cancelAttempt(progress, change, index, now)
  const stopped = [...decided.stopped, ...more]
  const next = { ...decided, started: [], stopped, missed: [], halted: true, aborted: true }
  return conclude(progress, change, now, options, { ...next, canceled: true })
}

/**
 * Decides a step once more, on messages that came meanwhile. They end what still waits, and waits
 * that the step has ended by their time although a message was there before.
 */
const reconsider = (
  progress: RunState,
  change: CommitBuilder,
  now: Timestamp,
  options: StepOptions,
  decided: StepDecision,
): Step => {
  if (isCanceledByParent(progress) && !decided.canceled) {
    return cancelWithParent(progress, change, now, options, decided)
  }
  if (decided.halted) return conclude(progress, change, now, options, decided)
  const missed = new Map(decided.missed.map((wait) => [wait.ordinal, wait]))
  const found = new Map<number, Message>()
  progress.inbox = progress.inbox.filter((message) => {
    const wait = firstEndedBy(missed.values(), message)
    if (wait === undefined) return true
    missed.delete(wait.ordinal)
    found.set(wait.ordinal, message)
    take(progress, change, wait.ordinal, message)
    return false
  })
  for (const [index, message] of found) {
    progress.again.set(index, endedBy(progress.again.get(index)!, message))
  }
  const started = decided.started.map((each) => {
    const message = found.get(each.index)
    return message === undefined ? each : endedBy(each, message)
  })
  for (const each of started) progress.running.set(each.index, each)
  deliver(progress, change, now)
  const more = options.isDraining() ? [] : fill(progress, now)
  const next = { ...decided, started: [...started, ...more], missed: [...missed.values()] }
  return conclude(progress, change, now, options, next)
}

/** How a step is decided once more whose commit was refused for messages that it did not see. */
const whenUnseen = (
  progress: RunState,
  change: CommitBuilder,
  now: Timestamp,
  options: StepOptions,
  decided: StepDecision,
): Step["unseen"] => {
  const isSignaled = signalWaitsOf(progress.run).length > 0
  if (decided.missed.length === 0 && !isSignaled && !isListening(progress)) return undefined
  const spare = change.fork()
  const { run } = progress
  const again = [...progress.again.entries()]
  change.see(progress.seen)
  return (messages) => {
    progress.run = run
    for (const [index, active] of again) progress.again.set(index, active)
    receive(progress, messages)
    return reconsider(progress, spare, now, options, decided)
  }
}

/** Says which signals to the workflow the run waits for, and gives back what it cannot use. */
const giveBack = (progress: RunState, change: CommitBuilder): void => {
  const { inbox } = progress
  const left = inbox.length === 0 ? inbox : inbox.filter(isCorrelated)
  change.changeSignalWaits(isHalted(progress), left.length > 0)
  progress.returned = left.length === 0 ? none : left.map(({ number }) => number)
}

/** Adds the entries for the ledger and makes the commit of a step. */
const finishStep = (
  progress: RunState,
  change: CommitBuilder,
  now: Timestamp,
  options: StepOptions,
  decided: StepDecision,
): Step => {
  const { halted, started, stopped } = decided
  const unseen = whenUnseen(progress, change, now, options, decided)
  recordAttempts(progress, change, started, decided.computed)
  for (const index of stopped) progress.running.delete(index)
  if (progress.frontier.finished || (halted && progress.running.size === 0)) {
    finish(progress, change, decided)
  } else parkOrKeep(progress, change, now, options)
  giveBack(progress, change)
  const commit = change.commit()
  progress.run = commit.run
  for (const row of commit.nodeRuns) progress.rows.set(row.ordinal, row)
  for (const row of commit.rewritten) progress.rows.set(row.ordinal, row)
  return unseen === undefined ? { commit, started, stopped } : { commit, started, stopped, unseen }
}

/**
 * Finishes a step of a run whose credits ran out: nothing more is started. What was computed of
 * children is paid for like any other work that was done, as far as the account covers it.
 */
const finishExhausted = (
  progress: RunState,
  change: CommitBuilder,
  now: Timestamp,
  options: StepOptions,
  decided: StepDecision,
  uncovered?: RunId,
): Step => {
  change.keepEndedStarts(uncovered)
  const { run } = progress
  const spare = change.fork()
  const step = finishStep(progress, change, now, options, decided)
  if (spare.starts.length === 0) return step
  const otherwise = ({ runId }: InsufficientCredits): Step => {
    progress.run = run
    const first = runId ?? spare.starts[0]!.run.id
    return finishExhausted(progress, spare, now, options, decided, first)
  }
  return { ...step, otherwise }
}

/**
 * Finishes a step for which more credits must be reserved. If the account does not cover them, the
 * work that was done is paid for all the same, and no further node is started.
 */
const finishShortOfCredits = (
  progress: RunState,
  change: CommitBuilder,
  now: Timestamp,
  options: StepOptions,
  decided: StepDecision,
  expected: MicroCredits,
): Step => {
  const { again, run, running } = progress
  const spare = change.fork()
  const before = [...again.entries()]
  const exhaust = (sentence: string, uncovered?: RunId): Step => {
    progress.exhausted = sentence
    progress.run = run
    const { nextReady, ready } = progress
    waitForSlots(progress, [...decided.started, ...ready.slice(nextReady)])
    for (const { index } of decided.started) running.delete(index)
    for (const [index, active] of before) again.set(index, active)
    const halted = { ...decided, halted: true, started: [] }
    return finishExhausted(progress, spare, now, options, halted, uncovered)
  }
  const { maxCredits } = run
  const cost = change.cost + expected
  const more = change.shortOf(expected)
  if (maxCredits !== null && more > 0 && cost > maxCredits) {
    return exhaust(sentenceOfLimit(cost, maxCredits))
  }
  change.extend(more)
  const step = finishStep(progress, change, now, options, decided)
  return {
    ...step,
    otherwise: ({ required, runId }) => exhaust(sentenceOfRefusal(required), runId),
  }
}

/** Finishes a step, and reserves more credits if what it starts needs them. */
const conclude = (
  progress: RunState,
  change: CommitBuilder,
  now: Timestamp,
  options: StepOptions,
  decided: StepDecision,
): Step => {
  if (progress.exhausted !== undefined) {
    return finishExhausted(progress, change, now, options, decided)
  }
  const expected = decided.aborted ? 0 : expectedOf(progress)
  return change.starts.length > 0 || change.shortOf(expected) > 0
    ? finishShortOfCredits(progress, change, now, options, decided, expected)
    : finishStep(progress, change, now, options, decided)
}

/** Takes the next step. */
export const decideStep = (
  progress: RunState,
  events: ReadonlyArray<StepEvent>,
  at: Timestamp,
  options: StepOptions,
): Step => {
  const change = new CommitBuilder(progress.run, at, progress)
  forgetReturned(progress)
  if (progress.run.status === "QUEUED") change.begin()
  let expired = false
  const due: Array<number> = []
  for (const event of events) {
    if (event._tag === "Expired") expired = true
    else if (event._tag === "Received") receive(progress, event.messages)
    else if (event._tag === "Due") due.push(event.index)
    else applyOutcome(progress, change, event)
  }
  release(progress, change, at)
  const missed = endWaits(progress, change, due, at)
  const timedOut = expired && !progress.frontier.finished
  const canceled = isCanceledByParent(progress)
  const mayCompute = !timedOut && !canceled && !options.isDraining()
  const computed = mayCompute
    ? computeNodes(progress, change, at, options.compute, release)
    : nothingComputed(at)
  const now = computed.until
  // What was computed may wait for a message that is there already.
  if (computed.attempts > 0 && !isHalted(progress)) deliver(progress, change, now)
  const halted = timedOut || canceled || isHalted(progress)
  const aborted =
    timedOut || canceled || (halted && progress.definition.settings.onFailure === "abort")
  const stopped = aborted ? [...progress.running.keys()] : []
  for (const index of stopped) cancelAttempt(progress, change, index, now)
  const started = halted || options.isDraining() ? [] : fill(progress, now)
  return conclude(progress, change, now, options, {
    started,
    stopped,
    halted,
    timedOut,
    canceled,
    missed,
    aborted,
    computed,
  })
}

/** True as long as this process goes on with the run. */
export const goesOn = ({ run, running, waiting }: RunState): boolean =>
  run.finishedAt === null && run.dueAt === null && (running.size > 0 || waiting.size > 0)
