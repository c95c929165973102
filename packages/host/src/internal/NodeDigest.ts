/**
 * Hashing with Node's own library, which does it at once: a key is hashed with every request.
 */
import { Effect, Layer } from "effect"
import { Digest } from "effect/crypto"
import { createHash } from "node:crypto"

const hash = (algorithm: Digest.Algorithm, data: Uint8Array) =>
  createHash(algorithm.name.replace("-", "").toLowerCase()).update(data)

/** Every algorithm, synchronously. */
export const layer: Layer.Layer<Digest.Digest> = Layer.succeed(Digest.Digest, {
  digest: (algorithm, data) => Effect.sync(() => new Uint8Array(hash(algorithm, data).digest())),
  digestHex: (algorithm, data) => Effect.sync(() => hash(algorithm, data).digest("hex")),
})
