/**
 * Group commit: what arrives while one flush is in flight goes out together as the next one.
 *
 * Guarantees: alone, a member goes out at once; each member gets its own outcome; two members of
 * one key never share a flush, and go out in the order in which they came. A caller that is
 * interrupted while its member waits takes it back; one whose member is in flight leaves it to its
 * fate. Leaves out: what a flush is.
 */
import { Effect, Exit, Latch, type Scope } from "effect"

/** How members are gathered and written. */
export interface Options<Member, Outcome, E> {
  /** Members of one key depend on each other; a member without a key depends on nothing. */
  readonly keyOf: (member: Member) => string | undefined
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
}

interface Waiting<Member, Outcome, E> {
  readonly member: Member
  readonly settle: (exit: Exit.Exit<Outcome, E>) => void
  isAbandoned: boolean
}

/** Takes what goes out next; what has to wait for it stays. */
const takeNext = <Member, Outcome, E>(
  waiting: ReadonlyArray<Waiting<Member, Outcome, E>>,
  { keyOf, maxMembers }: Options<Member, Outcome, E>,
) => {
  const keys = new Set<string>()
  const next: Array<Waiting<Member, Outcome, E>> = []
  const rest: Array<Waiting<Member, Outcome, E>> = []
  for (const one of waiting) {
    if (one.isAbandoned) continue
    const key = keyOf(one.member)
    const fits = next.length < maxMembers && (key === undefined || !keys.has(key))
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

/**
 * Writes members and tells each its outcome. Never fails: the outcome says whether it did.
 */
const write = <Member, Outcome, E>(
  batch: ReadonlyArray<Waiting<Member, Outcome, E>>,
  options: Options<Member, Outcome, E>,
): Effect.Effect<void> =>
  Effect.flatMap(Effect.exit(flushInTime(batch, options)), (exit) => {
    if (Exit.isSuccess(exit)) {
      for (const [index, one] of batch.entries()) one.settle(Exit.succeed(exit.value[index]!))
      return Effect.void
    }
    const reason = exit.cause.reasons[0]
    const mayBeOneMembers =
      reason?._tag === "Die" || (reason?._tag === "Fail" && options.isOneMembers(reason.error))
    if (batch.length > 1 && mayBeOneMembers) {
      return Effect.forEach(batch, (one) => write([one], options), { discard: true })
    }
    for (const one of batch) one.settle(Exit.failCause(exit.cause))
    return Effect.void
  })

/** Starts the one fiber that flushes, and returns how to submit to it. */
export const make = Effect.fnUntraced(function* <Member, Outcome, E>(
  options: Options<Member, Outcome, E>,
): Effect.fn.Return<(member: Member) => Effect.Effect<Outcome, E>, never, Scope.Scope> {
  type One = Waiting<Member, Outcome, E>
  const arrived = Latch.makeUnsafe(false)
  let waiting: Array<One> = []
  let inFlight: ReadonlyArray<One> = []
  let isClosed = false

  const flushNext = Effect.suspend(() => {
    const { next, rest } = takeNext(waiting, options)
    waiting = rest
    inFlight = next
    if (rest.length === 0) Latch.closeUnsafe(arrived)
    return next.length === 0 ? Effect.void : write(next, options)
  })

  yield* Effect.addFinalizer(() =>
    Effect.sync(() => {
      isClosed = true
      for (const one of [...inFlight, ...waiting]) one.settle(Exit.fail(options.closed))
    }),
  )
  yield* Effect.forkScoped(Effect.forever(Effect.andThen(arrived.await, flushNext)))

  return (member) =>
    Effect.callback<Outcome, E>((resume) => {
      if (isClosed) return resume(Effect.fail(options.closed))
      const one: One = { member, settle: resume, isAbandoned: false }
      waiting.push(one)
      Latch.openUnsafe(arrived)
      return Effect.sync(() => {
        one.isAbandoned = true
      })
    })
})
