/**
 * The decisions of a dispatcher: `next(state, event)` returns the calls that follow from an event.
 * `docs/explanation/state-machines.md` draws the states.
 *
 * Guarantees: no effects; clock and random numbers are arguments, so the same events give the same
 * commands. Every claimed delivery is sent, recorded or given back. At most one claim is in
 * progress. The state belongs to one loop, and `next` changes it in place. Leaves out: the calls.
 */
import type { Delivery } from "@millrace/core/domain/Delivery"
import type { DeliveryOutcome } from "@millrace/core/domain/DeliveryStep"
import { givenBack, outcomeOf, outcomeWithoutAttempt } from "@millrace/core/domain/DeliveryStep"
import type { Timestamp } from "@millrace/core/domain/Timestamp"
import type { ClaimedDelivery, DueRequest } from "@millrace/core/ports/WebhookStore"
import type { DispatcherOptions } from "./DispatcherOptions.ts"
import type { Sent } from "./internal/DeliveryAttempt.ts"
import type { Job, Reserved } from "./internal/Partitions.ts"
import { Partitions } from "./internal/Partitions.ts"
import { RetryTimes } from "./internal/RetryTimes.ts"

/** How many deliveries one claim takes at most. */
const claimLimit = 128

/** With so many new free slots, a claim does not wait for more of them. */
const worthwhile = 16

/** How long a claim waits for more free slots. */
const gatherMillis = 5

/** After this time, a delivery that could not be signed is due again. */
const unsignedMillis = 60_000

/** A claim in progress. */
interface Call {
  /** When it began. */
  readonly at: number
  /** The deliveries that it names. */
  readonly reserved: ReadonlyArray<Reserved>
  /** How many a poll asks for at most; `null` for a claim that names its deliveries. */
  readonly limit: number | null
}

/** The state of a dispatcher. Times are in milliseconds, on the monotonic clock. */
export interface DispatcherState {
  readonly options: DispatcherOptions
  readonly partitions: Partitions
  /** The due times of retries that this process has recorded. */
  readonly retries: RetryTimes
  call: Call | null
  isStopped: boolean
  /** The next round polls, also before the time of the next poll. */
  wantsPoll: boolean
  /** How many slots came free since the last round. */
  freed: number
  /** When the next round is due; infinite if there is no reason for one. */
  roundAt: number
  /** When the next poll is due. */
  pollAt: number
}

/** The time of an event, and a source of random numbers. */
export interface DispatcherContext {
  /** Monotonic, in milliseconds. */
  readonly elapsed: number
  /** The time of day. */
  readonly now: Timestamp
  /** A number from -1 to 1, another one with each call. */
  readonly random: () => number
}

/** The events of a dispatcher. */
export type DispatcherEvent =
  /** This process has stored these deliveries. None: it knows that some have become due. */
  | { readonly _tag: "Arrived"; readonly deliveries: ReadonlyArray<Delivery> }
  /** The time {@link dueAt} has come. */
  | { readonly _tag: "Woke" }
  /** `Claim` or `Poll` has ended; without claims if it failed. */
  | { readonly _tag: "Claimed"; readonly claims: ReadonlyArray<ClaimedDelivery> }
  /** `Send` has ended; `undefined`: the delivery could not be signed. */
  | { readonly _tag: "Sent"; readonly job: Job; readonly sent: Sent | undefined }
  /** The job has ended. `outcome`: what the store has recorded, if anything. */
  | { readonly _tag: "Over"; readonly job: Job; readonly outcome?: DeliveryOutcome }
  /** The dispatcher has to stop. */
  | { readonly _tag: "Stopped" }

/** The calls that a dispatcher asks for. Each ends with an event. */
export type DispatcherCommand =
  | { readonly _tag: "Claim"; readonly deliveries: ReadonlyArray<Delivery> }
  | { readonly _tag: "Poll"; readonly request: DueRequest }
  | { readonly _tag: "Send"; readonly job: Job }
  | { readonly _tag: "Record"; readonly job: Job; readonly outcome: DeliveryOutcome }

type Commands = ReadonlyArray<DispatcherCommand>

/** The state of a new dispatcher. It polls at once. */
export const makeState = (options: DispatcherOptions): DispatcherState => ({
  options,
  partitions: new Partitions(options),
  retries: new RetryTimes(),
  call: null,
  isStopped: false,
  wantsPoll: false,
  freed: 0,
  roundAt: Number.POSITIVE_INFINITY,
  pollAt: Number.NEGATIVE_INFINITY,
})

/** When the next `Woke` is due; infinite while a claim is in progress. */
export const dueAt = ({ call, isStopped, pollAt, retries, roundAt }: DispatcherState): number =>
  call === null && !isStopped ? Math.min(roundAt, pollAt, retries.next) : Number.POSITIVE_INFINITY

/** Asks for a round. If few slots came free, it waits a moment for more of them. */
const wake = (state: DispatcherState, { elapsed }: DispatcherContext): void => {
  const isFew = state.freed > 0 && state.freed < worthwhile && state.partitions.sending > 0
  state.roundAt = Math.min(state.roundAt, isFew ? elapsed + gatherMillis : elapsed)
}

const isStale = (state: DispatcherState, job: Job, { elapsed }: DispatcherContext): boolean =>
  elapsed - job.claimedAt > state.options.freshMillis

/**
 * The command for a job: `Record` if it needs no attempt, such as a lost one, else `Send`. A job
 * that may not be sent, or is too old for that, is given back.
 */
