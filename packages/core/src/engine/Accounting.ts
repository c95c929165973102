/**
 * The operations on the credits of accounts, and the reads of them.
 *
 * Guarantees: an unknown account is refused. An operation with an `id` is done once per id; one
 * without gets a new id. Leaves out: who may do so, and what runs reserve and post.
 */
import { Context, Effect, Layer, Option, Stream } from "effect"
import type { MicroCredits } from "../domain/Credits.ts"
import type { Grant, CreditBalance } from "../domain/Grant.ts"
import type { AccountId } from "../domain/Id.ts"
import type { NumberedEntry } from "../domain/Ledger.ts"
import type { Timestamp } from "../domain/Timestamp.ts"
import { AccountNotFound, KeyStore } from "../ports/KeyStore.ts"
import type { StatementQuery } from "../ports/LedgerStore.ts"
import { LedgerStore } from "../ports/LedgerStore.ts"
import type { StorageError } from "../ports/StorageError.ts"
import type { Audit } from "./Audit.ts"
import { audit } from "./Audit.ts"
import { Ids } from "./Ids.ts"

/** The actor and the reason of an operation. Repeating it with the same `id` changes nothing. */
export interface NewAdminOperation {
  readonly id?: string | undefined
  readonly actor: string
  readonly reason: string
}

/** Credits to give. Grants with a lower `priority` are used first; 0 by default. */
export interface NewGrant extends NewAdminOperation {
  readonly amount: MicroCredits
  readonly priority?: number | undefined
  readonly expiresAt?: Timestamp | undefined
}

/** A correction of a balance, up or down. */
export interface NewAdjustment extends NewAdminOperation {
  readonly amount: MicroCredits
}

type Refusal = AccountNotFound | StorageError

export class Accounting extends Context.Service<
  Accounting,
  {
    /** The balance of an account, and its grants that have credits left. */
    readonly find: (account: AccountId) => Effect.Effect<CreditBalance, Refusal>
    /** Gives credits. If there is a grant with this id, returns that one instead. */
    readonly grant: (account: AccountId, grant: NewGrant) => Effect.Effect<Grant, Refusal>
    /** Corrects a balance. If there is an adjustment with this id, returns its entry instead. */
    readonly adjust: (
      account: AccountId,
      adjustment: NewAdjustment,
    ) => Effect.Effect<NumberedEntry, Refusal>
    /** Turns metering of an account on or off. */
    readonly meter: (
      account: AccountId,
      operation: NewAdminOperation,
      metered: boolean,
    ) => Effect.Effect<NumberedEntry, Refusal>
    /** Entries of an account, newest first. */
    readonly statement: (
      query: StatementQuery,
    ) => Effect.Effect<ReadonlyArray<NumberedEntry>, Refusal>
    /** All entries of an account, newest first, read page by page. */
    readonly entries: (account: AccountId) => Stream.Stream<NumberedEntry, StorageError>
    /** Reads the ledgers of all accounts and names what does not add up. */
    readonly audit: Effect.Effect<Audit, StorageError>
  }
>()("@millrace/core/engine/Accounting") {
  /** On the ledger and the accounts of the store. */
  static readonly layer: Layer.Layer<Accounting, never, KeyStore | LedgerStore | Ids> =
    Layer.effect(
      Accounting,
      Effect.suspend(() => make),
    )
}

/** How many entries one read returns. */
const page = 1_000

const entriesOf = (ledger: LedgerStore["Service"], account: AccountId) =>
  Stream.paginate(undefined as number | undefined, (before) =>
    Effect.map(ledger.statement({ account, before, limit: page }), (entries) => {
      const last = entries.length < page ? undefined : entries.at(-1)!.number
      return [entries, Option.fromUndefinedOr(last)] as const
    }),
  )

const make = Effect.gen(function* () {
  const accounts = yield* KeyStore
  const ledger = yield* LedgerStore
  const ids = yield* Ids
  const known = Effect.fnUntraced(function* (accountId: AccountId) {
    const found = yield* accounts.findAccount(accountId)
    if (Option.isNone(found)) return yield* new AccountNotFound({ accountId })
  })
  const named = Effect.fnUntraced(function* <D extends NewAdminOperation>(
    accountId: AccountId,
    operation: D,
  ) {
    yield* known(accountId)
    return { ...operation, accountId, id: operation.id ?? (yield* ids.make("operation")) }
  })
  return Accounting.of({
    find: (account) => Effect.andThen(known(account), ledger.find(account)),
    grant: Effect.fn("Accounting.grant")(function* (account, wanted) {
      const { expiresAt = null, priority = 0 } = wanted
      return yield* ledger.grant({ ...(yield* named(account, wanted)), priority, expiresAt })
    }),
    adjust: Effect.fn("Accounting.adjust")(function* (account, wanted) {
      return yield* ledger.adjust(yield* named(account, wanted))
    }),
    meter: Effect.fn("Accounting.meter")(function* (account, operation, metered) {
      return yield* ledger.meter(yield* named(account, operation), metered)
    }),
    statement: (query) => Effect.andThen(known(query.account), ledger.statement(query)),
    entries: (account) => entriesOf(ledger, account),
    audit: Effect.gen(function* () {
      const found = yield* Effect.provideService(audit, LedgerStore, ledger)
      // The audit skips accounts without entries, but they count as checked.
      const { length } = yield* accounts.listAccounts
      return { ...found, accounts: Math.max(length, found.accounts) }
    }),
  })
})
