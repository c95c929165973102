/**
 * The key store on Postgres. Windows and expiry follow the database's clock.
 *
 * Guarantees: a change that depends on the account's other keys is a transaction that locks the
 * account's row. Leaves out: secrets, and admitting requests; see `Admission`.
 */
import type { Account } from "@millrace/core/domain/Account"
import type { ApiKey } from "@millrace/core/domain/ApiKey"
import type { AccountId, KeyId } from "@millrace/core/domain/Id"
import { liveKeysPerAccount } from "@millrace/core/domain/Limits"
import type { KeyChange } from "@millrace/core/ports/KeyStore"
import { AccountNotFound, KeyStore, LabelTaken, TooManyKeys } from "@millrace/core/ports/KeyStore"
import { Effect, Layer, Option } from "effect"
import { SqlClient } from "effect/sql/SqlClient"
import { millisOf } from "./DatabaseClock.ts"
import * as Admission from "./Admission.ts"
import { isLive } from "./Admission.ts"
import { databasePort } from "./DatabaseError.ts"
import * as Rows from "./Rows.ts"
import { optional, values } from "./Statements.ts"

const keyObject = Rows.object(
  Rows.keys,
  "k",
  `(SELECT u.used_at FROM key_usage u WHERE u.key_id = k.id) AS "lastUsedAt"`,
)

const isTaken = (label: string, keys: ReadonlyArray<ApiKey>): boolean =>
  keys.some((key) => Rows.folded(key.label) === Rows.folded(label))

const accountObject = Rows.object(Rows.accounts, "a")

const liveKeysStatement = `
SELECT ${keyObject} AS value FROM api_keys k
WHERE k.account_id = $1 AND ${isLive("clock_timestamp()")}`

const insertStatement = Rows.insert("api_keys", Rows.keys)

const updateStatement = `
UPDATE api_keys k SET label = coalesce($3, label),
  per_minute = coalesce($4::int4, per_minute), per_day = coalesce($5::int4, per_day)
WHERE k.id = $1 AND k.account_id = $2 RETURNING ${keyObject} AS value`

const revokeStatement = `
UPDATE api_keys k SET revoked_at = coalesce(revoked_at, ${millisOf("clock_timestamp()")})
WHERE k.id = $1 AND k.account_id = $2 RETURNING ${keyObject} AS value`

const listStatement = `
SELECT ${keyObject} AS value FROM api_keys k WHERE k.account_id = $1 ORDER BY k.created_at, k.id`

const insertAccountStatement = Rows.insert("accounts", Rows.accounts)

const findAccountStatement = `SELECT ${accountObject} AS value FROM accounts a WHERE a.id = $1`

const updateAccountStatement = `
UPDATE accounts a SET runs_at_once = $2::int4 WHERE a.id = $1 RETURNING ${accountObject} AS value`

const listAccountsStatement = `
SELECT ${accountObject} AS value FROM accounts a ORDER BY a.created_at, a.id`

/** Locks the account, and reads its live keys. `undefined` if there is no account. */
const lockedKeys = Effect.fnUntraced(function* (sql: SqlClient, account: AccountId) {
  const accounts = yield* sql`SELECT 1 FROM accounts WHERE id = ${account} FOR UPDATE`
  return accounts.length === 0
    ? undefined
    : yield* values<ApiKey>(sql, liveKeysStatement, [account])
})

const insert = Effect.fnUntraced(function* (sql: SqlClient, key: ApiKey, hash: Uint8Array) {
  const { accountId, label } = key
  const live = yield* lockedKeys(sql, accountId)
  if (live === undefined) return yield* new AccountNotFound({ accountId })
  if (isTaken(label, live)) return yield* new LabelTaken({ label })
  if (live.length >= liveKeysPerAccount) {
    return yield* new TooManyKeys({ limit: liveKeysPerAccount })
  }
  yield* sql.unsafe(insertStatement, Rows.parameters(Rows.keys, [{ ...key, hash }]))
})

const update = Effect.fnUntraced(function* (
  sql: SqlClient,
  account: AccountId,
  id: KeyId,
  { label, perDay, perMinute }: KeyChange,
) {
  const live = (yield* lockedKeys(sql, account)) ?? []
  const text = label === undefined ? null : Rows.text(label)
  const parameters = [Rows.text(id), account, text, perMinute ?? null, perDay ?? null]
  const updated = yield* optional<ApiKey>(sql, updateStatement, parameters)
  if (Option.isSome(updated) && label !== undefined) {
    const others = live.filter((key) => key.id !== id)
    if (isTaken(label, others)) return yield* new LabelTaken({ label })
  }
  return updated
})

const make = Effect.gen(function* () {
  const sql = (yield* SqlClient).withoutTransforms()
  return databasePort<KeyStore["Service"]>("KeyStore", {
    admit: yield* Admission.make(sql),
    insert: (key, hash) => sql.withTransaction(insert(sql, key, hash)),
    update: (account, id, change) => sql.withTransaction(update(sql, account, id, change)),
    revoke: (account, id) => optional<ApiKey>(sql, revokeStatement, [Rows.text(id), account]),
    list: (account) => values<ApiKey>(sql, listStatement, [account]),
    insertAccount: (account) =>
      Effect.asVoid(sql.unsafe(insertAccountStatement, Rows.parameters(Rows.accounts, [account]))),
    findAccount: (id) => optional<Account>(sql, findAccountStatement, [Rows.text(id)]),
    updateAccount: (id, { runsAtOnce }) =>
      optional<Account>(sql, updateAccountStatement, [Rows.text(id), runsAtOnce]),
    listAccounts: values<Account>(sql, listAccountsStatement),
  })
})

/** The key store over an existing client. The tables must exist. */
export const layer: Layer.Layer<KeyStore, never, SqlClient> = Layer.effect(KeyStore, make)
