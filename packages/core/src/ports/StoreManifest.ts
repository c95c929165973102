/**
 * What a store says of itself: its name, its optional ports, and what it does for processes that
 * share it. Workflows and runs are not optional.
 *
 * Guarantees: the value does not change while the store is open. Leaves out: what happens if a port
 * is missing.
 */
import * as Context from "effect/Context"
import * as Schema from "effect/Schema"
import type { Wakeups } from "./Wakeups.ts"
import type { Watchdog } from "./Watchdog.ts"

/** The ports that a store may leave out, and what each of them keeps. */
export const optionalPorts = {
  keys: "API keys and accounts",
  ledger: "credits",
  webhooks: "deliveries of webhooks",
  secrets: "secrets of accounts",
  values: "large values",
} as const

/** A port that a store may leave out. */
export type OptionalPort = keyof typeof optionalPorts

/** What a store says of itself. */
export interface Manifest {
  /** For people: `memory`. */
  readonly name: string
  /** The optional ports that its layer provides. */
  readonly ports: ReadonlyArray<OptionalPort>
  /** Absent: no process tells another one of a run, so each finds it at its next poll. */
  readonly wakeups?: Wakeups
  /** Absent: a block of the event loop is reported only after it has ended. */
  readonly watchdog?: Watchdog
}

/** The manifest of the store in use; the layer of every store provides it. */
export class StoreManifest extends Context.Service<StoreManifest, Manifest>()(
  "@millrace/core/ports/StoreManifest",
) {}

/** The store does not have the port that a call needs. This is the cause of a `StorageError`. */
export class Unsupported extends Schema.TaggedError<Unsupported>()("Unsupported", {
  store: Schema.String,
  port: Schema.Literals(["keys", "ledger", "webhooks", "secrets", "values"]),
}) {
  override get message(): string {
    return (
      `The store "${this.store}" keeps no ${optionalPorts[this.port]}: use a store that does, ` +
      "or do without them"
    )
  }
}
