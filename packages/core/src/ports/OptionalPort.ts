/**
 * The ports that a store may leave out, and the cause of an error of one that is not there.
 */
import * as Schema from "effect/Schema"

/** The ports that a store may leave out, and what each of them keeps. */
export const optionalPorts = {
  keys: "API keys and accounts",
  ledger: "credits",
  webhooks: "deliveries of webhooks",
  secrets: "secrets of accounts",
  values: "large values",
  sessions: "sessions",
  triggers: "triggers",
} as const

/** A port that a store may leave out. */
export type OptionalPort = keyof typeof optionalPorts

/** The store does not have the port that a call needs. This is the cause of a `StorageError`. */
export class Unsupported extends Schema.TaggedError<Unsupported>()("Unsupported", {
  store: Schema.String,
  port: Schema.Literals([
    "keys",
    "ledger",
    "webhooks",
    "secrets",
    "values",
    "sessions",
    "triggers",
  ]),
}) {
  override get message(): string {
    return (
      `The store "${this.store}" keeps no ${optionalPorts[this.port]}: use a store that does, ` +
      "or do without them"
    )
  }
}
