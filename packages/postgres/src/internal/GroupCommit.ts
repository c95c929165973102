/**
 * Group commit: what arrives while flushes are in flight goes out together as the next one.
 *
 * A second flush may go out while the first is in flight. Then one half of the callers goes on
 * while the database works for the other, instead of everybody waiting for everybody. Where there
 * can be no second flush, where an exclusivity key forbids it, the next one goes out before anybody
 * hears of the last.
 *
 * Guarantees: alone, a member goes out at once; each member gets its own outcome; two members of
 * one key are never in flight together, and go out in the order in which they came. A caller that
 * is interrupted while its member waits takes it back; one whose member is in flight leaves it to
 * its fate. Leaves out: what a flush is.
 */
import { Effect, Exit, FiberSet, type Scope } from "effect"

/** How members are gathered and written. */
export interface Options<Member, Outcome, E> {
  /** Members of one key depend on each other; a member without a key depends on nothing. */
  readonly keyOf: (member: Member) => string | undefined
  /**
   * What a member has to itself while it is written, but for members of the same flush: another
   * flush of the same exclusivity key would only wait for the first.
   */
  readonly exclusivityKeyOf?: (member: Member) => string | undefined
  /** Writes members in one atomic step, and returns their outcomes in the same order. */
  readonly flush: (members: ReadonlyArray<Member>) => Effect.Effect<ReadonlyArray<Outcome>, E>
  /**
   * True for an error after which it is known that nothing was written, and that one member may
   * have caused: then each member goes out again alone, so that it spoils only its own commit. The
   * same is done after a defect, as of a member that cannot be encoded.
   */
  readonly isOneMembers: (error: E) => boolean
  /** What callers get that still wait when the scope closes. */
  readonly closed: E
  /** What members get whose flush takes too long; it is not known whether they were written. */
  readonly late: E
  /** How long a flush may take: one that nobody answers would hold up everything behind it. */
  readonly flushMillis: number
  /** How many members go out together at most. */
  readonly maxMembers: number
  /** How many flushes are in flight at most. */
  readonly flushesAtOnce: number
}

interface Waiting<Member, Outcome, E> {
  readonly member: Member
  readonly key: string | undefined
  readonly exclusivityKey: string | undefined
  readonly resolve: (exit: Exit.Exit<Outcome, E>) => void
  isAbandoned: boolean
}

/** Fewer members than these are not divided among flushes: a flush has a price of its own. */
const membersWorthDividing = 32

/** Takes what goes out next, at most so many; what has to wait for it, or for `busy`, stays. */
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

/** Writes members, but does not wait for ever. */
const flushInTime = <Member, Outcome, E>(
  batch: ReadonlyArray<Waiting<Member, Outcome, E>>,
  { flush, flushMillis, late }: Options<Member, Outcome, E>,
): Effect.Effect<ReadonlyArray<Outcome>, E> =>
  Effect.timeoutOrElse(flush(batch.map(({ member }) => member)), {
    duration: flushMillis,
    orElse: () => Effect.fail(late),
  })

/** Gives members their outcomes. */
type Tell = () => void

/** Writes members, and returns how to tell each its outcome. Never fails: the outcomes say that. */
const write = <Member, Outcome, E>(
  batch: ReadonlyArray<Waiting<Member, Outcome, E>>,
  options: Options<Member, Outcome, E>,
): Effect.Effect<Tell> =>
  Effect.flatMap(Effect.exit(flushInTime(batch, options)), (exit) => {
    if (Exit.isSuccess(exit)) {
      return Effect.succeed(() => {
        for (const [index, one] of batch.entries()) one.resolve(Exit.succeed(exit.value[index]!))
      })
    }
    const reason = exit.cause.reasons[0]
    const mayBeOneMembers =
      reason?._tag === "Die" || (reason?._tag === "Fail" && options.isOneMembers(reason.error))
    if (batch.length > 1 && mayBeOneMembers) {
      // Each hears at once, because the others may take their time.
      const alone = (one: (typeof batch)[number]) =>
        Effect.map(write([one], options), (tell) => tell())
      return Effect.as(Effect.forEach(batch, alone, { discard: true }), () => undefined)
    }
    return Effect.succeed(() => {
      for (const one of batch) one.resolve(Exit.failCause(exit.cause))
    })
  })

