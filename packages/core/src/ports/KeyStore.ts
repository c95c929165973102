/**
 * Where accounts and their API keys are kept. Secrets never come here, only their SHA-256.
 *
 * `admit` is the one method on the path of every request: look-up and both windows in one step, and
 * where a store can, what the request will read first. Expiry and windows follow the store's clock,
 * because several servers must agree on them.
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
      /** The account's workflow that was asked for; absent where the store has not looked. */
      readonly workflow?: Option.Option<Workflow>
    }
  /** `retryAfterMillis` counts from the store's now to the exceeded window's reset. */
  | { readonly _tag: "Limited"; readonly window: Window; readonly retryAfterMillis: number }
  /** Unknown, revoked or expired: these are deliberately one answer. */
  | { readonly _tag: "Refused" }

/** The account has another live key with this label, in any case. Nothing was stored. */
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

/** What an owner may change of a key. */
export interface KeyChange extends Partial<Quota> {
  readonly label?: string | undefined
}

/** What an operator may change of an account. */
export type AccountChange = Pick<Account, "runsAtOnce">

export class KeyStore extends Context.Service<
  KeyStore,
  {
    /**
     * Takes one request out of both windows of the live key with this SHA-256, or says why not. A
     * request that is not admitted takes nothing and writes nothing.
     *
     * `ahead` names a workflow that an admitted request will read: a store may bring it along in
     * the same round trip, or leave that to `WorkflowStore.find`.
     */
    readonly admit: (hash: Uint8Array, ahead?: WorkflowId) => Effect.Effect<Admission, StorageError>
    /** Stores a key; at most `liveKeysPerAccount` live ones, exactly, also under a race. */
    readonly insert: (
      key: ApiKey,
      hash: Uint8Array,
    ) => Effect.Effect<void, AccountNotFound | LabelTaken | TooManyKeys | StorageError>
    /** Changes label or limits at once; usage is kept. None when the account has no such key. */
    readonly update: (
      account: AccountId,
      id: KeyId,
      change: KeyChange,
    ) => Effect.Effect<Option.Option<ApiKey>, LabelTaken | StorageError>
    /** Revokes a key from the next request on. None when the account has no such key. */
    readonly revoke: (
      account: AccountId,
      id: KeyId,
    ) => Effect.Effect<Option.Option<ApiKey>, StorageError>
    /** All keys of an account, oldest first. */
    readonly list: (account: AccountId) => Effect.Effect<ReadonlyArray<ApiKey>, StorageError>
    /** Stores a new account. */
    readonly insertAccount: (account: Account) => Effect.Effect<void, StorageError>
    readonly findAccount: (id: AccountId) => Effect.Effect<Option.Option<Account>, StorageError>
    /** Sets what is given. None when there is no such account. */
    readonly updateAccount: (
      id: AccountId,
      change: AccountChange,
    ) => Effect.Effect<Option.Option<Account>, StorageError>
    /** All accounts, oldest first. */
    readonly listAccounts: Effect.Effect<ReadonlyArray<Account>, StorageError>
  }
>()("@millrace/core/ports/KeyStore") {}
