/**
 * The port for the secrets of accounts. A store gets sealed values, never the values.
 *
 * Guarantees: a secret is found under its account and name only. Leaves out: sealing, and checking
 * values and hosts.
 */
import type { Effect } from "effect"
import { Context, Schema } from "effect"
import type { AccountId, WorkflowId } from "../domain/Id.ts"
import type { Secret } from "../domain/Secret.ts"
import type { StorageError } from "./StorageError.ts"

/** A secret with its sealed value. */
export interface SealedSecret extends Secret {
  readonly accountId: AccountId
  readonly sealed: string
}

/** A workflow whose nodes name secrets, with their names. */
export interface SecretUser {
  readonly workflowId: WorkflowId
  readonly workflowName: string
  readonly names: ReadonlyArray<string>
}

/** The account has as many secrets as it may. Nothing was stored. */
export class TooManySecrets extends Schema.TaggedError<TooManySecrets>()("TooManySecrets", {
  limit: Schema.Int,
}) {
  override get message(): string {
    return `The account already has ${this.limit} secrets; remove one first`
  }
}

export class SecretStore extends Context.Service<
  SecretStore,
  {
    /**
     * Stores a secret. If the account has one of this name, its value and hosts are replaced, and
     * `createdAt` and `lastUsedAt` stay. An account never has more than `secretsPerAccount`.
     */
    readonly put: (secret: SealedSecret) => Effect.Effect<Secret, TooManySecrets | StorageError>
    /** Removes a secret. False: the account has none of this name. */
    readonly remove: (account: AccountId, name: string) => Effect.Effect<boolean, StorageError>
    /** The secrets of an account, by name. */
    readonly list: (account: AccountId) => Effect.Effect<ReadonlyArray<Secret>, StorageError>
    /** Those of these secrets that the account has. */
    readonly find: (
      account: AccountId,
      names: ReadonlyArray<string>,
    ) => Effect.Effect<ReadonlyArray<SealedSecret>, StorageError>
    /** Sets `lastUsedAt` of these secrets to the store's time. */
    readonly markUsed: (
      account: AccountId,
      names: ReadonlyArray<string>,
    ) => Effect.Effect<void, StorageError>
    /**
     * The workflows of an account whose nodes, as drawn or as published, have `secrets.name` in a
     * text, by identifier.
     */
    readonly users: (account: AccountId) => Effect.Effect<ReadonlyArray<SecretUser>, StorageError>
    /** For each master key that sealed secrets of any account, one of those secrets. */
    readonly secretOfEachKey: Effect.Effect<ReadonlyArray<SealedSecret>, StorageError>
    /** At most so many secrets of any account that other keys than this one have sealed. */
    readonly sealedOtherwise: (
      keyName: string,
      limit: number,
    ) => Effect.Effect<ReadonlyArray<SealedSecret>, StorageError>
    /** Replaces a seal, if it is still the stored one. */
    readonly reseal: (secret: SealedSecret, sealed: string) => Effect.Effect<void, StorageError>
  }
>()("@millrace/core/ports/SecretStore") {}
