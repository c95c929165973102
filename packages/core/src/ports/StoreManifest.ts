/**
 * What a store says of itself: its name, and its optional ports. Workflows and runs are not
 * optional.
 *
 * Guarantees: a plain value that does not change while the store is open. Leaves out: what happens
 * if a port is missing.
 */
import { Context, Schema } from "effect"

/** The ports that a store may leave out, and what each of them keeps. */
export const optionalPorts = {
  keys: "API keys and accounts",
  ledger: "credits",
  webhooks: "deliveries of webhooks",
} as const

/** A port that a store may leave out. */
export type OptionalPort = keyof typeof optionalPorts

/** What a store says of itself. */
export interface Manifest {
  /** For people: `memory`. */
  readonly name: string
  /** The optional ports that its layer provides. */
  readonly ports: ReadonlyArray<OptionalPort>
}

/** The manifest of the store in use; the layer of every store provides it. */
export class StoreManifest extends Context.Service<StoreManifest, Manifest>()(
  "@millrace/core/ports/StoreManifest",
) {}

/** The store does not have the port that a call needs. This is the cause of a `StorageError`. */
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
