/**
 * How the runs of this process come by secrets. By default there are none.
 */
import { Context, Effect, type Redacted } from "effect"
import type { AccountId } from "../domain/Id.ts"
import type { StorageError } from "../ports/StorageError.ts"
import { VaultClosed } from "../ports/Vault.ts"

/** A secret in the clear. */
export interface OpenSecret {
  readonly name: string
  readonly hosts: ReadonlyArray<string>
  readonly value: Redacted.Redacted
}

/** Where runs find secrets. */
export interface SecretSource {
  /** The names of an account's secrets. */
  readonly names: (account: AccountId) => Effect.Effect<ReadonlyArray<string>, StorageError>
  /**
   * Those of these secrets that the account has, in the clear. Those that are `used` are marked,
   * within a minute.
   */
  readonly open: (
    account: AccountId,
    names: ReadonlyArray<string>,
    used: ReadonlyArray<string>,
  ) => Effect.Effect<ReadonlyArray<OpenSecret>, VaultClosed | StorageError>
}

const closed = Effect.fail(new VaultClosed({ message: "this engine keeps no secrets" }))

/** Where the runs of this process find secrets. */
export const CurrentSecrets = Context.Reference<SecretSource>(
  "@millrace/core/engine/CurrentSecrets",
  { defaultValue: () => ({ names: () => Effect.succeed([]), open: () => closed }) },
)
