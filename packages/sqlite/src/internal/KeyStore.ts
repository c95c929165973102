/**
 * The key store.
 *
 * Guarantees: exactly as many requests are admitted as a key may make, because each write is alone;
 * windows and expiry follow Effect's clock. Leaves out: the rules of windows; see
 * `core/domain/Quota`.
 */
import type { Account } from "@millrace/core/domain/Account"
import type { ApiKey } from "@millrace/core/domain/ApiKey"
import { hasLabel, isLive } from "@millrace/core/domain/ApiKey"
import type { AccountId, KeyId, WorkflowId } from "@millrace/core/domain/Id"
import { liveKeysPerAccount } from "@millrace/core/domain/Limits"
import type { QuotaUsage } from "@millrace/core/domain/Quota"
import * as Quota from "@millrace/core/domain/Quota"
import type { Timestamp } from "@millrace/core/domain/Timestamp"
import type { AccountChange, Admission, KeyChange } from "@millrace/core/ports/KeyStore"
import { AccountNotFound, KeyStore, LabelTaken, TooManyKeys } from "@millrace/core/ports/KeyStore"
import { Effect, Layer, Option } from "effect"
import type { Connection } from "./SqliteConnection.ts"
import { Database } from "./SqliteConnection.ts"
import * as Workflows from "./WorkflowRows.ts"

interface KeyRow {
  readonly key: string
  readonly last_used_at: number | null
}

const keyOf = ({ key, last_used_at: lastUsedAt }: KeyRow): ApiKey => ({
  ...(JSON.parse(key) as ApiKey),
  lastUsedAt,
})

interface UsedRow extends KeyRow {
  readonly minute: number
  readonly minute_used: number
  readonly day: number
  readonly day_used: number
}

const usageOf = (row: UsedRow): QuotaUsage => ({
  minute: row.minute,
  minuteUsed: row.minute_used,
  day: row.day,
  dayUsed: row.day_used,
})

const admit = (
  db: Connection,
  hash: Uint8Array,
  ahead: WorkflowId | undefined,
  now: Timestamp,
): Admission => {
  const row = db
    .query<UsedRow>(
      `SELECT key, last_used_at, minute, minute_used, day, day_used FROM api_keys WHERE hash = ?`,
      hash,
    )
    .first()
  const key = row === undefined ? undefined : keyOf(row)
  if (row === undefined || key === undefined || !isLive(key, now)) return { _tag: "Refused" }
  const { admitted, usage, window } = Quota.take(key, usageOf(row), now)
  if (!admitted) {
    return { _tag: "Limited", window, retryAfterMillis: Math.max(0, window.resetAt - now) }
  }
  const { accountId, id: keyId } = key
  db.run(
    `UPDATE api_keys SET last_used_at = ?, minute = ?, minute_used = ?, day = ?, day_used = ?
     WHERE id = ?`,
    now,
    usage.minute,
    usage.minuteUsed,
    usage.day,
    usage.dayUsed,
    keyId,
  )
  const admission = { _tag: "Admitted", accountId, keyId, window } as const
  if (ahead === undefined) return admission
  return { ...admission, workflow: Option.fromUndefinedOr(Workflows.find(db, accountId, ahead)) }
}

const list = (db: Connection, account: AccountId): ReadonlyArray<ApiKey> =>
  db
    .query<KeyRow>(
      `SELECT key, last_used_at FROM api_keys WHERE account_id = ? ORDER BY created_at, id`,
      account,
    )
    .all()
    .map(keyOf)

const live = (db: Connection, account: AccountId, now: Timestamp): ReadonlyArray<ApiKey> =>
  list(db, account).filter((key) => isLive(key, now))

const find = (db: Connection, account: AccountId, id: KeyId): ApiKey | undefined => {
  const row = db
    .query<KeyRow>(
      `SELECT key, last_used_at FROM api_keys WHERE id = ? AND account_id = ?`,
      id,
      account,
    )
    .first()
  return row === undefined ? undefined : keyOf(row)
}