/** What waits, what is in flight, and when the next flush goes out. */
class Flights<Member, Outcome, E> {
  readonly #options: Options<Member, Outcome, E>
  readonly #fork: (effect: Effect.Effect<void>) => unknown
  readonly #inFlight = new Set<ReadonlyArray<Waiting<Member, Outcome, E>>>()
  readonly #busy = new Set<string>()
  readonly #held = new Set<string>()
  #members = 0
  #waiting: Array<Waiting<Member, Outcome, E>> = []
  #isDue = false
  #isTelling = false
  #isClosed = false

  constructor(
    options: Options<Member, Outcome, E>,
    fork: (effect: Effect.Effect<void>) => unknown,
  ) {
    this.#options = options
    this.#fork = fork
  }

  readonly submit = (member: Member): Effect.Effect<Outcome, E> =>
    Effect.callback<Outcome, E>((resume) => {
      if (this.#isClosed) return resume(Effect.fail(this.#options.closed))
      const key = this.#options.keyOf(member)
      const exclusivityKey = this.#options.exclusivityKeyOf?.(member)
      const one = { member, key, exclusivityKey, resolve: resume, isAbandoned: false }
      this.#waiting.push(one)
      if (this.#inFlight.size === 0 && !this.#isTelling) this.#depart()
      else this.#departSoon()
      return Effect.sync(() => {
        one.isAbandoned = true
      })
    })

  readonly close: Effect.Effect<void> = Effect.sync(() => {
    this.#isClosed = true
    const all = [...[...this.#inFlight].flat(), ...this.#waiting]
    this.#waiting = []
    for (const one of all) {
      one.resolve(Exit.fail(this.#options.closed))
    }
  })

  /**
   * Sends what may go, as long as there is room for a flush. So many have just landed, whose
   * callers are about to come back, and count where members are divided.
   */
  #depart(landed = 0): void {
    const { flushesAtOnce, maxMembers } = this.#options
    while (this.#waiting.length > 0 && this.#inFlight.size < flushesAtOnce) {
      const share = Math.ceil((this.#waiting.length + this.#members + landed) / flushesAtOnce)
      const limit = Math.min(maxMembers, Math.max(share, membersWorthDividing))
      const { next, rest } = takeNext(this.#waiting, this.#busy, this.#held, limit)
      this.#waiting = rest
      if (next.length === 0) return
      this.#fly(next)
    }
  }

  /** Sends what may go once everything that is now under way has had its turn to submit. */
  #departSoon(): void {
    if (this.#isDue || this.#inFlight.size >= this.#options.flushesAtOnce) return
    this.#isDue = true
    const depart = Effect.sync(() => {
      this.#isDue = false
      this.#depart()
    })
    this.#fork(Effect.andThen(Effect.yieldNow, depart))
  }

  #fly(batch: ReadonlyArray<Waiting<Member, Outcome, E>>): void {
    this.#inFlight.add(batch)
    this.#members += batch.length
    for (const { key } of batch) if (key !== undefined) this.#busy.add(key)
    for (const { exclusivityKey } of batch)
      if (exclusivityKey !== undefined) this.#held.add(exclusivityKey)
    const hasExclusivityKey = batch.some(({ exclusivityKey }) => exclusivityKey !== undefined)
    const land = (tell: Tell): void => {
      if (hasExclusivityKey) {
        this.#clear(batch)
        this.#depart(batch.length)
        this.#isTelling = true
        tell()
        this.#isTelling = false
      } else {
        tell()
        this.#clear(batch)
        this.#depart()
      }
    }
    this.#fork(Effect.map(write(batch, this.#options), land))
  }

  #clear(batch: ReadonlyArray<Waiting<Member, Outcome, E>>): void {
    this.#inFlight.delete(batch)
    this.#members -= batch.length
    for (const { key } of batch) if (key !== undefined) this.#busy.delete(key)
    for (const { exclusivityKey } of batch)
      if (exclusivityKey !== undefined) this.#held.delete(exclusivityKey)
  }
}

/** Takes up flushing for as long as the scope is open, and returns how to submit. */
export const make = Effect.fnUntraced(function* <Member, Outcome, E>(
  options: Options<Member, Outcome, E>,
): Effect.fn.Return<(member: Member) => Effect.Effect<Outcome, E>, never, Scope.Scope> {
  const fibers = yield* FiberSet.make<void>()
  const fork = yield* FiberSet.runtime(fibers)()
  const flights = new Flights(options, fork)
  // Before the flushes are interrupted, so that each member is told by us and not by a flush.
  yield* Effect.addFinalizer(() => flights.close)
  return flights.submit
})
