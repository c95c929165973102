/**
 * What a dispatcher does next: `next(state, event)` says which calls follow from what has happened.
 * `docs/state-machines.md` draws its states.
 *
 * Guarantees: no clock, no effect and no randomness but what it is handed, so the same events give
 * the same commands. What is claimed is sent, recorded or given back. One claim is under way at a
 * time. The state belongs to its loop and is changed in place. Leaves out: carrying commands out.
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
import { RetryTimer } from "./internal/RetryTimer.ts"

/** How many deliveries one claim takes at most. */
const claimLimit = 128

/** Slots that have to come free before it is worth a claim of its own. */
const worthwhile = 16

/** How long slots that came free wait for more of them, while there is more to do. */
const gatherMillis = 5

/** What cannot be signed now is looked at again after this time. */
const unsignedMillis = 60_000

/** A claim under way, and when it began: by identifiers, or a look for at most so many. */
interface Call {
  readonly at: number
  readonly reserved: ReadonlyArray<Reserved>
  readonly limit: number | null
}

/** A dispatcher, as far as it decides. Times are monotonic. */
export interface DispatcherState {
  readonly options: DispatcherOptions
  readonly partitions: Partitions
  /** When retries are expected that this process has recorded. */
  readonly retries: RetryTimer
  call: Call | null
  isStopped: boolean
  /** A look is worth its while before the next one is due anyway. */
  wantsLook: boolean
  /** Slots that came free since the last round. */
  freed: number
  /** When the next round is wanted, and when the next look is due. */
  roundAt: number
  lookAt: number
}

/** When something happens. */
export interface DispatcherContext {
  /** Monotonic, in milliseconds. */
  readonly elapsed: number
  readonly now: Timestamp
  /** From -1 to 1, anew with each call. */
  readonly random: () => number
}

/** What happens to a dispatcher. */
export type DispatcherEvent =
  /** This process has stored these. */
  | { readonly _tag: "Arrived"; readonly deliveries: ReadonlyArray<Delivery> }
  /** The time {@link dueAt} has come. */
  | { readonly _tag: "Woke" }
  /** `Claim` or `Look` is over; without claims if it failed. */
  | { readonly _tag: "Claimed"; readonly claims: ReadonlyArray<ClaimedDelivery> }
  /** `Send` is over; `undefined` if the delivery could not be signed. */
  | { readonly _tag: "Sent"; readonly job: Job; readonly sent: Sent | undefined }
  /** Nothing more is done for this job; the outcome is the one that was stored, if one was. */
  | { readonly _tag: "Over"; readonly job: Job; readonly outcome?: DeliveryOutcome }
  /** The dispatcher is told to stop. */
  | { readonly _tag: "Stopped" }

/** What a dispatcher asks for. */
export type DispatcherCommand =
  | { readonly _tag: "Claim"; readonly deliveries: ReadonlyArray<Delivery> }
  | { readonly _tag: "Look"; readonly request: DueRequest }
  | { readonly _tag: "Send"; readonly job: Job }
  | { readonly _tag: "Record"; readonly job: Job; readonly outcome: DeliveryOutcome }

type Commands = ReadonlyArray<DispatcherCommand>

/** A dispatcher that has just started; it wants to look at once. */
export const makeState = (options: DispatcherOptions): DispatcherState => ({
  options,
  partitions: new Partitions(options),
  retries: new RetryTimer(),
  call: null,
  isStopped: false,
  wantsLook: false,
  freed: 0,
  roundAt: Number.POSITIVE_INFINITY,
  lookAt: Number.NEGATIVE_INFINITY,
})

/** When a dispatcher wants to be woken; infinite while a claim is under way. */
export const dueAt = ({ call, isStopped, lookAt, retries, roundAt }: DispatcherState): number =>
  call === null && !isStopped ? Math.min(roundAt, lookAt, retries.next) : Number.POSITIVE_INFINITY

/** Asks for a round. Where few slots came free, there is a context for more to come free. */
const wake = (state: DispatcherState, { elapsed }: DispatcherContext): void => {
  const isFew = state.freed > 0 && state.freed < worthwhile && state.partitions.sending > 0
  state.roundAt = Math.min(state.roundAt, isFew ? elapsed + gatherMillis : elapsed)
}

const withoutAttempt = (
  { options: { schedule } }: DispatcherState,
  { claimed }: Job,
  { now, random }: DispatcherContext,
): DeliveryOutcome | undefined => outcomeWithoutAttempt(schedule, claimed, now, random())

