/**
 * What operators do to the credits of accounts, and what they are told of them.
 *
 * Guarantees: an account that does not exist is refused; what has a name is done once under that
 * name, and what has none gets one. Leaves out: who may do so, and what runs do.
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

/** Who does something, and why. Done again under the same `id` it is done once. */
export interface NewAdminOperation {
  readonly id?: string | undefined
  readonly actor: string
  readonly reason: string
}

/** Credits that are to be given; of the lowest priority number is used first, 0 by default. */
export interface NewGrant extends NewAdminOperation {
  readonly amount: MicroCredits
  readonly priority?: number | undefined
  readonly expiresAt?: Timestamp | undefined
}

/** A correction, either way. */
export interface NewAdjustment extends NewAdminOperation {
  readonly amount: MicroCredits
}

type Refusal = AccountNotFound | StorageError

export class Accounting extends Context.Service<
  Accounting,
  {
    /** What an account has, and its grants that have something left. */
    readonly find: (account: AccountId) => Effect.Effect<CreditBalance, Refusal>
    /** Gives credits; of a grant that was made already, the first one is the answer. */
    readonly grant: (account: AccountId, grant: NewGrant) => Effect.Effect<Grant, Refusal>
    /** Corrects a balance; of what was done already, the first entry is the answer. */
    readonly adjust: (
      account: AccountId,
      adjustment: NewAdjustment,
    ) => Effect.Effect<NumberedEntry, Refusal>
    /** Says whether runs of an account need cover from now on. */
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
  /** Over the ledger, and the accounts that there are. */
  static readonly layer: Layer.Layer<Accounting, never, KeyStore | LedgerStore | Ids> =
    Layer.effect(
      Accounting,
      Effect.suspend(() => make),
    )
}

/** How many entries are read at once. */
const page = 1_000

const entriesOf = (ledger: LedgerStore["Service"], account: AccountId) =>
  Stream.paginate(undefined as number | undefined, (before) =>
    Effect.map(ledger.statement({ account, before, limit: page }), (entries) => {
      const last = entries.length < page ? undefined : entries.at(-1)?.number
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
      // One on which nothing ever moved has no ledger, and adds up.
      const { length } = yield* accounts.listAccounts
      return { ...found, accounts: Math.max(length, found.accounts) }
    }),
  })
})
