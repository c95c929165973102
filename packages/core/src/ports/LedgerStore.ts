/**
 * The port for credits: balances, grants and the ledger of each account.
 *
 * A run changes its account with its commits (`RunStore.commit`). This port has every other change.
 * Each method is one atomic step. When a grant has ended by the store's clock, a store settles the
 * account before anything else changes it. Stores hold no rules: `domain/Grant` computes every
 * change.
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
import { RunId } from "../domain/Id.ts"
import type { NumberedEntry } from "../domain/Ledger.ts"
import type { AuditHead, AuditLine } from "../domain/LedgerCheck.ts"
import type { Usage, UsageQuery } from "../domain/Usage.ts"
import type { StorageError } from "./StorageError.ts"

/**
 * The available credits do not cover what a commit reserves. Both numbers are micro-credits.
 * Nothing was written.
 */
export class InsufficientCredits extends Schema.TaggedError<InsufficientCredits>()(
  "InsufficientCredits",
  {
    required: Schema.Int,
    available: Schema.Int,
    /** The first run that the commit starts and that is not covered; absent: it is the commit's. */
    runId: Schema.optionalKey(RunId),
  },
) {
  override get message(): string {
    const [required, available] = [toNumber(this.required), toNumber(this.available)]
    return `The run requires ${required} credits, and ${available} are available`
  }

  /** The same for whoever may not know what the account has. */
  get withoutBalance(): string {
    return `The run requires ${toNumber(this.required)} credits, and fewer are available`
  }
}

/** A part of an account's ledger: the newest entries, or those before one. */
export interface StatementQuery {
  readonly account: AccountId
  /** Only entries with a smaller number. */
  readonly before?: number | undefined
  readonly limit: number
}

/** Gets the account of an audit, and then its lines one by one. */
export type AuditReader = (head: AuditHead) => (line: AuditLine) => void

export class LedgerStore extends Context.Service<
  LedgerStore,
  {
    /**
     * An account and its grants with credits left, settled as of now. An account without ledger
     * entries has no grants and is not metered.
     */
    readonly find: (account: AccountId) => Effect.Effect<CreditBalance, StorageError>
    /** Gives credits to an account. If there is a grant with this id, returns that one instead. */
    readonly grant: (request: GrantRequest) => Effect.Effect<Grant, StorageError>
    /** Corrects a balance. If there is an adjustment with this id, returns its entry instead. */
    readonly adjust: (adjustment: Adjustment) => Effect.Effect<NumberedEntry, StorageError>
    /**
     * Turns metering on or off. If there is an operation with this id, returns its entry instead.
     */
    readonly meter: (
      operation: AdminOperation,
      metered: boolean,
    ) => Effect.Effect<NumberedEntry, StorageError>
    /** Entries of an account, newest first. */
    readonly statement: (
      query: StatementQuery,
    ) => Effect.Effect<ReadonlyArray<NumberedEntry>, StorageError>
    /** What an account's runs were expected to cost, and what they cost. */
    readonly usage: (query: UsageQuery) => Effect.Effect<Usage, StorageError>
    /** Accounts that have ledger entries, or runs with credits; in any order. */
    readonly accounts: Effect.Effect<ReadonlyArray<AccountId>, StorageError>
    /**
     * Gives the reader everything about one account, as it was at one moment: first the account as
     * stored, then its entries in order, each with its run, then the runs that have credits but no
     * entry.
     */
    readonly audit: (account: AccountId, reader: AuditReader) => Effect.Effect<void, StorageError>
  }
>()("@millrace/core/ports/LedgerStore") {}
