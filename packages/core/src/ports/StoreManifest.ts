/**
 * What a store says of itself: its name, its optional ports, and what it does for processes that
 * share it. Workflows and runs are not optional.
 *
 * Guarantees: the value does not change while the store is open. Leaves out: what happens if a port
 * is missing.
 */
import * as Context from "effect/Context"
import type { OptionalPort } from "./OptionalPort.ts"
import type { Transactions } from "./Transactions.ts"
import type { Wakeups } from "./Wakeups.ts"
import type { Watchdog } from "./Watchdog.ts"

export type { OptionalPort } from "./OptionalPort.ts"
export { optionalPorts, Unsupported } from "./OptionalPort.ts"

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
  /** Absent: the store takes part in no transaction of a caller. */
  readonly transactions?: Transactions
}

/** The manifest of the store in use; the layer of every store provides it. */
export class StoreManifest extends Context.Service<StoreManifest, Manifest>()(
  "@millrace/core/ports/StoreManifest",
) {}
