/**
 * Hashing with Node's own library, which does it at once: a key is hashed with every request.
 */
import { Effect, Layer } from "effect"
import { Digest } from "effect/crypto"
import { hash } from "node:crypto"

const nameOf = ({ name }: Digest.Algorithm): string => name.replace("-", "").toLowerCase()

/** Every algorithm, synchronously. */
export const layer: Layer.Layer<Digest.Digest> = Layer.succeed(Digest.Digest, {
  digest: (algorithm, data) =>
    Effect.sync(() => new Uint8Array(hash(nameOf(algorithm), data, "buffer"))),
  digestHex: (algorithm, data) => Effect.sync(() => hash(nameOf(algorithm), data, "hex")),
})
