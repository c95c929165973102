/**
 * What a store has beside workflows and runs, which every store has.
 *
 * Guarantees: a plain value, which does not change while the store is open. Leaves out: what is
 * done about a port that is not there.
 */
import { Context, Schema } from "effect"

/** The ports that a store may leave out, and what cannot be done without each. */
export const optionalPorts = {
  keys: "API keys and accounts",
  ledger: "credits",
  webhooks: "deliveries of webhooks",
} as const

/** A port that a store may leave out. */
export type OptionalPort = keyof typeof optionalPorts

/** What a store says of itself. */
export interface Manifest {
  /** As a person would call it: `memory`. */
  readonly name: string
  /** The optional ports that its layer provides. */
  readonly ports: ReadonlyArray<OptionalPort>
}

/** The manifest of the store in use; the layer of every store provides it. */
export class StoreManifest extends Context.Service<StoreManifest, Manifest>()(
  "@millrace/core/ports/StoreManifest",
) {}

/** Something was asked for that the store does not have; the cause of a `StorageError`. */
export class Unsupported extends Schema.TaggedError<Unsupported>()("Unsupported", {
  store: Schema.String,
  port: Schema.Literals(["keys", "ledger", "webhooks"]),
}) {
  override get message(): string {
    return (
      `The store "${this.store}" keeps no ${optionalPorts[this.port]}: use a store that does, ` +
      "or do without them"
    )
  }
}
