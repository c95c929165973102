/**
 * What a ledger store means, in the plainest way that is right: part of the model of the stores.
 *
 * A balance is the sum of all entries, worked out anew for every question. Leaves out: speed.
 */
import type { AdminOperation, Grant, CreditBalance, Settled } from "@millrace/core/domain/Grant"
import * as Grants from "@millrace/core/domain/Grant"
import type { AccountId, RunId } from "@millrace/core/domain/Id"
import type { Entry, HandEntryKind, NumberedEntry, RunEntry } from "@millrace/core/domain/Ledger"
import * as Ledger from "@millrace/core/domain/Ledger"
import type { Run } from "@millrace/core/domain/Run"
import type { Timestamp } from "@millrace/core/domain/Timestamp"
import { usageOf } from "@millrace/core/domain/Usage"
import { InsufficientCredits, LedgerStore } from "@millrace/core/ports/LedgerStore"
import type { RunCommit } from "@millrace/core/ports/RunStore"
import { Clock, Effect } from "effect"

/** A ledger store, and what runs do to it. */
export interface LedgerModel {
  readonly store: (runs: () => ReadonlyArray<Run>) => LedgerStore["Service"]
  /** Why a commit, then each run that it starts, cannot move its credits, or `undefined`. */
  readonly problemOf: (
    commit: Pick<RunCommit, "credits" | "run" | "starts">,
    now: Timestamp,
  ) => InsufficientCredits | undefined
  readonly move: (account: AccountId, run: RunId, entries: ReadonlyArray<RunEntry>) => void
  /** What a run still has set aside. */
  readonly heldBy: (run: RunId) => number
}

/** The one list of entries, and the one of grants. */
class Lists {
  entries: ReadonlyArray<NumberedEntry> = []
  grants: ReadonlyArray<Grant> = []

  of(account: AccountId): ReadonlyArray<NumberedEntry> {
    return this.entries.filter(({ accountId }) => accountId === account)
  }

  balance(account: AccountId): CreditBalance {
    return {
      account: Ledger.applied(Ledger.unopened(account), this.of(account)),
      grants: this.grants.filter((each) => each.accountId === account && each.remaining > 0),
    }
  }

  append(entry: Entry): void {
    this.entries = [...this.entries, { ...entry, number: this.entries.length + 1 }]
  }

  take({ account, entries, grants }: Settled): CreditBalance {
    const isOther = (each: Grant) =>
      each.accountId !== account.accountId || grants.every(({ id }) => id !== each.id)
    this.grants = [...this.grants.filter(isOther), ...grants]
    for (const entry of entries) this.append(entry)
    return { account, grants: grants.filter(({ remaining }) => remaining > 0) }
  }

  settled(account: AccountId, now: Timestamp): CreditBalance {
    return this.take(Grants.settle(this.balance(account), now))
  }

  once(
    operation: AdminOperation,
    kind: HandEntryKind,
    change: (balance: CreditBalance) => Settled,
  ): NumberedEntry {
    const find = () =>
      this.of(operation.accountId).find(({ key }) => key === Ledger.keyOf(kind, null, operation.id))
    const known = find()
    if (known !== undefined) return known
    this.take(change(this.balance(operation.accountId)))
    return find()!
  }
}

const factsOf = ({ actualCredits, estimatedCredits, id, startAt, status }: Run) => ({
  id,
  status,
  estimatedCredits,
  startAt,
  actualCredits,
})

const storeOf = (lists: Lists, runs: () => ReadonlyArray<Run>): LedgerStore["Service"] => {
  const withNow = <A>(f: (now: Timestamp) => A) => Effect.map(Clock.currentTimeMillis, f)
  const isCostly = (run: Run) => run.estimatedCredits > 0 || run.actualCredits > 0
  return LedgerStore.of({
    find: (account) => withNow((now) => lists.settled(account, now)),
    grant: (request) =>
      withNow((now) => {
        lists.once(request, "grant", (balance) => Grants.grant(balance, request, now))
        return lists.grants.find(
          ({ accountId, id }) => accountId === request.accountId && id === request.id,
        )!
      }),
    adjust: (adjustment) =>
      withNow((now) =>
        lists.once(adjustment, "adjust", (balance) => Grants.adjust(balance, adjustment, now)),
      ),
    meter: (operation, metered) =>
      withNow((now) =>
        lists.once(operation, metered ? "meter" : "unmeter", (balance) =>
          Grants.meter(balance, operation, metered, now),
        ),
      ),
    statement: ({ account, before, limit }) =>
      Effect.sync(() =>
        lists
          .of(account)
          .filter(({ number }) => before === undefined || number < before)
          .toReversed()
          .slice(0, limit),
      ),
    usage: (query) => Effect.sync(() => usageOf(runs(), query)),
    accounts: Effect.sync(() => [
      ...new Set([...lists.entries, ...runs().filter(isCostly)].map((each) => each.accountId)),
    ]),
    audit: (account, reader) =>
      Effect.sync(() => {
        const own = runs().filter(({ accountId }) => accountId === account)
        const read = reader(lists.balance(account))
        const entries = lists.of(account)
        for (const entry of entries) {
          const run = own.find(({ id }) => id === entry.runId)
          read({ entry, run: run === undefined ? null : factsOf(run) })
        }
        for (const run of own.filter(isCostly)) {
          const isBooked = entries.some(({ runId }) => runId === run.id)
          if (!isBooked) read({ entry: null, run: factsOf(run) })
        }
      }),
  })
}

/** An empty ledger. */
export const make = (): LedgerModel => {
  const lists = new Lists()
  return {
    store: (runs) => storeOf(lists, runs),
    problemOf: ({ credits: own = [], run, starts = [] }, now) => {
      const account = run.accountId
      const moves = [{ credits: own, run: undefined }, ...starts]
      const entries = moves.map(({ credits = [] }) => credits)
      if (entries.flat().length === 0) return undefined
      const settled = lists.settled(account, now).account
      for (const [index, { run: started }] of moves.entries()) {
        const before = Ledger.applied(settled, entries.slice(0, index).flat())
        const required = Ledger.amountToReserve(entries[index]!)
        const available = Ledger.availableOf(before)
        const named = started === undefined ? {} : { runId: started.id }
        const isCovered = Ledger.covers(before, required)
        if (!isCovered) return new InsufficientCredits({ required, available, ...named })
      }
      return undefined
    },
    move: (account, run, entries) => {
      for (const entry of entries) lists.append(Ledger.entryOf(account, run, entry))
    },
    heldBy: (run) =>
      lists.entries
        .filter(({ runId }) => runId === run)
        .reduce((sum, { reserved }) => sum + reserved, 0),
  }
}
