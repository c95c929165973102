/**
 * The port that encrypts small texts: secrets of accounts, signing secrets, headers of webhooks.
 *
 * Guarantees: a sealed text reveals nothing about the secret, and it opens only with the purpose
 * that it was sealed with. Leaves out: the cipher and its key; `@millrace/webhooks` has both.
 */
import { Context, Effect, Layer, Schema } from "effect"

/** There is no key, or it is not the key that sealed this text. */
export class VaultClosed extends Schema.TaggedError<VaultClosed>()("VaultClosed", {
  message: Schema.String,
}) {}

const closed = Effect.fail(new VaultClosed({ message: "There is no key to keep secrets with" }))

/**
 * Seals, opens and signs texts. A text opens only with the `purpose` that sealed it. The part of a
 * sealed
 * text before its last dot names the key, so a store can tell which keys are still needed.
 */
export class Vault extends Context.Service<
  Vault,
  {
    readonly seal: (purpose: string, text: string) => Effect.Effect<string, VaultClosed>
    readonly open: (purpose: string, sealed: string) => Effect.Effect<string, VaultClosed>
    /**
     * Signatures of a text for a purpose, one by each key that is there, the newest first. The same
     * key signs the same text alike.
     */
    readonly sign: (
      purpose: string,
      text: string,
    ) => Effect.Effect<ReadonlyArray<string>, VaultClosed>
  }
>()("@millrace/core/ports/Vault") {
  /** A vault without a key. All methods fail. */
  static readonly layerClosed: Layer.Layer<Vault> = Layer.succeed(Vault, {
    seal: () => closed,
    open: () => closed,
    sign: () => closed,
  })
}