/** Gives a claim back unsent; what was claimed for recording a lost attempt is recorded. */
const giveBack = (
  state: DispatcherState,
  job: Job,
  context: DispatcherContext,
): DispatcherCommand => {
  const lost = job.claimed.lostAt === null ? undefined : withoutAttempt(state, job, context)
  return { _tag: "Record", job, outcome: lost ?? givenBack(0) }
}

const isStale = (state: DispatcherState, job: Job, { elapsed }: DispatcherContext): boolean =>
  elapsed - job.claimedAt > state.options.freshMillis

const begin = (state: DispatcherState, job: Job, context: DispatcherContext): DispatcherCommand => {
  if (isStale(state, job, context)) return giveBack(state, job, context)
  const outcome = withoutAttempt(state, job, context)
  return outcome === undefined ? { _tag: "Send", job } : { _tag: "Record", job, outcome }
}

/** Begins with what has waited, as far as there are slots. One that stops gives everything back. */
const fill = (state: DispatcherState, context: DispatcherContext): Commands =>
  state.isStopped
    ? Array.from(
        state.partitions.take(() => true),
        (job) => giveBack(state, job, context),
      )
    : Array.from(state.partitions.begin(), (job) => begin(state, job, context))

/** Looks for what is due for whatever reason: retries, and what others have left behind. */
const look = (state: DispatcherState, { elapsed }: DispatcherContext): Commands => {
  const { options, partitions } = state
  const isDue = state.wantsLook || partitions.mayFindMore() || elapsed >= state.lookAt
  if (!isDue || state.isStopped) return []
  const { perAccount, perOrigin, pollMillis, visibilityMillis } = options
  state.lookAt = elapsed + pollMillis
  const limit = Math.min(claimLimit, partitions.free)
  // Whoever gives a slot back has this done then.
  state.wantsLook = limit <= 0
  if (limit <= 0) return []
  state.call = { at: elapsed, reserved: [], limit }
  const busy = partitions.look()
  return [{ _tag: "Look", request: { limit, perOrigin, perAccount, busy, visibilityMillis } }]
}

/** Claims what this process has just stored; where there is nothing, looks. */
const round = (state: DispatcherState, context: DispatcherContext): Commands => {
  const { options, partitions, retries } = state
  const { elapsed } = context
  if (elapsed < dueAt(state)) return []
  state.roundAt = Number.POSITIVE_INFINITY
  state.freed = 0
  if (retries.ring(elapsed)) state.wantsLook = true
  const stale = Array.from(
    partitions.take((job) => isStale(state, job, context)),
    (job) => {
      // Its origin is not so quick.
      partitions.learn(job.partition.origin, options.freshMillis)
      return giveBack(state, job, context)
    },
  )
  const reserved = partitions.reserve(claimLimit)
  if (reserved.length === 0) return [...stale, ...look(state, context)]
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
  // The wish for a round came while there could be none; slots are waited for from now on.
  const isWanted = state.roundAt < Number.POSITIVE_INFINITY
  state.roundAt = Number.POSITIVE_INFINITY
  if (call.limit !== null) partitions.found(call.limit, claims)
  if (isWanted || (call.limit !== null && partitions.mayFindMore())) wake(state, context)
  return call.limit === null ? [...begun, ...look(state, context)] : begun
}

/** A slot is for the receiver's time, not for the store's: it is free once an attempt is over. */
const release = (state: DispatcherState, job: Job, context: DispatcherContext): Commands => {
  if (!job.hasSlot) return []
  const { partitions } = state
  partitions.end(job)
  const begun = fill(state, context)
  // Also while a look is under way, of which nobody knows yet what it leaves behind.
  state.freed += 1
  const mayFind = state.wantsLook || partitions.mayFindMore(job.partition.groups)
  if (mayFind || partitions.hasQueued) wake(state, context)
  return begun
}

/** What follows from what has happened, in this order. */
export const next = (
  state: DispatcherState,
  event: DispatcherEvent,
  context: DispatcherContext,
): Commands => {
  const { options, partitions, retries } = state
  switch (event._tag) {
    case "Arrived":
      if (event.deliveries.length === 0) return []
      // What does not fit in is found by a look.
      if (!event.deliveries.every((each) => partitions.queue(each))) state.wantsLook = true
      // What has arrived waits for nothing.
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
      // A clock of whole milliseconds may be behind by almost one.
      if (following?._tag === "Retry") retries.expect(context.elapsed + following.delayMillis + 1)
      return release(state, event.job, context)
    }
    case "Stopped":
      state.isStopped = true
      return fill(state, context)
  }
}
