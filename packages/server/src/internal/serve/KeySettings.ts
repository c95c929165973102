/**
 * The services for keys and tokens: the prefix of new keys, the admin token, and the hash of both.
 */
import * as NodeCrypto from "@effect/platform-node/NodeCrypto"
import { CurrentSecretPrefix } from "@millrace/core/domain/ApiKey"
import { Ids } from "@millrace/core/engine/Ids"
import { AdminToken } from "@millrace/http/AdminAuthorization"
import { Effect, Layer, Redacted } from "effect"
import type { Digest } from "effect/crypto"
import * as Hex from "effect/encoding/Hex"

/** The settings that matter here. */
interface Settings {
  readonly keyPrefix: string
  readonly adminToken?: Redacted.Redacted | null
}

/** The settings as services. Node hashes synchronously; WebCrypto would not. */
export const layer = ({ adminToken, keyPrefix }: Settings): Layer.Layer<Digest.Digest> =>
  Layer.mergeAll(
    NodeCrypto.layerDigest,
    Layer.succeed(CurrentSecretPrefix, keyPrefix),
    Layer.succeed(AdminToken, adminToken ?? undefined),
  )

/** A new random admin token. */
export const makeToken: Effect.Effect<Redacted.Redacted> = Effect.map(
  Effect.provide(
    Ids.use((ids) => ids.bytes(24)),
    Ids.layer,
  ),
  (bytes) => Redacted.make(Hex.encode(bytes)),
)
