/**
 * The caps that hold over all processes: those of the limits, and those of accounts with their own.
 *
 * Guarantees: without caps, claims and starts work as if this module did not exist. A cap that
 * another process has set is known after the next `learn`. Leaves out: counting runs; a store does
 * that.
 */
import { Effect } from "effect"
import type { AccountId } from "../../domain/Id.ts"
import { cappedAccountsKnown, type Limits } from "../../domain/Limits.ts"
import type { ClaimRequest, RunStore } from "../../ports/RunStore.ts"
import type { StorageError } from "../../ports/StorageError.ts"

/** Which limits decide. */
type Bounds = Pick<Limits, "runsPerAccount" | "runsPerWorkflow">

/** What a process knows of caps. Mutable. */
export class Caps {
  readonly #bounds: Bounds
  readonly #isGeneral: boolean
  #accounts: ReadonlySet<AccountId> = new Set()

  constructor(bounds: Bounds) {
    this.#bounds = bounds
    this.#isGeneral =
      Number.isFinite(bounds.runsPerAccount) || Number.isFinite(bounds.runsPerWorkflow)
  }

  /** Asks the store which accounts have caps of their own. */
  learn({ cappedAccounts }: RunStore["Service"]): Effect.Effect<void, StorageError> {
    return Effect.map(cappedAccounts(cappedAccountsKnown + 1), (accounts) => {
      this.#accounts = accounts
    })
  }

  /** True where only a claim can tell whether there is room for one more run of this account. */
  holdFor(account: AccountId): boolean {
    return (
      this.#isGeneral || this.#accounts.has(account) || this.#accounts.size > cappedAccountsKnown
    )
  }

  /** What a claim has to ask for. */
  get asked(): Pick<ClaimRequest, "runsPerAccount" | "runsPerWorkflow"> {
    const { runsPerAccount, runsPerWorkflow } = this.#bounds
    const isPerAccount = Number.isFinite(runsPerAccount) || this.#accounts.size > 0
    return {
      runsPerAccount: isPerAccount ? runsPerAccount : undefined,
      runsPerWorkflow: Number.isFinite(runsPerWorkflow) ? runsPerWorkflow : undefined,
    }
  }
}
