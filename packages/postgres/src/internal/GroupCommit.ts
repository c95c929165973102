/**
 * Group commit. Members that arrive in one turn of the event loop, or while flushes are in flight,
 * go out together in the next flush.
 *
 * A second flush may go out while the first is in flight. So the database works for one half of the
 * callers while the other half continues. Few members wait until the first has landed, because
 * every flush costs time; they do not wait for one that takes long. If an exclusivity key forbids a
 * second flush, the next flush goes out before the members of the last one get their outcomes.
 *
 * Guarantees: a member that nothing is in the way of goes out in the turn in which it arrived. Each
 * member gets its own outcome. Members with the same key go out in their order, and never two at
 * the same time. If a caller withdraws, its member is left out while it waits; once in flight, it
 * is written. Leaves out: what a flush is.
 */
import { AsyncResource } from "node:async_hooks"
import type { Cancel, Done } from "@millrace/core/ports/CallbackEffect"
import { Context, Effect, Exit, Fiber, Scheduler, type Scope } from "effect"

/** How members are gathered and written. */
export interface Options<Member, Outcome, E> {
  /** Members with the same key are written in order. A member without a key has no order. */
  readonly keyOf: (member: Member) => string | undefined
  /**
   * Members with the same exclusivity key are never in two flushes at once, because the second
   * flush would only wait for the first. They may be in the same flush.
   */
  readonly exclusivityKeyOf?: (member: Member) => string | undefined
  /** Writes members in one atomic step, and returns their outcomes in the same order. */
  readonly flush: (members: ReadonlyArray<Member>) => Effect.Effect<ReadonlyArray<Outcome>, E>
  /**
   * True for an error that one member may have caused, if nothing was written. Then each member
   * goes out again alone, and only the bad one fails. A defect is treated the same way, such as a
   * member that cannot be encoded.
   */
  readonly isOneMembers: (error: E) => boolean
  /** The error for callers that still wait when the scope closes. */
  readonly closed: E
  /** The error for members whose flush takes too long. They may have been written. */
  readonly late: E
  /** How long a flush may take. Without a limit, a lost one would block all later ones. */
  readonly flushMillis: number
  /** How many members go out together at most. */
  readonly maxMembers: number
  /** How many flushes are in flight at most. */
  readonly flushesAtOnce: number
}

/** A member that has not gone out, or has no outcome yet. Mutable. */
class Waiting<Member, Outcome, E> {
  readonly member: Member
  readonly key: string | undefined
  readonly exclusivityKey: string | undefined
  readonly #done: Done<Outcome, E>
  /** The asynchronous context of the caller, which is not that of the others in a flush. */
  readonly #context = new AsyncResource("GroupCommit")
  isAbandoned = false

  constructor(
    member: Member,
    { exclusivityKeyOf, keyOf }: Options<Member, Outcome, E>,
    done: Done<Outcome, E>,
  ) {
    this.member = member
    this.key = keyOf(member)
    this.exclusivityKey = exclusivityKeyOf?.(member)
    this.#done = done
  }

  resolve(exit: Exit.Exit<Outcome, E>): void {
    this.#context.runInAsyncScope(this.#done, undefined, exit)
  }
}

/** Fewer members go out in one flush, because every flush costs time. */
const membersWorthDividing = 32

/** Fewer members wait for a flush that is in flight. */
const membersWorthFlush = membersWorthDividing / 2

/** No member waits longer for another flush, which may wait for a lock. */
const patienceMillis = 10

/** Takes the next members, up to the limit. Members that must wait for others stay. */
const takeNext = <Member, Outcome, E>(
  waiting: ReadonlyArray<Waiting<Member, Outcome, E>>,
  busy: ReadonlySet<string>,
  held: ReadonlySet<string>,
  limit: number,
) => {
  const keys = new Set<string>()
  const next: Array<Waiting<Member, Outcome, E>> = []
  const rest: Array<Waiting<Member, Outcome, E>> = []
  for (const one of waiting) {
    if (one.isAbandoned) continue
    const { key, exclusivityKey } = one
    const hasRoom = next.length < limit
    const isFree = exclusivityKey === undefined || !held.has(exclusivityKey)
    const isNext = key === undefined || !(busy.has(key) || keys.has(key))
    const fits = hasRoom && isFree && isNext
    if (key !== undefined) keys.add(key)
    if (fits) next.push(one)
    else rest.push(one)
  }
  return { next, rest }
}

