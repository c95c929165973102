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
import type { CreditAdmin } from "./CreditAdmin.ts"
import type { QuarantineAdmin } from "./QuarantineAdmin.ts"
import type { CommandFailed } from "../../CommandFailed.ts"

/** What can be done with accounts, keys and credits. */
export interface AdminTasks {
  readonly listAccounts: Effect.Effect<ReadonlyArray<Account>, CommandFailed>
  readonly createAccount: (name: string) => Effect.Effect<Account, CommandFailed>
  readonly updateAccount: (
    id: AccountId,
    change: AccountChange,
  ) => Effect.Effect<Account, CommandFailed>
  readonly listKeys: (account: AccountId) => Effect.Effect<ReadonlyArray<ApiKey>, CommandFailed>
  readonly createKey: (account: AccountId, key: NewKey) => Effect.Effect<CreatedKey, CommandFailed>
  readonly updateKey: (
    account: AccountId,
    id: KeyId,
    change: KeyChange,
  ) => Effect.Effect<ApiKey, CommandFailed>
  readonly credits: CreditAdmin
  readonly quarantine: QuarantineAdmin
  /** What is wrong with the clock: of the server, or of this machine where there is none. */
  readonly clockProblem: Effect.Effect<string | undefined, CommandFailed>
  readonly revokeKey: (account: AccountId, id: KeyId) => Effect.Effect<ApiKey, CommandFailed>
}
