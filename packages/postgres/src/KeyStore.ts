/**
 * The key store on Postgres. Windows and expiry follow the database's clock.
 *
 * Guarantees: admission is one statement, exact over any number of servers; what depends on an
 * account's other keys happens in a transaction that holds the account's row. Leaves out: secrets.
 */
import type { Account } from "@millrace/core/domain/Account"
import type { ApiKey } from "@millrace/core/domain/ApiKey"
import { liveKeysPerAccount } from "@millrace/core/domain/ApiKey"
import type { AccountId, KeyId } from "@millrace/core/domain/Id"
import type { Quota, Usage } from "@millrace/core/domain/Quota"
import { windowOf } from "@millrace/core/domain/Quota"
import type { Timestamp } from "@millrace/core/domain/Timestamp"
import type { Admission, KeyChange } from "@millrace/core/ports/KeyStore"
import { AccountNotFound, KeyStore, LabelTaken, TooManyKeys } from "@millrace/core/ports/KeyStore"
import { Context, Effect, Layer, Option } from "effect"
import { SqlClient } from "effect/sql/SqlClient"
import { orStorageError } from "./Failure.ts"
import * as Rows from "./Rows.ts"

const nowMillis = (clock: string): string => `floor(extract(epoch FROM ${clock}) * 1000)::int8`

/** `now()` is when the transaction began; behind a lock only the clock itself knows the time. */
const isLive = (clock: string): string =>
  `k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > ${nowMillis(clock)})`

const keyObject = Rows.object(Rows.keys, "k")

/**
 * Takes one request out of both windows in one upsert, as `Quota.take` does. Losing the last
 * requests counted before a crash of the server harms nobody, so the disk is not waited for.
 */
const admitStatement = `
WITH calm AS MATERIALIZED (
  SELECT CASE WHEN $2 THEN set_config('synchronous_commit', 'off', true) END
), key AS MATERIALIZED (
  SELECT k.id, k.account_id, k.per_minute, k.per_day, n.millis
  FROM api_keys k, calm, (SELECT ${nowMillis("now()")} AS millis) n
  WHERE k.hash = $1 AND ${isLive("now()")}
), used AS (
  INSERT INTO key_usage AS u (key_id, minute, minute_used, day, day_used, admitted)
  SELECT id, millis / 60000, 1, millis / 86400000, 1, true FROM key
  ON CONFLICT (key_id) DO UPDATE SET (minute, minute_used, day, day_used, admitted) = (
    SELECT t.minute, t.minute_used + t.fits::int, t.day, t.day_used + t.fits::int, t.fits
    FROM (
      SELECT s.*, s.minute_used < key.per_minute AND s.day_used < key.per_day AS fits
      FROM key, (
        SELECT greatest(u.minute, excluded.minute) AS minute,
          CASE WHEN excluded.minute > u.minute THEN 0 ELSE u.minute_used END AS minute_used,
          greatest(u.day, excluded.day) AS day,
          CASE WHEN excluded.day > u.day THEN 0 ELSE u.day_used END AS day_used
      ) s
    ) t
  )
  RETURNING minute, minute_used, day, day_used, admitted
)
SELECT json_build_object(
  'keyId', key.id, 'accountId', key.account_id, 'now', key.millis, 'admitted', used.admitted,
  'quota', json_build_object('perMinute', key.per_minute, 'perDay', key.per_day),
  'usage', json_build_object('minute', used.minute, 'minuteUsed', used.minute_used,
    'day', used.day, 'dayUsed', used.day_used)
) AS answer FROM key, used`

interface Answer {
  readonly keyId: KeyId
  readonly accountId: AccountId
  readonly now: Timestamp
  readonly admitted: boolean
  readonly quota: Quota
  readonly usage: Usage
}

const admissionOf = (answer: Answer | undefined): Admission => {
  if (answer === undefined) return { _tag: "Refused" }
  const { accountId, admitted, keyId, now, quota, usage } = answer
  const window = windowOf(quota, usage, admitted)
  return admitted
    ? { _tag: "Admitted", accountId, keyId, window }
    : { _tag: "Limited", window, retryAfterMillis: Math.max(0, window.resetAt - now) }
}

const admit = (sql: SqlClient, hash: Uint8Array) =>
  Effect.contextWith((context: Context.Context<never>) => {
    // Within a transaction of the caller the setting would hold for the caller's writes, too.
    const isAlone = Option.isNone(Context.getOption(context, sql.transactionService))
    return Effect.map(
      sql.unsafe<{ readonly answer: Answer }>(admitStatement, [hash, isAlone]),
      (rows) => admissionOf(rows[0]?.answer),
    )
  })

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
      SET revoked_at = coalesce(revoked_at, ${sql.literal(nowMillis("clock_timestamp()"))})
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

const listAccounts = (sql: SqlClient) =>
  Effect.map(
    sql<{ readonly account: Account }>`
      SELECT ${sql.literal(Rows.object(Rows.accounts, "a"))} AS account
      FROM accounts a ORDER BY a.created_at, a.id`,
    (rows) => rows.map(({ account }) => account),
  )

const make = Effect.gen(function* () {
  const sql = (yield* SqlClient).withoutTransforms()
  return KeyStore.of({
    admit: (hash) => orStorageError("KeyStore.admit")(admit(sql, hash)),
    insert: (key, hash) =>
      orStorageError("KeyStore.insert")(sql.withTransaction(insert(sql, key, hash))),
    update: (account, id, change) =>
      orStorageError("KeyStore.update")(sql.withTransaction(update(sql, account, id, change))),
    revoke: (account, id) => orStorageError("KeyStore.revoke")(revoke(sql, account, id)),
    list: (account) => orStorageError("KeyStore.list")(list(sql, account)),
    insertAccount: (account) =>
      orStorageError("KeyStore.insertAccount")(insertAccount(sql, account)),
    listAccounts: orStorageError("KeyStore.listAccounts")(listAccounts(sql)),
  })
})

/** The key store over an existing client; the tables must be there. */
export const layer: Layer.Layer<KeyStore, never, SqlClient> = Layer.effect(KeyStore, make)