/** Writes members, calls `onLong` if that takes long, and fails if it takes too long. */
const flushInTime = <Member, Outcome, E>(
  batch: ReadonlyArray<Waiting<Member, Outcome, E>>,
  { flush, flushMillis, late }: Options<Member, Outcome, E>,
  onLong: () => void,
): Effect.Effect<ReadonlyArray<Outcome>, E> =>
  Effect.raceFirst(
    flush(batch.map(({ member }) => member)),
    Effect.sleep(patienceMillis).pipe(
      Effect.andThen(Effect.sync(onLong)),
      Effect.andThen(Effect.sleep(flushMillis - patienceMillis)),
      Effect.andThen(Effect.fail(late)),
    ),
  )

/** Tells each member of a flush its outcome. */
type Tell = () => void

/** Writes members, and returns how to tell them. Never fails: failures are outcomes. */
const write = <Member, Outcome, E>(
  batch: ReadonlyArray<Waiting<Member, Outcome, E>>,
  options: Options<Member, Outcome, E>,
  onLong: () => void,
): Effect.Effect<Tell> =>
  Effect.flatMap(Effect.exit(flushInTime(batch, options, onLong)), (exit) => {
    if (Exit.isSuccess(exit)) {
      return Effect.succeed(() => {
        for (const [index, one] of batch.entries()) one.resolve(Exit.succeed(exit.value[index]!))
      })
    }
    const reason = exit.cause.reasons[0]
    const mayBeOneMembers =
      reason?._tag === "Die" || (reason?._tag === "Fail" && options.isOneMembers(reason.error))
    if (batch.length > 1 && mayBeOneMembers) {
      // Tells each at once, because the others may take long.
      const alone = (one: (typeof batch)[number]) =>
        Effect.map(write([one], options, onLong), (tell) => tell())
      return Effect.as(Effect.forEach(batch, alone, { discard: true }), () => undefined)
    }
    return Effect.succeed(() => {
      for (const one of batch) one.resolve(Exit.failCause(exit.cause))
    })
  })

/** A flush that has gone out. Mutable. */
interface Flight<Member, Outcome, E> {
  readonly batch: ReadonlyArray<Waiting<Member, Outcome, E>>
  fiber: Fiber.Fiber<void> | undefined
  /** True once it takes longer than others should wait for it. */
  isLong: boolean
}

/** The members that wait, the flushes in flight, and when the next flush goes out. */
class Flights<Member, Outcome, E> {
  readonly #options: Options<Member, Outcome, E>
  readonly #fork: (effect: Effect.Effect<void>) => Fiber.Fiber<void>
  readonly #dispatcher: Scheduler.SchedulerDispatcher
  /** An array: a set would keep flights that have landed, until old memory is collected. */
  #inFlight: ReadonlyArray<Flight<Member, Outcome, E>> = []
  readonly #busy = new Set<string>()
  readonly #held = new Set<string>()
  #members = 0
  #waiting: Array<Waiting<Member, Outcome, E>> = []
  #isDue = false
  #isClosed = false

  constructor(
    options: Options<Member, Outcome, E>,
    fork: (effect: Effect.Effect<void>) => Fiber.Fiber<void>,
    dispatcher: Scheduler.SchedulerDispatcher,
  ) {
    this.#options = options
    this.#fork = fork
    this.#dispatcher = dispatcher
  }

