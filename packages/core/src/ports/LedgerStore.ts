/**
 * Where the credits of accounts are kept: balances, grants and the ledger.
 *
 * What runs do to an account comes in with their commits (`RunStore.commit`); everything else comes
 * in here. Nothing moves on an account behind the end of a grant until the account is settled, by
 * the store's clock, and each method is one atomic step that no other change of the account falls
 * into. Stores hold no rules: what becomes of an account is said by `domain/Grant`.
 */
import type { Effect } from "effect"
import { Context, Schema } from "effect"
import { toNumber } from "../domain/Credits.ts"
import type {
  Adjustment,
  AdminOperation,
  Grant,
  GrantRequest,
  CreditBalance,
} from "../domain/Grant.ts"
import type { AccountId } from "../domain/Id.ts"
import type { NumberedEntry } from "../domain/Ledger.ts"
import type { AuditHead, AuditLine } from "../domain/LedgerCheck.ts"
import type { Usage, UsageQuery } from "../domain/Usage.ts"
import type { StorageError } from "./StorageError.ts"

/**
 * What is available does not cover what a commit sets aside, both in micro-credits. Nothing was
 * written.
 */
export class InsufficientCredits extends Schema.TaggedError<InsufficientCredits>()(
  "InsufficientCredits",
  { required: Schema.Int, available: Schema.Int },
) {
  override get message(): string {
    const [required, available] = [toNumber(this.required), toNumber(this.available)]
    return `The run requires ${required} credits, and ${available} are available`
  }
}

/** Which part of an account's ledger: the newest entries, or those before one. */
export interface StatementQuery {
  readonly account: AccountId
  /** Only entries of a smaller number. */
  readonly before?: number | undefined
  readonly limit: number
}

/** Takes what an audit reads, line by line. */
export type AuditReader = (head: AuditHead) => (line: AuditLine) => void

export class LedgerStore extends Context.Service<
  LedgerStore,
  {
    /**
     * An account and its grants that have something left, settled as of now. An account that no
     * credits ever moved on has none, and is not metered.
     */
    readonly find: (account: AccountId) => Effect.Effect<CreditBalance, StorageError>
    /** Gives credits to an account; made already, the first grant of that name is the answer. */
    readonly grant: (request: GrantRequest) => Effect.Effect<Grant, StorageError>
    /** Corrects a balance; of an adjustment that was made already, its entry is the answer. */
    readonly adjust: (adjustment: Adjustment) => Effect.Effect<NumberedEntry, StorageError>
    /** Says whether runs of an account need cover; said already, its entry is the answer. */
    readonly meter: (
      operation: AdminOperation,
      metered: boolean,
    ) => Effect.Effect<NumberedEntry, StorageError>
    /** Entries of an account, newest first. */
    readonly statement: (
      query: StatementQuery,
    ) => Effect.Effect<ReadonlyArray<NumberedEntry>, StorageError>
    /** What an account's runs were expected to cost and did cost. */
    readonly usage: (query: UsageQuery) => Effect.Effect<Usage, StorageError>
    /** Accounts that credits ever moved on, or that have runs with credits; in any order. */
    readonly accounts: Effect.Effect<ReadonlyArray<AccountId>, StorageError>
    /**
     * Hands over everything about one account, as it was at one moment: first the account as it is
     * stored, then its entries in order, each with its run, then those of its runs that have
     * credits and no entry.
     */
    readonly trail: (account: AccountId, reader: AuditReader) => Effect.Effect<void, StorageError>
  }
>()("@millrace/core/ports/LedgerStore") {}
