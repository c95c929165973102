/**
 * Hashes secrets and request bodies: with the platform's digest if one was provided, else with
 * WebCrypto. WebCrypto exists everywhere, but is asynchronous and takes tens of microseconds
 * longer.
 */
import { Context, Effect, Layer, Option } from "effect"
import { Digest } from "effect/crypto"

const everywhere = Effect.map(Layer.build(Digest.layerWebCrypto), (context) =>
  Context.get(context, Digest.Digest),
)

/** Makes a function from text to its SHA-256. */
export const makeHashOf = Effect.gen(function* () {
  const found = yield* Effect.serviceOption(Digest.Digest)
  const digest = Option.isSome(found) ? found.value : yield* everywhere
  const encoder = new TextEncoder()
  return (text: string): Effect.Effect<Uint8Array> =>
    digest.digest(Digest.sha256, encoder.encode(text))
})
