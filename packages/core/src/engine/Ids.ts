/**
 * Makes identifiers: a typed prefix and a UUID of version 7, so they sort by the time at which they
 * were made. Nothing else in the engine makes identifiers.
 */
import { Context, Effect, Layer, Record } from "effect"
import { SecureRandom } from "effect/crypto"
import type { IdKind } from "../domain/Id.ts"
import { prefixes } from "../domain/Id.ts"

const poolBytes = 4_096

/**
 * Draws random bytes many at a time, because a call of the platform takes longer than all the rest.
 * Only for sizes well below the pool's.
 */
const pooled = (draw: (size: number) => Uint8Array) => {
  let pool = draw(poolBytes)
  let used = 0
  return (size: number): Uint8Array => {
    if (used + size > poolBytes) {
      pool = draw(poolBytes)
      used = 0
    }
    used += size
    return pool.slice(used - size, used)
  }
}

export class Ids extends Context.Service<
  Ids,
  {
    /** A new identifier, for example `run_0198…`. */
    readonly make: (kind: IdKind) => Effect.Effect<string>
    /** Random bytes, fit for secrets. */
    readonly bytes: (size: number) => Effect.Effect<Uint8Array>
  }
>()("@millrace/core/engine/Ids") {
  /** UUIDs and bytes from the platform's secure source. */
  static readonly layer: Layer.Layer<Ids> = Layer.effect(
    Ids,
    Effect.map(SecureRandom.SecureRandom, (random) => {
      // The platform draws bytes synchronously.
      const source = pooled((size) => Effect.runSync(random.randomBytes(size)))
      const uuid = SecureRandom.make(source).uuidV7()
      const makers = Record.map(prefixes, (prefix) =>
        Effect.map(uuid, (text) => `${prefix}_${text}`),
      )
      return Ids.of({
        make: (kind) => makers[kind],
        bytes: random.randomBytes,
      })
    }),
  ).pipe(Layer.provide(SecureRandom.layerWebCrypto))

  /** Counts instead of drawing: for tests that must give the same identifiers every time. */
  static readonly layerSequential: Layer.Layer<Ids> = Layer.sync(Ids, () => {
    let count = 0
    const next = () => (count += 1)
    return Ids.of({
      make: (kind) => Effect.sync(() => `${prefixes[kind]}_${String(next()).padStart(12, "0")}`),
      bytes: (size) => Effect.sync(() => new Uint8Array(size).fill(next() % 256)),
    })
  })
}
