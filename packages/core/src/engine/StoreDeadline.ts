/**
 * How long anybody waits for a database that does not answer.
 *
 * Guarantees: what is given up is interrupted, but its interruption is not waited for, because a
 * frozen database does not answer to that either. Leaves out: whether what was given up still
 * happens; a write carries what it expects, and whoever needs to know reads.
 */
import { Clock, Effect, Fiber } from "effect"
import { RunStore } from "../ports/RunStore.ts"
import { StorageError } from "../ports/StorageError.ts"

/**
 * The outcome of an effect, or that of `other` if it comes first. The effect is then interrupted,
 * and not waited for: a database that does not answer does not answer to an interruption either.
 * If the caller is interrupted, so is the effect.
 */
export const orFirst =
  <B, E2, R2>(other: Effect.Effect<B, E2, R2>) =>
  <A, E, R>(self: Effect.Effect<A, E, R>): Effect.Effect<A | B, E | E2, R | R2> =>
    Effect.uninterruptibleMask((restore) =>
      Effect.flatMap(Effect.forkDetach(self, { startImmediately: true }), (fiber) => {
        const exit = fiber.pollUnsafe()
        if (exit !== undefined) return exit
        return Effect.ensuring(
          restore(Effect.raceFirst(Fiber.join(fiber), other)),
          Effect.sync(() => fiber.interruptUnsafe()),
        )
      }),
    )

/** The error of an operation that was given up after so long. */
export const noAnswer = (operation: string, millis: number): StorageError =>
  new StorageError({ operation, cause: new Error(`no answer within ${millis} ms`) })

/** A runner acts on a missing answer well before its lease is over, but not on every hiccup. */
const beatMillis = (leaseMillis: number): number => Math.max(500, leaseMillis / 6)

/** For everything else a runner asks: long enough for a busy database. */
const askMillis = 10_000

const limited =
  (operation: string, millis: number) =>
  <A, E>(self: Effect.Effect<A, E>): Effect.Effect<A, E | StorageError> => {
    const late = Effect.suspend(() => Effect.fail(noAnswer(operation, millis)))
    return orFirst(Effect.delay(late, millis))(self)
  }

/** An answer that is later than its deadline by so much was late because the event loop was. */
const lateMillis = 250

/** Asks once more when the event loop was blocked meanwhile: the answer may have been there. */
const onceMore = <A>(
  millis: number,
  ask: Effect.Effect<A, StorageError>,
): Effect.Effect<A, StorageError> =>
  Effect.gen(function* () {
    const begun = yield* Clock.monotonicTimeNanos
    const again = Effect.fnUntraced(function* (error: StorageError) {
      const passed = Number((yield* Clock.monotonicTimeNanos) - begun) / 1_000_000
      return yield* passed > millis + lateMillis ? ask : Effect.fail(error)
    })
    return yield* Effect.catchTag(ask, "StorageError", again)
  })

/**
 * The same runs; but what a runner asks fails when it is not answered. Listings are asked for by
 * requests only, and bounded with those. A commit is waited for: until it is known what became of
 * it, nothing else can be done about its run.
 */
export const limitedRuns = (store: RunStore["Service"]): RunStore["Service"] =>
  RunStore.of({
    ...store,
    heartbeat: (runner, leaseMillis, blocked) => {
      const millis = beatMillis(leaseMillis)
      const ask = store.heartbeat(runner, leaseMillis, blocked)
      return onceMore(millis, limited("RunStore.heartbeat", millis)(ask))
    },
    claim: (request) => limited("RunStore.claim", askMillis)(store.claim(request)),
    requeue: (runner, ids) => limited("RunStore.requeue", askMillis)(store.requeue(runner, ids)),
    cappedAccounts: (limit) =>
      limited("RunStore.cappedAccounts", askMillis)(store.cappedAccounts(limit)),
    find: (account, id) => limited("RunStore.find", askMillis)(store.find(account, id)),
    endLease: (runner, blocked) =>
      limited("RunStore.endLease", askMillis)(store.endLease(runner, blocked)),
  })
