/**
 * The audit of a whole store: every account's ledger, from the first entry to the last.
 *
 * Guarantees: each account is read as it was at one moment, so an audit may run beside any traffic.
 * Nothing is changed. Leaves out: the rules; they are in `domain/LedgerCheck`.
 */
import { Effect } from "effect"
import type { AccountId } from "../domain/Id.ts"
import { type Discrepancy, LedgerCheck } from "../domain/LedgerCheck.ts"
import { LedgerStore } from "../ports/LedgerStore.ts"
import type { StorageError } from "../ports/StorageError.ts"

/** What does not add up on one account; empty if all is well. */
export const auditAccount: (
  account: AccountId,
) => Effect.Effect<ReadonlyArray<Discrepancy>, StorageError, LedgerStore> = Effect.fnUntraced(
  function* (account) {
    const ledger = yield* LedgerStore
    let check: LedgerCheck | undefined
    yield* ledger.audit(account, (head) => {
      const reading = new LedgerCheck(head)
      check = reading
      return (line) => reading.read(line)
    })
    return check!.end()
  },
)

/** The result of an audit of all accounts. */
export interface Audit {
  /** How many accounts were read. */
  readonly accounts: number
  readonly discrepancies: ReadonlyArray<Discrepancy>
}

/** Reads the ledgers of all accounts, one after the other. */
export const audit: Effect.Effect<Audit, StorageError, LedgerStore> = Effect.gen(function* () {
  const { accounts } = yield* LedgerStore
  const ids = yield* accounts
  const found = yield* Effect.forEach(ids, auditAccount)
  return { accounts: ids.length, discrepancies: found.flat() }
})
