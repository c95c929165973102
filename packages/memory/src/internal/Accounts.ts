/**
 * All accounts of the stores in memory. The key store changes them; the run store reads their caps.
 */
import type { Account } from "@millrace/core/domain/Account"
import type { AccountId } from "@millrace/core/domain/Id"
import { Context, Layer } from "effect"

export class Accounts extends Context.Service<Accounts, Map<AccountId, Account>>()(
  "@millrace/memory/Accounts",
) {
  static readonly layer: Layer.Layer<Accounts> = Layer.sync(Accounts, () => new Map())
}
