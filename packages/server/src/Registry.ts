/**
 * The accounts and keys that a command works on, wherever they are.
 *
 * Guarantees: whatever cannot be done is refused in one sentence. Leaves out: where that is, and
 * what is printed.
 */
import type { Account } from "@millrace/core/domain/Account"
import type { ApiKey } from "@millrace/core/domain/ApiKey"
import type { AccountId, KeyId } from "@millrace/core/domain/Id"
import type { CreatedKey, NewKey } from "@millrace/core/engine/Keys"
import type { AccountChange, KeyChange } from "@millrace/core/ports/KeyStore"
import type { Effect } from "effect"
import type { CreditRegistry } from "./CreditRegistry.ts"
import type { QuarantineRegistry } from "./QuarantineRegistry.ts"
import type { StartRefused } from "./StartRefused.ts"

/** What can be done with accounts, keys and credits. */
export interface Registry {
  readonly listAccounts: Effect.Effect<ReadonlyArray<Account>, StartRefused>
  readonly createAccount: (name: string) => Effect.Effect<Account, StartRefused>
  readonly updateAccount: (
    id: AccountId,
    change: AccountChange,
  ) => Effect.Effect<Account, StartRefused>
  readonly listKeys: (account: AccountId) => Effect.Effect<ReadonlyArray<ApiKey>, StartRefused>
  readonly createKey: (account: AccountId, key: NewKey) => Effect.Effect<CreatedKey, StartRefused>
  readonly updateKey: (
    account: AccountId,
    id: KeyId,
    change: KeyChange,
  ) => Effect.Effect<ApiKey, StartRefused>
  readonly credits: CreditRegistry
  readonly quarantine: QuarantineRegistry
  /** What is wrong with the clock: of the server, or of this machine where there is none. */
  readonly clockProblem: Effect.Effect<string | undefined, StartRefused>
  readonly revokeKey: (account: AccountId, id: KeyId) => Effect.Effect<ApiKey, StartRefused>
}
