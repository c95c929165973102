/**
 * Ends streams when their session does.
 *
 * Guarantees: one read serves all streams of a process, and there is none without streams. Leaves
 * out: trouble of the store, during which streams go on.
 */
import type { SessionId } from "@millrace/core/domain/Id"
import { sessionLookMillis } from "@millrace/core/domain/Limits"
import { SessionStore } from "@millrace/core/ports/SessionStore"
import type { Scope } from "effect"
import { Deferred, Effect, Latch } from "effect"

interface Watched {
  readonly over: Deferred.Deferred<void>
  streams: number
}

/** Watches a session until the scope closes. The effect in the answer waits until it is over. */
export type WatchSession = (id: SessionId) => Effect.Effect<Effect.Effect<void>, never, Scope.Scope>

/** Begins to look which sessions are over, until the scope closes. */
export const make: Effect.Effect<WatchSession, never, SessionStore | Scope.Scope> = Effect.gen(
  function* () {
    const store = yield* SessionStore
    const all = new Map<SessionId, Watched>()
    const some = Latch.makeUnsafe(false)

    const look = Effect.gen(function* () {
      const asked = [...all]
      const live = new Set(yield* store.live(asked.map(([id]) => id)))
      for (const [id, { over }] of asked) {
        if (!live.has(id)) yield* Deferred.succeed(over, undefined)
      }
    })
    const loop = some.await.pipe(
      Effect.andThen(Effect.sleep(sessionLookMillis)),
      Effect.andThen(Effect.ignore(look)),
      Effect.forever,
    )
    yield* Effect.forkScoped(loop)

    const enter = (id: SessionId) =>
      Effect.sync(() => {
        const watched = all.get(id) ?? { over: Deferred.makeUnsafe<void>(), streams: 0 }
        watched.streams += 1
        all.set(id, watched)
        some.openUnsafe()
        return watched
      })
    const leave = (id: SessionId, watched: Watched) =>
      Effect.sync(() => {
        watched.streams -= 1
        if (watched.streams === 0) all.delete(id)
        if (all.size === 0) some.closeUnsafe()
      })
    return (id) =>
      Effect.map(
        Effect.acquireRelease(enter(id), (watched) => leave(id, watched)),
        ({ over }) => Deferred.await(over),
      )
  },
)
