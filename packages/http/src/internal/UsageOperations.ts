/**
 * The balance of an account, and what its runs have used.
 */
import type { Balance } from "@millrace/api/UsageApi"
import type { CreditAccount } from "@millrace/core/domain/Ledger"
import { availableOf } from "@millrace/core/domain/Ledger"
import { usageDays } from "@millrace/core/domain/Limits"
import { dayMillis, dayOf } from "@millrace/core/domain/Timestamp"
import { LedgerStore } from "@millrace/core/ports/LedgerStore"
import { Clock, Effect } from "effect"
import { InvalidRequest } from "../Errors.ts"
import type { OperationsOf } from "./Operation.ts"
import { seenBy } from "./SessionListing.ts"

/** How many days before the last day are shown by default. */
const daysBefore = 29

/** A balance on the wire. */
export const balanceOf = (account: CreditAccount): Balance => ({
  metered: account.metered,
  posted: account.posted,
  reserved: account.reserved,
  available: availableOf(account),
})

/** The operations of the group `usage`. */
export const make = Effect.map(LedgerStore, (ledger): OperationsOf<"usage"> => ({
  read: Effect.fnUntraced(function* ({ account, query, session }) {
    const to = query.to ?? dayOf(yield* Clock.currentTimeMillis)
    const from = query.from ?? Math.max(0, to - daysBefore * dayMillis)
    const until = to + dayMillis
    if (from > to || until - from > usageDays * dayMillis) {
      const message = `from: expected a day up to ${usageDays - 1} days before to`
      return yield* new InvalidRequest({ message })
    }
    const workflows = seenBy(session) ?? undefined
    const usage = yield* ledger.usage({ account, from, until, workflows })
    if (workflows !== undefined) return { value: { from, to, ...usage } }
    const { account: found } = yield* ledger.find(account)
    return { value: { balance: balanceOf(found), from, to, ...usage } }
  }),
}))
