/**
 * What an account has and has used, read from the ledger and the runs.
 */
import { Api } from "@millrace/api/Api"
import { CurrentKey } from "@millrace/api/Authorization"
import type { Balance, UsageQuery } from "@millrace/api/UsageApi"
import type { CreditAccount } from "@millrace/core/domain/Ledger"
import { availableOf } from "@millrace/core/domain/Ledger"
import { dayMillis, dayOf, usageDays } from "@millrace/core/domain/Usage"
import { LedgerStore } from "@millrace/core/ports/LedgerStore"
import { Clock, Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { InvalidRequest, refuse } from "../Errors.ts"

/** How many days before the last one are told of where nothing was asked for. */
const daysBefore = 29

/** A balance as it is told to whoever it belongs to. */
export const balanceOf = (account: CreditAccount): Balance => ({
  metered: account.metered,
  posted: account.posted,
  reserved: account.reserved,
  available: availableOf(account),
})

/** The handlers of the group `usage`. */
export const layer = HttpApiBuilder.group(
  Api,
  "usage",
  Effect.fnUntraced(function* (handlers) {
    const ledger = yield* LedgerStore
    return handlers.handle(
      "read",
      Effect.fnUntraced(function* ({ query }: { readonly query: UsageQuery }) {
        const { accountId } = yield* CurrentKey
        const to = query.to ?? dayOf(yield* Clock.currentTimeMillis)
        const from = query.from ?? Math.max(0, to - daysBefore * dayMillis)
        const until = to + dayMillis
        if (from > to || until - from > usageDays * dayMillis) {
          const message = `from: expected a day up to ${usageDays - 1} days before to`
          return yield* refuse(new InvalidRequest({ message }))
        }
        const asked = { account: accountId, from, until }
        const usage = yield* Effect.catch(ledger.usage(asked), refuse)
        const { account } = yield* Effect.catch(ledger.find(accountId), refuse)
        return { balance: balanceOf(account), from, to, ...usage }
      }),
    )
  }),
)
