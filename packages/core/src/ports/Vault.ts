/**
 * Keeping small secrets that have to be read again: signing secrets and the headers of webhooks.
 *
 * Guarantees: what is sealed can be stored and dumped without telling anything, and opens only for
 * the purpose it was sealed for. Leaves out: the cipher and its key, which whoever puts a server
 * together brings; the engine alone has none.
 */
import { Context, Effect, Schema } from "effect"

/** There is no key, or not the one that this was sealed with. */
export class VaultClosed extends Schema.TaggedError<VaultClosed>()("VaultClosed", {
  message: Schema.String,
}) {}

/**
 * Seals and opens texts. `purpose` is part of the seal: another one does not open it. Up to its
 * last dot a seal names what it was sealed with, so that it is known which keys are still needed.
 */
export interface Vault {
  readonly seal: (purpose: string, text: string) => Effect.Effect<string, VaultClosed>
  readonly open: (purpose: string, sealed: string) => Effect.Effect<string, VaultClosed>
}

const closed = new VaultClosed({ message: "There is no key to keep secrets with" })

/** The vault in force; one without a key where nobody brings one. */
export const CurrentVault = Context.Reference<Vault>("@millrace/core/ports/Vault", {
  defaultValue: () => ({ seal: () => Effect.fail(closed), open: () => Effect.fail(closed) }),
})