const begin = (
  state: DispatcherState,
  job: Job,
  context: DispatcherContext,
  maySend: boolean,
): DispatcherCommand => {
  const { now, random } = context
  const outcome = outcomeWithoutAttempt(state.options.schedule, job.claimed, now, random())
  if (outcome !== undefined) return { _tag: "Record", job, outcome }
  return maySend && !isStale(state, job, context)
    ? { _tag: "Send", job }
    : { _tag: "Record", job, outcome: givenBack(0) }
}

/** Begins the jobs that have slots now. A dispatcher that stops gives all waiting jobs back. */
const fill = (state: DispatcherState, context: DispatcherContext): Commands =>
  state.isStopped
    ? Array.from(
        state.partitions.take(() => true),
        (job) => begin(state, job, context, false),
      )
    : Array.from(state.partitions.begin(), (job) => begin(state, job, context, true))

/** Polls for deliveries that are due, such as retries and those of dead processes. */
const poll = (state: DispatcherState, { elapsed }: DispatcherContext): Commands => {
  const { options, partitions } = state
  const isDue = state.wantsPoll || partitions.mayFindMore() || elapsed >= state.pollAt
  if (!isDue || state.isStopped) return []
  const { perAccount, perOrigin, pollMillis, visibilityMillis } = options
  state.pollAt = elapsed + pollMillis
  const limit = Math.min(claimLimit, partitions.free)
  // Without a free slot, the poll follows when one comes free.
  state.wantsPoll = limit <= 0
  if (limit <= 0) return []
  state.call = { at: elapsed, reserved: [], limit }
  const busy = partitions.beginPoll()
  return [{ _tag: "Poll", request: { limit, perOrigin, perAccount, busy, visibilityMillis } }]
}

/** Claims the deliveries that this process has just stored. Without such deliveries, it polls. */
const round = (state: DispatcherState, context: DispatcherContext): Commands => {
  const { options, partitions, retries } = state
  const { elapsed } = context
  if (elapsed < dueAt(state)) return []
  state.roundAt = Number.POSITIVE_INFINITY
  state.freed = 0
  if (retries.removeDue(elapsed)) state.wantsPoll = true
  const stale = Array.from(
    partitions.take((job) => isStale(state, job, context)),
    (job) => {
      // The origin is slower than it was.
      partitions.learn(job.partition.origin, options.freshMillis)
      return begin(state, job, context, false)
    },
  )
  const reserved = partitions.reserve(claimLimit)
  if (reserved.length === 0) return [...stale, ...poll(state, context)]
  state.call = { at: elapsed, reserved, limit: null }
  return [...stale, { _tag: "Claim", deliveries: reserved.map(({ delivery }) => delivery) }]
}

const claimed = (
  state: DispatcherState,
  claims: ReadonlyArray<ClaimedDelivery>,
  context: DispatcherContext,
): Commands => {
  const { call, partitions } = state
  if (call === null) return []
  state.call = null
  partitions.leave(call.reserved)
  for (const each of claims) partitions.keep(each, call.at)
  const begun = fill(state, context)
  // A round that was asked for during the claim waits for more free slots from now on.
  const isWanted = state.roundAt < Number.POSITIVE_INFINITY
  state.roundAt = Number.POSITIVE_INFINITY
  if (call.limit !== null) partitions.found(call.limit, claims)
  const following = call.limit === null ? poll(state, context) : []
  if (isWanted || partitions.mayFindMore()) wake(state, context)
  return [...begun, ...following]
}

/** Frees the slot of a job. A slot is for the attempt, and not for the record that follows. */
const release = (state: DispatcherState, job: Job, context: DispatcherContext): Commands => {
  if (!job.hasSlot) return []
  const { partitions } = state
  partitions.end(job)
  const begun = fill(state, context)
  // This counts during a poll, too: nobody knows yet what the poll leaves in the store.
  state.freed += 1
  const mayFind = state.wantsPoll || partitions.mayFindMore(job.partition.groups)
  if (mayFind || partitions.hasQueued) wake(state, context)
  return begun
}

/** The calls that follow from an event, in this order. */
export const next = (
  state: DispatcherState,
  event: DispatcherEvent,
  context: DispatcherContext,
): Commands => {
  const { options, partitions, retries } = state
  switch (event._tag) {
    case "Arrived":
      // Deliveries without room are found by a poll.
      if (!event.deliveries.every((each) => partitions.queue(each))) state.wantsPoll = true
      if (event.deliveries.length === 0) state.wantsPoll = true
      // New deliveries do not wait for more free slots.
      state.freed = worthwhile
      wake(state, context)
      return []
    case "Woke":
      return round(state, context)
    case "Claimed":
      return claimed(state, event.claims, context)
    case "Sent": {
      const { job, sent } = event
      const took = sent?.attempt.durationMillis ?? null
      if (took !== null) partitions.learn(job.partition.origin, took)
      const outcome =
        sent === undefined
          ? givenBack(unsignedMillis)
          : outcomeOf(options.schedule, job.claimed, sent, context.now, context.random())
      return [{ _tag: "Record", job, outcome }, ...release(state, job, context)]
    }
    case "Over": {
      const following = event.outcome?.next
      // A clock of whole milliseconds may be late by almost one.
      if (following?._tag === "Retry") retries.add(context.elapsed + following.delayMillis + 1)
      return release(state, event.job, context)
    }
    case "Stopped":
      state.isStopped = true
      return fill(state, context)
  }
}
