/**
 * The port for accounts and their API keys. A store gets the SHA-256 of a key's secret, never the
 * secret.
 *
 * Every request calls `admit` first. In one step it finds the key and counts the request in both
 * windows. A store may also read the workflow that the request will need. Expiry and windows follow
 * the store's clock, because several servers must agree on them.
 */
import type { Effect, Option } from "effect"
import { Context, Schema } from "effect"
import type { Account } from "../domain/Account.ts"
import type { ApiKey } from "../domain/ApiKey.ts"
import type { AccountId, KeyId, WorkflowId } from "../domain/Id.ts"
import type { Quota, Window } from "../domain/Quota.ts"
import { plain, quoted } from "../domain/Quote.ts"
import type { Workflow } from "../domain/Workflow.ts"
import type { StorageError } from "./StorageError.ts"

/** The answer to one request's key. */
export type Admission =
  | {
      readonly _tag: "Admitted"
      readonly accountId: AccountId
      readonly keyId: KeyId
      readonly window: Window
      /** The account's workflow `ahead`; absent if the store did not read it. */
      readonly workflow?: Option.Option<Workflow>
    }
  /** `retryAfterMillis`: from the store's time to the reset of the exceeded window. */
  | { readonly _tag: "Limited"; readonly window: Window; readonly retryAfterMillis: number }
  /** The key is unknown, revoked or expired. One answer for all three tells strangers nothing. */
  | { readonly _tag: "Refused" }

/** The account has another live key with this label; case does not count. Nothing was stored. */
export class LabelTaken extends Schema.TaggedError<LabelTaken>()("LabelTaken", {
  label: Schema.String,
}) {
  override get message(): string {
    return `The account already has a key labelled ${quoted(this.label)}`
  }
}

/** The account holds as many live keys as it may. Nothing was stored. */
export class TooManyKeys extends Schema.TaggedError<TooManyKeys>()("TooManyKeys", {
  limit: Schema.Int,
}) {
  override get message(): string {
    return `The account already has ${this.limit} live keys; revoke one first`
  }
}

/** No such account. Nothing was stored. */
export class AccountNotFound extends Schema.TaggedError<AccountNotFound>()("AccountNotFound", {
  accountId: Schema.String,
}) {
  override get message(): string {
    return `Account ${plain(this.accountId)} does not exist`
  }
}

/** The fields of a key that can change. */
export interface KeyChange extends Partial<Quota> {
  readonly label?: string | undefined
}

/** The fields of an account that can change. */
export type AccountChange = Pick<Account, "runsAtOnce">

export class KeyStore extends Context.Service<
  KeyStore,
  {
    /**
     * Counts one request in both windows of the live key with this SHA-256, or says why not. A
     * request that is not admitted counts nothing and writes nothing.
     *
     * `ahead` names a workflow that the request will read if it is admitted. A store may return the
     * workflow in the same round trip, or leave that to `WorkflowStore.find`.
     */
    readonly admit: (hash: Uint8Array, ahead?: WorkflowId) => Effect.Effect<Admission, StorageError>
    /** Stores a key. An account never has more than `liveKeysPerAccount` live ones. */
    readonly insert: (
      key: ApiKey,
      hash: Uint8Array,
    ) => Effect.Effect<void, AccountNotFound | LabelTaken | TooManyKeys | StorageError>
    /**
     * Changes label or limits at once; requests stay counted. None: the account has no such key.
     */
    readonly update: (
      account: AccountId,
      id: KeyId,
      change: KeyChange,
    ) => Effect.Effect<Option.Option<ApiKey>, LabelTaken | StorageError>
    /** Revokes a key from the next request on. None: the account has no such key. */
    readonly revoke: (
      account: AccountId,
      id: KeyId,
    ) => Effect.Effect<Option.Option<ApiKey>, StorageError>
    /** All keys of an account, oldest first. */
    readonly list: (account: AccountId) => Effect.Effect<ReadonlyArray<ApiKey>, StorageError>
    /** Stores a new account. */
    readonly insertAccount: (account: Account) => Effect.Effect<void, StorageError>
    readonly findAccount: (id: AccountId) => Effect.Effect<Option.Option<Account>, StorageError>
    /** Sets the given fields. None: there is no such account. */
    readonly updateAccount: (
      id: AccountId,
      change: AccountChange,
    ) => Effect.Effect<Option.Option<Account>, StorageError>
    /** All accounts, oldest first. */
    readonly listAccounts: Effect.Effect<ReadonlyArray<Account>, StorageError>
  }
>()("@millrace/core/ports/KeyStore") {}