  submit(member: Member, done: Done<Outcome, E>): Cancel {
    if (this.#isClosed) {
      done(Exit.fail(this.#options.closed))
      return () => undefined
    }
    const one = new Waiting(member, this.#options, done)
    this.#waiting.push(one)
    this.#departSoon()
    return () => {
      one.isAbandoned = true
    }
  }

  /** Fails all members, interrupts the flushes in flight, and waits until those are over. */
  readonly close: Effect.Effect<void> = Effect.suspend(() => {
    this.#isClosed = true
    const flights = this.#inFlight
    const all = [...flights.flatMap(({ batch }) => batch), ...this.#waiting]
    this.#waiting = []
    for (const one of all) {
      one.resolve(Exit.fail(this.#options.closed))
    }
    return Fiber.interruptAll(flights.flatMap(({ fiber }) => fiber ?? []))
  })

  /**
   * Starts flushes while there is room. `landed` members have just been written: their callers will
   * soon submit again, so they count when members are divided among flushes.
   */
  #depart(landed = 0): void {
    const { flushesAtOnce, maxMembers } = this.#options
    while (this.#isWorthFlush) {
      const share = Math.ceil((this.#waiting.length + this.#members + landed) / flushesAtOnce)
      const limit = Math.min(maxMembers, Math.max(share, membersWorthDividing))
      const { next, rest } = takeNext(this.#waiting, this.#busy, this.#held, limit)
      this.#waiting = rest
      if (next.length === 0) return
      this.#fly(next)
    }
  }

  /** True if there is room for a flush, and the members that wait are enough for one. */
  get #isWorthFlush(): boolean {
    const { flushesAtOnce, maxMembers } = this.#options
    const { length } = this.#waiting
    if (length === 0 || this.#inFlight.length >= flushesAtOnce) return false
    const isEnough = length >= Math.min(membersWorthFlush, maxMembers)
    return isEnough || this.#inFlight.every(({ isLong }) => isLong)
  }

  /** Starts flushes after all other fibers and callbacks of this turn had a chance to submit. */
  #departSoon(): void {
    if (this.#isDue || this.#inFlight.length >= this.#options.flushesAtOnce) return
    this.#isDue = true
    this.#dispatcher.scheduleTask(() => {
      this.#isDue = false
      this.#depart()
    }, 0)
  }

  #fly(batch: ReadonlyArray<Waiting<Member, Outcome, E>>): void {
    const flight: Flight<Member, Outcome, E> = { batch, fiber: undefined, isLong: false }
    this.#inFlight = [...this.#inFlight, flight]
    this.#members += batch.length
    for (const { key } of batch) if (key !== undefined) this.#busy.add(key)
    for (const { exclusivityKey } of batch)
      if (exclusivityKey !== undefined) this.#held.add(exclusivityKey)
    const hasExclusivityKey = batch.some(({ exclusivityKey }) => exclusivityKey !== undefined)
    const land = (tell: Tell): void => {
      if (hasExclusivityKey) {
        this.#clear(flight)
        this.#depart(batch.length)
        tell()
      } else {
        tell()
        this.#clear(flight)
        this.#depart()
      }
    }
    const onLong = () => {
      flight.isLong = true
      this.#depart()
    }
    flight.fiber = this.#fork(Effect.map(write(batch, this.#options, onLong), land))
  }

  #clear(flight: Flight<Member, Outcome, E>): void {
    const { batch } = flight
    this.#inFlight = this.#inFlight.filter((other) => other !== flight)
    this.#members -= batch.length
    for (const { key } of batch) if (key !== undefined) this.#busy.delete(key)
    for (const { exclusivityKey } of batch)
      if (exclusivityKey !== undefined) this.#held.delete(exclusivityKey)
  }
}

/** Adds a member, and tells its outcome. */
type Submit<Member, Outcome, E> = (member: Member, done: Done<Outcome, E>) => Cancel

/** Flushes until the scope closes. Returns the function that adds a member. */
export const make = Effect.fnUntraced(function* <Member, Outcome, E>(
  options: Options<Member, Outcome, E>,
): Effect.fn.Return<Submit<Member, Outcome, E>, never, Scope.Scope> {
  const context = yield* Effect.context()
  const dispatcher = Context.get(context, Scheduler.Scheduler).makeDispatcher()
  const flights = new Flights(options, Effect.runForkWith(context), dispatcher)
  yield* Effect.addFinalizer(() => flights.close)
  return (member, done) => flights.submit(member, done)
})
