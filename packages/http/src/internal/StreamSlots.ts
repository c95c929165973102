/**
 * Bounds the open streams, by key or session (without one, by account) and in all.
 *
 * Leaves out: how long a stream lasts.
 */
import type { AccountId, KeyId, SessionId } from "@millrace/core/domain/Id"
import { CurrentLimits } from "@millrace/core/domain/Limits"
import { Effect, type Scope } from "effect"
import { TooManyStreams } from "../Errors.ts"

/** Whose streams are counted together. */
type Holder = KeyId | SessionId | AccountId

/** Counts streams. Mutable; one per process. */
export class StreamSlots {
  readonly #byKey = new Map<Holder, number>()
  #all = 0

  /** Takes a slot until the scope closes. Fails if none is free. */
  readonly take = (key: Holder): Effect.Effect<void, TooManyStreams, Scope.Scope> =>
    Effect.flatMap(CurrentLimits, ({ streamsAtOnce, streamsPerKey }) =>
      Effect.acquireRelease(
        Effect.suspend(() => {
          const own = this.#byKey.get(key) ?? 0
          if (own >= streamsPerKey) return new TooManyStreams({ of: "key" })
          if (this.#all >= streamsAtOnce) return new TooManyStreams({ of: "server" })
          this.#byKey.set(key, own + 1)
          this.#all += 1
          return Effect.void
        }),
        () => Effect.sync(() => this.#giveBack(key)),
      ),
    )

  #giveBack(key: Holder): void {
    const own = this.#byKey.get(key) ?? 0
    if (own > 1) this.#byKey.set(key, own - 1)
    else this.#byKey.delete(key)
    this.#all -= 1
  }
}
