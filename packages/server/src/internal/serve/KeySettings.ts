/**
 * How a server deals with keys and tokens: what new keys begin with, what operators show, and how
 * both are hashed.
 */
import * as NodeCrypto from "@effect/platform-node/NodeCrypto"
import { CurrentSecretPrefix } from "@millrace/core/domain/ApiKey"
import { Ids } from "@millrace/core/engine/Ids"
import { AdminToken } from "@millrace/http/AdminAuthorization"
import { Effect, Layer, Redacted } from "effect"
import type { Digest } from "effect/crypto"
import * as Hex from "effect/encoding/Hex"

/** What is set. */
interface Settings {
  readonly keyPrefix: string
  readonly adminToken?: Redacted.Redacted | null
}

/** The settings as services. Node hashes at once, where WebCrypto takes a detour for each key. */
export const layer = ({ adminToken, keyPrefix }: Settings): Layer.Layer<Digest.Digest> =>
  Layer.mergeAll(
    NodeCrypto.layerDigest,
    Layer.succeed(CurrentSecretPrefix, keyPrefix),
    Layer.succeed(AdminToken, adminToken ?? undefined),
  )

/** A token for operators that nobody has chosen. */
export const makeToken: Effect.Effect<Redacted.Redacted> = Effect.map(
  Effect.provide(
    Ids.use((ids) => ids.bytes(24)),
    Ids.layer,
  ),
  (bytes) => Redacted.make(Hex.encode(bytes)),
)
