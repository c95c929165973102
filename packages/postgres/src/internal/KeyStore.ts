/**
 * The key store on Postgres. Windows and expiry follow the database's clock.
 *
 * Guarantees: what depends on an account's other keys happens in a transaction that holds the
 * account's row. Leaves out: secrets, and how requests are admitted; that is `Admission`.
 */
import type { Account } from "@millrace/core/domain/Account"
import type { ApiKey } from "@millrace/core/domain/ApiKey"
import type { AccountId, KeyId } from "@millrace/core/domain/Id"
import { liveKeysPerAccount } from "@millrace/core/domain/Limits"
import type { AccountChange, KeyChange } from "@millrace/core/ports/KeyStore"
import { AccountNotFound, KeyStore, LabelTaken, TooManyKeys } from "@millrace/core/ports/KeyStore"
import { Effect, Layer, Option } from "effect"
import { SqlClient } from "effect/sql/SqlClient"
import { millisOf } from "./DatabaseClock.ts"
import * as Admission from "./Admission.ts"
import { isLive } from "./Admission.ts"
import { orStorageError } from "./DatabaseError.ts"
import * as Rows from "./Rows.ts"

const keyObject = Rows.object(
  Rows.keys,
  "k",
  "'lastUsedAt', (SELECT u.used_at FROM key_usage u WHERE u.key_id = k.id)",
)

const isTaken = (label: string, keys: ReadonlyArray<ApiKey>): boolean =>
  keys.some((key) => Rows.folded(key.label) === Rows.folded(label))

/** The account's live keys, in a transaction in which nobody else changes them. */
const lockedKeys = Effect.fnUntraced(function* (sql: SqlClient, account: AccountId) {
  const accounts = yield* sql`SELECT 1 FROM accounts WHERE id = ${account} FOR UPDATE`
  if (accounts.length === 0) return undefined
  const rows = yield* sql<{ readonly key: ApiKey }>`
    SELECT ${sql.literal(keyObject)} AS key FROM api_keys k
    WHERE k.account_id = ${account} AND ${sql.literal(isLive("clock_timestamp()"))}`
  return rows.map(({ key }) => key)
})

const insert = Effect.fnUntraced(function* (sql: SqlClient, key: ApiKey, hash: Uint8Array) {
  const { accountId, label } = key
  const live = yield* lockedKeys(sql, accountId)
  if (live === undefined) return yield* new AccountNotFound({ accountId })
  if (isTaken(label, live)) return yield* new LabelTaken({ label })
  if (live.length >= liveKeysPerAccount) {
    return yield* new TooManyKeys({ limit: liveKeysPerAccount })
  }
  yield* sql.unsafe(
    `INSERT INTO api_keys (${Rows.names(Rows.keys)})
     SELECT ${Rows.names(Rows.keys)} FROM ${Rows.source(Rows.keys, "k", 1)}`,
    Rows.parameters(Rows.keys, [{ ...key, hash }]),
  )
})

const update = Effect.fnUntraced(function* (
  sql: SqlClient,
  account: AccountId,
  id: KeyId,
  { label, perDay, perMinute }: KeyChange,
) {
  const own = sql`k.id = ${Rows.text(id)} AND k.account_id = ${account}`
  const live = (yield* lockedKeys(sql, account)) ?? []
  const rows = yield* sql<{ readonly key: ApiKey }>`
    UPDATE api_keys k SET
      label = coalesce(${label === undefined ? null : Rows.text(label)}, label),
      per_minute = coalesce(${perMinute ?? null}::int4, per_minute),
      per_day = coalesce(${perDay ?? null}::int4, per_day)
    WHERE ${own} RETURNING ${sql.literal(keyObject)} AS key`
  if (rows.length === 1 && label !== undefined) {
    const others = live.filter((key) => key.id !== id)
    if (isTaken(label, others)) return yield* new LabelTaken({ label })
  }
  return Option.fromUndefinedOr(rows[0]?.key)
})

const revoke = (sql: SqlClient, account: AccountId, id: KeyId) =>
  Effect.map(
    sql<{ readonly key: ApiKey }>`
      UPDATE api_keys k
      SET revoked_at = coalesce(revoked_at, ${sql.literal(millisOf("clock_timestamp()"))})
      WHERE k.id = ${Rows.text(id)} AND k.account_id = ${account}
      RETURNING ${sql.literal(keyObject)} AS key`,
    (rows) => Option.fromUndefinedOr(rows[0]?.key),
  )

const list = (sql: SqlClient, account: AccountId) =>
  Effect.map(
    sql<{ readonly key: ApiKey }>`
      SELECT ${sql.literal(keyObject)} AS key FROM api_keys k
      WHERE k.account_id = ${account} ORDER BY k.created_at, k.id`,
    (rows) => rows.map(({ key }) => key),
  )

const insertAccount = (sql: SqlClient, account: Account) =>
  Effect.asVoid(
    sql.unsafe(
      `INSERT INTO accounts (${Rows.names(Rows.accounts)})
       SELECT ${Rows.names(Rows.accounts)} FROM ${Rows.source(Rows.accounts, "a", 1)}`,
      Rows.parameters(Rows.accounts, [account]),
    ),
  )

const findAccount = (sql: SqlClient, id: AccountId) =>
  Effect.map(
    sql<{ readonly account: Account }>`
      SELECT ${sql.literal(Rows.object(Rows.accounts, "a"))} AS account
      FROM accounts a WHERE a.id = ${Rows.text(id)}`,
    (rows) => Option.fromUndefinedOr(rows[0]?.account),
  )

const updateAccount = (sql: SqlClient, id: AccountId, { runsAtOnce }: AccountChange) =>
  Effect.map(
    sql<{ readonly account: Account }>`
      UPDATE accounts a SET runs_at_once = ${runsAtOnce}::int4 WHERE a.id = ${Rows.text(id)}
      RETURNING ${sql.literal(Rows.object(Rows.accounts, "a"))} AS account`,
    (rows) => Option.fromUndefinedOr(rows[0]?.account),
  )

const listAccounts = (sql: SqlClient) =>
  Effect.map(
    sql<{ readonly account: Account }>`
      SELECT ${sql.literal(Rows.object(Rows.accounts, "a"))} AS account
      FROM accounts a ORDER BY a.created_at, a.id`,
    (rows) => rows.map(({ account }) => account),
  )

const make = Effect.gen(function* () {
  const sql = (yield* SqlClient).withoutTransforms()
  const admit = yield* Admission.make(sql)
  return KeyStore.of({
    admit: (hash, ahead) => orStorageError("KeyStore.admit")(admit(hash, ahead)),
    insert: (key, hash) =>
      orStorageError("KeyStore.insert")(sql.withTransaction(insert(sql, key, hash))),
    update: (account, id, change) =>
      orStorageError("KeyStore.update")(sql.withTransaction(update(sql, account, id, change))),
    revoke: (account, id) => orStorageError("KeyStore.revoke")(revoke(sql, account, id)),
    list: (account) => orStorageError("KeyStore.list")(list(sql, account)),
    insertAccount: (account) =>
      orStorageError("KeyStore.insertAccount")(insertAccount(sql, account)),
    findAccount: (id) => orStorageError("KeyStore.findAccount")(findAccount(sql, id)),
    updateAccount: (id, change) =>
      orStorageError("KeyStore.updateAccount")(updateAccount(sql, id, change)),
    listAccounts: orStorageError("KeyStore.listAccounts")(listAccounts(sql)),
  })
})

/** The key store over an existing client; the tables must be there. */
export const layer: Layer.Layer<KeyStore, never, SqlClient> = Layer.effect(KeyStore, make)
