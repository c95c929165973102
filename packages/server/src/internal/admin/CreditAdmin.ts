/**
 * The credits that a command works on, wherever they are.
 *
 * Guarantees: whatever cannot be done is refused in one sentence. Leaves out: where that is, and
 * what is printed.
 */
import type { Grant } from "@millrace/core/domain/Grant"
import type { AccountId } from "@millrace/core/domain/Id"
import type { CreditAccount, NumberedEntry } from "@millrace/core/domain/Ledger"
import type { NewAdjustment, NewAdminOperation, NewGrant } from "@millrace/core/engine/Accounting"
import type { Audit } from "@millrace/core/engine/Audit"
import type { Effect, Stream } from "effect"
import type { CommandFailed } from "../../CommandFailed.ts"

/** What an account has. */
export interface Credits {
  readonly account: Pick<CreditAccount, "metered" | "posted" | "reserved">
  readonly grants: ReadonlyArray<Grant>
}

/** What can be done with credits. */
export interface CreditAdmin {
  readonly find: (account: AccountId) => Effect.Effect<Credits, CommandFailed>
  readonly grant: (account: AccountId, grant: NewGrant) => Effect.Effect<Grant, CommandFailed>
  readonly adjust: (
    account: AccountId,
    adjustment: NewAdjustment,
  ) => Effect.Effect<NumberedEntry, CommandFailed>
  readonly meter: (
    account: AccountId,
    operation: NewAdminOperation,
    metered: boolean,
  ) => Effect.Effect<NumberedEntry, CommandFailed>
  /** Newest first. */
  readonly entries: (account: AccountId) => Stream.Stream<NumberedEntry, CommandFailed>
  readonly audit: Effect.Effect<AuditResult, CommandFailed>
}

/** What an audit found. */
export interface AuditResult extends Pick<Audit, "accounts"> {
  readonly discrepancies: ReadonlyArray<{ readonly accountId: string; readonly message: string }>
}
