/**
 * API keys of an engine's account: who may call `engine.fetch`.
 *
 * Guarantees: a secret is in the answer to `create` and nowhere else.
 */
import { Identifier } from "@millrace/api/Text"
import { ApiKey } from "@millrace/core/domain/ApiKey"
import type { AccountId } from "@millrace/core/domain/Id"
import { KeyId } from "@millrace/core/domain/Id"
import { Quota } from "@millrace/core/domain/Quota"
import { Timestamp } from "@millrace/core/domain/Timestamp"
import { Keys as Core } from "@millrace/core/engine/Keys"
import { Effect, Redacted, Schema, Struct } from "effect"
import { reader, writer } from "./internal/JsonCopy.ts"
import type { Runtime } from "./internal/Runtime.ts"

const KeyView = ApiKey.mapFields(Struct.omit(["accountId"]))

/** An API key without its secret. Times are ISO 8601 in UTC. */
export type Key = typeof KeyView.Encoded

/** A new key with its secret. Only `create` returns the secret. */
export interface CreatedKey extends Key {
  /** What requests carry after `Bearer`. Nothing shows it again. */
  readonly secret: string
}

/** The fields of a new key (specification 2.8). */
export interface NewKey {
  /** 1 to 100 characters, unique among the account's live keys. */
  readonly label: string
  /** Requests a minute, 1 to 10,000; 60 by default. */
  readonly perMinute?: number
  /** Requests a day, 1 to 100,000; 1,000 by default. */
  readonly perDay?: number
  /** When it stops working; without it never. Text is ISO 8601. */
  readonly expiresAt?: Date | string
}

/** The fields of a key to set. */
export type KeyChange = Partial<Pick<NewKey, "label" | "perDay" | "perMinute">>

/** The keys of the engine's account. At most ten of them are live. */
export interface Keys {
  /** Rejects with `LABEL_TAKEN`, `TOO_MANY_KEYS`, or `INVALID_KEY` if the label is not valid. */
  create(key: NewKey): Promise<CreatedKey>
  /** All keys, oldest first, including revoked and expired ones. */
  list(): Promise<ReadonlyArray<Key>>
  /**
   * Sets the given fields from the next request on; what was used stays used. Rejects with
   * `KEY_NOT_FOUND`, `LABEL_TAKEN`, or `INVALID_KEY` if the label is not valid.
   */
  update(id: string, change: KeyChange): Promise<Key>
  /** Revokes a key from the next request on. Rejects with `KEY_NOT_FOUND`. */
  revoke(id: string): Promise<void>
}

const readKey = reader(
  Schema.Struct({
    label: Schema.String,
    ...Struct.map(Quota.fields, Schema.optionalKey),
    expiresAt: Schema.optionalKey(Timestamp),
  }),
  "key",
)
const readChange = reader(
  Schema.Struct(Struct.map({ label: Schema.String, ...Quota.fields }, Schema.optionalKey)),
  "change",
)
const readId = reader(Identifier, "id")
const writeKey = writer(KeyView)

/** The keys of one account. */
export const make = ({ call }: Runtime<Core>, account: AccountId): Keys => ({
  create: Effect.fnUntraced(function* (given: NewKey) {
    const keys = yield* Core
    const { key, secret } = yield* keys.create(account, yield* readKey(given))
    return { ...writeKey(key), secret: Redacted.value(secret) }
  }, call),
  list: Effect.fnUntraced(function* () {
    const keys = yield* Core
    return (yield* keys.list(account)).map(writeKey)
  }, call),
  update: Effect.fnUntraced(function* (given: string, change: KeyChange) {
    const keys = yield* Core
    const id = KeyId.make(yield* readId(given))
    return writeKey(yield* keys.update(account, id, yield* readChange(change)))
  }, call),
  revoke: Effect.fnUntraced(function* (given: string) {
    const keys = yield* Core
    yield* keys.revoke(account, KeyId.make(yield* readId(given)))
  }, call),
})
