/**
 * Wake-ups over LISTEN and NOTIFY.
 *
 * A notification is a separate statement: transactions with a notification have to commit one after
 * the other. Several announcements within a short time become one notification.
 *
 * Guarantees: announcing neither fails nor waits. A listener that loses its connection gets a new
 * one, and is called once because it may have missed a notification. Leaves out: certain delivery.
 * Servers also poll, and behind a pooler that shares sessions there are no wake-ups at all. So a
 * process that begins to listen notifies itself, and is sure only when it hears that.
 */
import { PgClient } from "@effect/sql-pg"
import type { Wakeups } from "@millrace/core/ports/Wakeups"
import { StoreManifest } from "@millrace/core/ports/StoreManifest"
import type { SqlError } from "effect/sql/SqlError"
import { Duration, Effect, Fiber, Latch, Layer, Queue, Random, Schedule, type Scope } from "effect"
import { channel } from "./internal/NotificationChannel.ts"

/** The least time between two notifications of a process. */
const pauseMillis = 50

/** How long a notification may take. */
const patienceMillis = 1_000

/** How soon a lost connection is replaced. */
const again = Schedule.spaced("1 second")

/** Notifies, but no longer waits for the answer after a second. */
const inTime = (notify: Effect.Effect<void, SqlError>): Effect.Effect<void> =>
  notify.pipe(
    Effect.catch((error) => Effect.logDebug("other servers could not be notified of a run", error)),
    Effect.forkDetach,
    Effect.flatMap((fiber) => Effect.raceFirst(Fiber.await(fiber), Effect.sleep(patienceMillis))),
    Effect.asVoid,
  )

/** A notification with which a process finds out whether it hears any. Nobody looks for runs. */
const test = ""

/** What the listeners of a process know. Mutable. */
interface Hearing {
  /** What this process puts into its own announcements. */
  readonly self: string
  /** True after a notification, until the connection is lost. */
  isHeard: boolean
}

/** Listens until the connection is lost. Calls the listener once when the connection is open. */
const hear = (client: PgClient.PgClient, hearing: Hearing, listener: () => void) =>
  Effect.scoped(
    Effect.gen(function* () {
      const notifications = yield* client.listen(channel)
      yield* Effect.addFinalizer(() => Effect.sync(() => void (hearing.isHeard = false)))
      listener()
      yield* inTime(client.notify(channel, test))
      const next = Effect.map(Queue.take(notifications), ({ payload }) => {
        hearing.isHeard = true
        if (payload !== hearing.self && payload !== test) listener()
      })
      return yield* Effect.forever(next)
    }),
  )

/** Wake-ups over this client. Each listener needs one more connection. */
export const make: Effect.Effect<Wakeups, never, PgClient.PgClient | Scope.Scope> = Effect.gen(
  function* () {
    const client = yield* PgClient.PgClient
    const self = String(yield* Random.nextInt)
    const hearing = { self, isHeard: false }
    const isDue = yield* Latch.make(false)
    const notify = Effect.andThen(isDue.close, inTime(client.notify(channel, self)))
    const keepNotifying = isDue.await.pipe(
      Effect.andThen(notify),
      Effect.andThen(Effect.sleep(Duration.millis(pauseMillis))),
    )
    // A process that stops has just given up its runs.
    yield* Effect.addFinalizer(() => Effect.suspend(() => (isDue.isOpen() ? notify : Effect.void)))
    yield* Effect.forkScoped(Effect.forever(keepNotifying))
    return {
      announce: Effect.asVoid(isDue.open),
      listen: (listener) =>
        hear(client, hearing, listener).pipe(
          Effect.tapError((error) => Effect.logDebug("lost the connection that listens", error)),
          Effect.retry(again),
          Effect.ignore,
          Effect.forkScoped,
          Effect.asVoid,
        ),
      isHeard: () => hearing.isHeard,
    }
  },
)

/** Adds the channel to the manifest of a store. */
export const layer: Layer.Layer<StoreManifest, never, StoreManifest | PgClient.PgClient> =
  Layer.effect(
    StoreManifest,
    Effect.zipWith(StoreManifest, make, (manifest, wakeups) => ({ ...manifest, wakeups })),
  )