/** Stores a key, or returns why not. */
const insert = (db: Connection, key: ApiKey, hash: Uint8Array, now: Timestamp) => {
  const { accountId, createdAt, id, label, lastUsedAt } = key
  if (findAccount(db, accountId) === undefined) return new AccountNotFound({ accountId })
  const known = live(db, accountId, now)
  if (hasLabel(known, label)) return new LabelTaken({ label })
  if (known.length >= liveKeysPerAccount) return new TooManyKeys({ limit: liveKeysPerAccount })
  db.run(
    `INSERT INTO api_keys (
       id, account_id, hash, created_at, last_used_at, minute, minute_used, day, day_used, key
     ) VALUES (?, ?, ?, ?, ?, 0, 0, 0, 0, ?)`,
    id,
    accountId,
    hash,
    createdAt,
    lastUsedAt,
    JSON.stringify(key),
  )
  return undefined
}

const store = (db: Connection, key: ApiKey): ApiKey => {
  db.run(`UPDATE api_keys SET key = ? WHERE id = ?`, JSON.stringify(key), key.id)
  return key
}

const update = (
  db: Connection,
  account: AccountId,
  id: KeyId,
  { label, perDay, perMinute }: KeyChange,
  now: Timestamp,
) => {
  const key = find(db, account, id)
  if (key === undefined) return undefined
  const others = live(db, account, now).filter((each) => each.id !== id)
  if (label !== undefined && hasLabel(others, label)) return new LabelTaken({ label })
  return store(db, {
    ...key,
    label: label ?? key.label,
    perMinute: perMinute ?? key.perMinute,
    perDay: perDay ?? key.perDay,
  })
}

const revoke = (db: Connection, account: AccountId, id: KeyId, now: Timestamp) => {
  const key = find(db, account, id)
  return key === undefined ? undefined : store(db, { ...key, revokedAt: key.revokedAt ?? now })
}

interface AccountRow {
  readonly account: string
}

const accountOf = ({ account }: AccountRow): Account => JSON.parse(account) as Account

const findAccount = (db: Connection, id: AccountId): Account | undefined => {
  const row = db.query<AccountRow>(`SELECT account FROM accounts WHERE id = ?`, id).first()
  return row === undefined ? undefined : accountOf(row)
}

const insertAccount = (db: Connection, account: Account): void => {
  const { createdAt, id, runsAtOnce } = account
  db.run(
    `INSERT INTO accounts (id, created_at, runs_at_once, account) VALUES (?, ?, ?, ?)`,
    id,
    createdAt,
    runsAtOnce,
    JSON.stringify(account),
  )
}

const updateAccount = (db: Connection, id: AccountId, { runsAtOnce }: AccountChange) => {
  const known = findAccount(db, id)
  if (known === undefined) return undefined
  const next = { ...known, runsAtOnce }
  db.run(
    `UPDATE accounts SET runs_at_once = ?, account = ? WHERE id = ?`,
    runsAtOnce,
    JSON.stringify(next),
    id,
  )
  return next
}

const make = (db: Connection): KeyStore["Service"] => {
  const write = <A>(method: string, step: (now: Timestamp) => A) =>
    db.write(`KeyStore.${method}`, step)
  const read = <A>(method: string, step: () => A) => db.read(`KeyStore.${method}`, step)
  return KeyStore.of({
    admit: (hash, ahead) => write("admit", (now) => admit(db, hash, ahead, now)),
    insert: (key, hash) =>
      Effect.flatMap(
        write("insert", (now) => insert(db, key, hash, now)),
        (problem) => (problem === undefined ? Effect.void : Effect.fail(problem)),
      ),
    update: (account, id, change) =>
      Effect.flatMap(
        write("update", (now) => update(db, account, id, change, now)),
        (updated) =>
          updated instanceof LabelTaken
            ? Effect.fail(updated)
            : Effect.succeed(Option.fromUndefinedOr(updated)),
      ),
    revoke: (account, id) =>
      write("revoke", (now) => Option.fromUndefinedOr(revoke(db, account, id, now))),
    list: (account) => read("list", () => list(db, account)),
    insertAccount: (account) => write("insertAccount", () => insertAccount(db, account)),
    findAccount: (id) => read("findAccount", () => Option.fromUndefinedOr(findAccount(db, id))),
    updateAccount: (id, change) =>
      write("updateAccount", () => Option.fromUndefinedOr(updateAccount(db, id, change))),
    listAccounts: read("listAccounts", () =>
      db
        .query<AccountRow>(`SELECT account FROM accounts ORDER BY created_at, id`)
        .all()
        .map(accountOf),
    ),
  })
}

/** The key store of a database. */
export const layer: Layer.Layer<KeyStore, never, Database> = Layer.effect(
  KeyStore,
  Effect.map(Database, make),
)
