/**
 * Wake-ups over LISTEN and NOTIFY.
 *
 * A notification is a statement of its own, never part of one that writes: those would have to
 * commit one after the other. Many announcements in a short time are one notification.
 *
 * Guarantees: announcing neither fails nor waits; a listener that loses its connection gets another
 * one, and a look for what it may have missed. Leaves out: safety and completeness, which looking
 * from time to time has; behind a pooler that shares sessions nobody hears anything.
 */
import { PgClient } from "@effect/sql-pg"
import type { Wakeups } from "@millrace/core/ports/Wakeups"
import { StoreManifest } from "@millrace/core/ports/StoreManifest"
import type { SqlError } from "effect/sql/SqlError"
import { Duration, Effect, Fiber, Latch, Layer, Queue, Random, Schedule, type Scope } from "effect"

const channel = "millrace_runs"

/** Between two notifications of one process there is at least this time. */
const pauseMillis = 50

/** How long a notification may take. */
const patienceMillis = 1_000

/** How soon a lost connection is replaced. */
const again = Schedule.spaced("1 second")

/** A frozen database holds up nobody: what it does not answer in time is left to itself. */
const inTime = (notify: Effect.Effect<void, SqlError>): Effect.Effect<void> =>
  notify.pipe(
    Effect.catch((error) => Effect.logDebug("other servers could not be told of a run", error)),
    Effect.forkDetach,
    Effect.flatMap((fiber) => Effect.raceFirst(Fiber.await(fiber), Effect.sleep(patienceMillis))),
    Effect.asVoid,
  )

/** Listens until the connection is lost. What was said before it was there counts as heard. */
const hear = (client: PgClient.PgClient, self: string, listener: () => void) =>
  Effect.scoped(
    Effect.gen(function* () {
      const notifications = yield* client.listen(channel)
      listener()
      const next = Effect.map(Queue.take(notifications), ({ payload }) => {
        if (payload !== self) listener()
      })
      return yield* Effect.forever(next)
    }),
  )

/** A channel over this client, which keeps one more connection for each listener. */
export const make: Effect.Effect<Wakeups, never, PgClient.PgClient | Scope.Scope> = Effect.gen(
  function* () {
    const client = yield* PgClient.PgClient
    const self = String(yield* Random.nextInt)
    const isDue = yield* Latch.make(false)
    const notify = Effect.andThen(isDue.close, inTime(client.notify(channel, self)))
    const keepNotifying = isDue.await.pipe(
      Effect.andThen(notify),
      Effect.andThen(Effect.sleep(Duration.millis(pauseMillis))),
    )
    // A process that stops has just let go of its runs.
    yield* Effect.addFinalizer(() => Effect.suspend(() => (isDue.isOpen() ? notify : Effect.void)))
    yield* Effect.forkScoped(Effect.forever(keepNotifying))
    return {
      announce: Effect.asVoid(isDue.open),
      listen: (listener) =>
        hear(client, self, listener).pipe(
          Effect.tapError((error) => Effect.logDebug("nothing is heard of other servers", error)),
          Effect.retry(again),
          Effect.ignore,
          Effect.forkScoped,
          Effect.asVoid,
        ),
    }
  },
)

/** Adds the channel to the manifest of a store. */
export const layer: Layer.Layer<StoreManifest, never, StoreManifest | PgClient.PgClient> =
  Layer.effect(
    StoreManifest,
    Effect.zipWith(StoreManifest, make, (manifest, wakeups) => ({ ...manifest, wakeups })),
  )
