/**
 * Deadlines for calls of a database that does not answer.
 *
 * Guarantees: a call past its deadline is interrupted, and the caller does not wait for that,
 * because a frozen database does not answer an interruption either. Leaves out: undoing the call. A
 * write may still happen; its caller reads to find out.
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

/** The error of an operation that had no answer within `millis`. */
export const noAnswer = (operation: string, millis: number): StorageError =>
  new StorageError({ operation, cause: new Error(`no answer within ${Math.round(millis)} ms`) })

/** Well before the lease has run out, but longer than a short delay of the database. */
const beatMillis = (leaseMillis: number): number => Math.max(500, leaseMillis / 6)

/** The deadline of a runner's other calls: long enough for a busy database. */
const askMillis = 10_000

/** A call of a store that fails if there is no answer within `millis`. */
export const limited =
  (operation: string, millis: number) =>
  <A, E>(self: Effect.Effect<A, E>): Effect.Effect<A, E | StorageError> => {
    const late = Effect.suspend(() => Effect.fail(noAnswer(operation, millis)))
    return orFirst(Effect.delay(late, millis))(self)
  }

/** If a deadline fires so much too late, the event loop was blocked. */
const lateMillis = 250

/** Calls once more if the event loop was blocked meanwhile: the answer may have arrived in time. */
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
 * The same store, with deadlines for the calls of a runner. Listings have none, because only
 * requests call them, and requests have their own deadline. A commit has none, because nothing else
 * can be done about its run before its outcome is known.
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
