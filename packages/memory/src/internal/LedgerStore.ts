/**
 * The ledger store in memory, and the books in which the run store moves credits.
 *
 * Guarantees: every method is one synchronous step; grants expire by Effect's clock. Leaves out:
 * durability.
 */
import type { AdminOperation, Grant, CreditBalance, Settled } from "@millrace/core/domain/Grant"
import * as Grants from "@millrace/core/domain/Grant"
import type { AccountId, RunId } from "@millrace/core/domain/Id"
import type { Entry, NumberedEntry, RunEntry } from "@millrace/core/domain/Ledger"
import * as Ledger from "@millrace/core/domain/Ledger"
import type { RunFacts } from "@millrace/core/domain/LedgerCheck"
import type { Run } from "@millrace/core/domain/Run"
import type { Timestamp } from "@millrace/core/domain/Timestamp"
import { usageOf } from "@millrace/core/domain/Usage"
import type { RunCommit } from "@millrace/core/ports/RunStore"
import type { StatementQuery, AuditReader } from "@millrace/core/ports/LedgerStore"
import { InsufficientCredits, LedgerStore } from "@millrace/core/ports/LedgerStore"
import { Clock, Effect } from "effect"

/** One account's book. */
interface Book {
  balance: CreditBalance
  readonly entries: Array<NumberedEntry>
  readonly grants: Map<string, Grant>
}

const emptyBook = (account: AccountId): Book => ({
  balance: { account: Ledger.unopened(account), grants: [] },
  entries: [],
  grants: new Map(),
})

const factsOf = ({ actualCredits, estimatedCredits, id, startAt, status }: Run): RunFacts => ({
  id,
  status,
  estimatedCredits,
  actualCredits,
  startAt,
})

/** The books of all accounts. */
export class Books {
  readonly #books = new Map<AccountId, Book>()
  #number = 0

  get accounts(): ReadonlyArray<AccountId> {
    return [...this.#books.keys()]
  }

  bookOf(account: AccountId): Book {
    return this.#books.get(account) ?? emptyBook(account)
  }

  /** An account as it is now. Takes back its expired grants. */
  settled(account: AccountId, now: Timestamp): Book {
    const book = this.bookOf(account)
    this.#take(book, Grants.settle(book.balance, now))
    return book
  }

  /** Why the account does not cover a commit and the runs that it starts. */
  problemOf(commit: RunCommit, now: Timestamp): InsufficientCredits | undefined {
    const { run, starts = [] } = commit
    if ([commit, ...starts].every(({ credits = [] }) => credits.length === 0)) return undefined
    const seen = this.bookOf(run.accountId)
    const isDue = Grants.isDue(seen.balance.account, now)
    const { balance } = isDue ? this.settled(run.accountId, now) : seen
    const shortfall = Ledger.missingCredits(balance.account, commit)
    return shortfall === undefined ? undefined : new InsufficientCredits(shortfall)
  }

  /** Applies the entries of a run. */
  move(account: AccountId, run: RunId, moved: ReadonlyArray<RunEntry>): void {
    if (moved.length === 0) return
    const book = this.#kept(this.bookOf(account))
    book.balance = { ...book.balance, account: Ledger.applied(book.balance.account, moved) }
    for (const entry of moved) this.#append(book, Ledger.entryOf(account, run, entry))
  }

  /** Performs an operator's operation, unless its id was used before. Returns the first entry. */
  once(
    { accountId, id }: AdminOperation,
    kind: Ledger.HandEntryKind,
    change: (balance: CreditBalance) => Settled,
  ): NumberedEntry {
    const book = this.#kept(this.bookOf(accountId))
    const key = Ledger.keyOf(kind, null, id)
    const known = book.entries.find((entry) => entry.key === key)
    if (known !== undefined) return known
    this.#take(book, change(book.balance))
    return book.entries.at(-1)!
  }

  #kept(book: Book): Book {
    this.#books.set(book.balance.account.accountId, book)
    return book
  }

  #take(book: Book, { account, entries, grants }: Settled): void {
    for (const grant of grants) book.grants.set(grant.id, grant)
    book.balance = { account, grants: grants.filter(({ remaining }) => remaining > 0) }
    for (const entry of entries) this.#append(book, entry)
  }

  #append(book: Book, entry: Entry): void {
    this.#number += 1
    book.entries.push({ ...entry, number: this.#number })
  }
}

/** The runs that an audit reads. */
interface RunSource {
  readonly ofAccount: (account: AccountId) => ReadonlyArray<Run>
  readonly all: () => ReadonlyArray<Run>
}

const hasCredits = (run: Run): boolean => run.estimatedCredits > 0 || run.actualCredits > 0

const accountsOf = (books: Books, runs: RunSource): ReadonlyArray<AccountId> => {
  const costly = runs.all().filter(hasCredits)
  return [...new Set([...books.accounts, ...costly.map(({ accountId }) => accountId)])]
}

const audit = (books: Books, runs: RunSource, account: AccountId, reader: AuditReader): void => {
  const { entries, balance } = books.bookOf(account)
  const all = new Map<string, Run>(runs.ofAccount(account).map((run) => [run.id, run]))
  const read = reader({ account: balance.account, grants: balance.grants })
  const seen = new Set<string | null>()
  for (const entry of entries) {
    const run = all.get(entry.runId ?? "")
    seen.add(entry.runId)
    read({ entry, run: run === undefined ? null : factsOf(run) })
  }
  for (const run of all.values()) {
    if (hasCredits(run) && !seen.has(run.id)) read({ entry: null, run: factsOf(run) })
  }
}

const statementOf = (book: Book, { before, limit }: StatementQuery) =>
  book.entries
    .filter(({ number }) => before === undefined || number < before)
    .slice(-limit)
    .toReversed()

/** The port over these books. */
export const make = (books: Books, runs: RunSource): LedgerStore["Service"] => {
  const withNow = <A>(f: (now: Timestamp) => A) => Effect.map(Clock.currentTimeMillis, f)
  return LedgerStore.of({
    find: (account) => withNow((now) => books.settled(account, now).balance),
    grant: (request) =>
      withNow((now) => {
        books.once(request, "grant", (balance) => Grants.grant(balance, request, now))
        return books.bookOf(request.accountId).grants.get(request.id)!
      }),
    adjust: (adjustment) =>
      withNow((now) =>
        books.once(adjustment, "adjust", (balance) => Grants.adjust(balance, adjustment, now)),
      ),
    meter: (operation, metered) =>
      withNow((now) =>
        books.once(operation, metered ? "meter" : "unmeter", (balance) =>
          Grants.meter(balance, operation, metered, now),
        ),
      ),
    statement: (query) => Effect.sync(() => statementOf(books.bookOf(query.account), query)),
    usage: (query) => Effect.sync(() => usageOf(runs.ofAccount(query.account), query)),
    accounts: Effect.sync(() => accountsOf(books, runs)),
    audit: (account, reader) => Effect.sync(() => audit(books, runs, account, reader)),
  })
}
