/**
 * The runs in quarantine that a command works on, wherever they are.
 *
 * Guarantees: whatever cannot be done is refused in one sentence. Leaves out: where that is, and
 * what is printed.
 */
import type { EndedRun, QuarantinedRun } from "@millrace/api/AdminQuarantineWire"
import type { RunId } from "@millrace/core/domain/Id"
import type { Effect } from "effect"
import type { CommandFailed } from "../../CommandFailed.ts"

/** What can be done with runs in quarantine. */
export interface QuarantineAdmin {
  /** Oldest first, of all accounts. */
  readonly list: Effect.Effect<ReadonlyArray<QuarantinedRun>, CommandFailed>
  readonly release: (id: RunId) => Effect.Effect<void, CommandFailed>
  readonly end: (id: RunId) => Effect.Effect<EndedRun, CommandFailed>
}
