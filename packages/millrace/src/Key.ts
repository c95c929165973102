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

/** What is known of a key; never the secret. Times are ISO 8601 in UTC. */
export type Key = typeof KeyView.Encoded

/** A key and, this once, its secret. */
export interface CreatedKey extends Key {
  readonly secret: string
}

/** What a new key is made of (specification 2.8). */
export interface NewKey {
  /** 1 to 100 characters, unique among the account's live keys. */
  readonly label: string
  /** Requests a minute, 1 to 10,000; 60 where nothing is said. */
  readonly perMinute?: number
  /** Requests a day, 1 to 100,000; 1,000 where nothing is said. */
  readonly perDay?: number
  readonly expiresAt?: Date | string
}

/** The keys of the engine's account; at most ten of them live. */
export interface Keys {
  /** Rejects with `LABEL_TAKEN`, `TOO_MANY_KEYS`, or `INVALID_KEY` for a label that will not do. */
  create(key: NewKey): Promise<CreatedKey>
  /** Oldest first, revoked and expired ones too. */
  list(): Promise<ReadonlyArray<Key>>
  /** From the next request on. Rejects with `KEY_NOT_FOUND`. */
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
  revoke: Effect.fnUntraced(function* (given: string) {
    const keys = yield* Core
    yield* keys.revoke(account, KeyId.make(yield* readId(given)))
  }, call),
})
