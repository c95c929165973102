/**
 * The credits that a command works on, wherever they are.
 *
 * Guarantees: whatever cannot be done is refused in one sentence. Leaves out: where that is, and
 * what is printed.
 */
import type { Grant } from "@millrace/core/domain/Grant"
import type { AccountId } from "@millrace/core/domain/Id"
import type { CreditAccount, NumberedEntry } from "@millrace/core/domain/Ledger"
import type { NewAdjustment, NewDeed, NewGrant } from "@millrace/core/engine/Accounting"
import type { Audit } from "@millrace/core/engine/Audit"
import type { Effect, Stream } from "effect"
import type { StartRefused } from "./StartRefused.ts"

/** What an account has. */
export interface Credits {
  readonly account: Pick<CreditAccount, "metered" | "posted" | "reserved">
  readonly grants: ReadonlyArray<Grant>
}

/** What can be done with credits. */
export interface CreditRegistry {
  readonly find: (account: AccountId) => Effect.Effect<Credits, StartRefused>
  readonly grant: (account: AccountId, grant: NewGrant) => Effect.Effect<Grant, StartRefused>
  readonly adjust: (
    account: AccountId,
    adjustment: NewAdjustment,
  ) => Effect.Effect<NumberedEntry, StartRefused>
  readonly meter: (
    account: AccountId,
    deed: NewDeed,
    metered: boolean,
  ) => Effect.Effect<NumberedEntry, StartRefused>
  /** Newest first. */
  readonly entries: (account: AccountId) => Stream.Stream<NumberedEntry, StartRefused>
  readonly audit: Effect.Effect<AuditResult, StartRefused>
}

/** What an audit found. */
export interface AuditResult extends Pick<Audit, "accounts"> {
  readonly discrepancies: ReadonlyArray<{ readonly accountId: string; readonly message: string }>
}
