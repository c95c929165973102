/**
 * The store of secrets on Postgres.
 *
 * Guarantees: only one transaction at a time adds secrets to an account, so it never has too many.
 * Secrets that arrive meanwhile share the next one, so they hold no connections while they wait.
 * Leaves out: sealing.
 */
import { PgTypes } from "@effect/sql-pg"
import type { AccountId } from "@millrace/core/domain/Id"
import { secretsPerAccount, secretUsersListed } from "@millrace/core/domain/Limits"
import type { Secret } from "@millrace/core/domain/Secret"
import type { SealedSecret, SecretUser } from "@millrace/core/ports/SecretStore"
import { SecretStore, TooManySecrets } from "@millrace/core/ports/SecretStore"
import { Effect, Layer, Option, Result } from "effect"
import { SqlClient } from "effect/sql/SqlClient"
import { millisOf } from "./DatabaseClock.ts"
import { databasePort } from "./DatabaseError.ts"
import type { Table } from "./Rows.ts"
import * as Rows from "./Rows.ts"
import { gather, optional, values } from "./Statements.ts"

const shown: Table<Secret> = [
  ...Rows.texts<Secret>("name"),
  ...Rows.columns("json")<Secret>("hosts"),
  ...Rows.int8s<Secret>("createdAt", "updatedAt", "lastUsedAt"),
]

const columns: Table<SealedSecret> = [
  ...shown,
  ...Rows.texts<SealedSecret>("accountId", "sealed"),
] as Table<SealedSecret>

const shownObject = Rows.object(shown, "s")
const storedObject = Rows.object(columns, "s")

const putStatement = `
WITH put AS (
  ${Rows.insert("secrets", columns)}
  ON CONFLICT (account_id, name) DO UPDATE SET hosts = excluded.hosts, sealed = excluded.sealed,
    updated_at = excluded.updated_at
  RETURNING *
)
SELECT ${storedObject} AS value FROM put s`

/** In the same order everywhere, so two transactions never wait for each other. */
const lockStatement = `SELECT pg_advisory_xact_lock(hashtext('millrace_secrets'), h) FROM (
  SELECT DISTINCT hashtext(a) AS h FROM unnest($1::text[]) a ORDER BY h
) hashes`

const namesStatement = `SELECT json_build_array(account_id, name) AS value FROM secrets
  WHERE account_id = ANY($1)`

const listStatement = `SELECT ${shownObject} AS value FROM secrets s
  WHERE account_id = $1 ORDER BY name`

const findStatement = `SELECT ${storedObject} AS value FROM secrets s
  WHERE account_id = $1 AND name = ANY($2)`

const removeStatement = `DELETE FROM secrets WHERE account_id = $1 AND name = $2
  RETURNING name AS value`

const markStatement = `UPDATE secrets SET last_used_at = ${millisOf("clock_timestamp()")}
  WHERE account_id = $1 AND name = ANY($2)`

const textsOf = (texts: ReadonlyArray<string>) =>
  Result.getOrThrow(PgTypes.array(texts.map(Rows.text), PgTypes.OID.text))

/** Reads all drawings of the account. Operators ask this, and not often. */
const usersStatement = `
SELECT json_build_object('workflowId', w.id, 'workflowName', w.name, 'names', n.names) AS value
FROM workflows w LEFT JOIN workflow_versions v ON v.workflow_id = w.id AND v.number = w.published
CROSS JOIN LATERAL (
  SELECT json_agg(DISTINCT m[1] COLLATE "C" ORDER BY m[1] COLLATE "C") AS names
  FROM regexp_matches(concat(w.nodes::text, ' ', v.nodes::text),
    'secrets\\.([A-Za-z_][A-Za-z0-9_]*)', 'g') m
) n
WHERE w.account_id = $1 AND n.names IS NOT NULL ORDER BY w.id LIMIT ${secretUsersListed}`

/** The part of a sealed text that names the key. */
const keyName = `regexp_replace(sealed, '\\.[^.]*$', '')`

/** Reads all secrets. A server does so once, when it starts. */
const ofEachKeyStatement = `
SELECT ${storedObject} AS value FROM (
  SELECT DISTINCT ON (${keyName}) * FROM secrets ORDER BY ${keyName}
) s`

const otherwiseStatement = `SELECT ${storedObject} AS value FROM secrets s
  WHERE ${keyName} <> $1 ORDER BY account_id, name LIMIT $2`

const keyOf = ({ accountId, name }: Pick<SealedSecret, "accountId" | "name">) =>
  `${accountId} ${name}`

/** Stores secrets in their order; `undefined` for one that its account has no place for. */
const putAll = Effect.fnUntraced(function* (sql: SqlClient, secrets: ReadonlyArray<SealedSecret>) {
  const accounts = textsOf([...new Set(secrets.map(({ accountId }) => accountId))])
  yield* sql.unsafe(lockStatement, [accounts])
  const taken = yield* values<readonly [AccountId, string]>(sql, namesStatement, [accounts])
  const known = new Set(taken.map(([accountId, name]) => keyOf({ accountId, name })))
  const counts = new Map<AccountId, number>()
  for (const [accountId] of taken) counts.set(accountId, (counts.get(accountId) ?? 0) + 1)
  const last = new Map<string, SealedSecret>()
  for (const secret of secrets) {
    const key = keyOf(secret)
    const count = counts.get(secret.accountId) ?? 0
    if (!known.has(key)) {
      if (count >= secretsPerAccount) continue
      counts.set(secret.accountId, count + 1)
      known.add(key)
    }
    // Of a new secret that is replaced at once, the time at which it was made stays.
    last.set(key, { ...secret, createdAt: last.get(key)?.createdAt ?? secret.createdAt })
  }
  const stored = yield* values<SealedSecret>(
    sql,
    putStatement,
    Rows.parameters(columns, [...last.values()]),
  )
  const byKey = new Map(stored.map((each) => [keyOf(each), each]))
  return secrets.map((secret): Secret | undefined => {
    const found = byKey.get(keyOf(secret))
    if (found === undefined) return undefined
    const { createdAt, lastUsedAt, name } = found
    const { hosts, updatedAt } = secret
    return { name, hosts, createdAt, updatedAt, lastUsedAt }
  })
})

const make = Effect.gen(function* () {
  const sql = (yield* SqlClient).withoutTransforms()
  const put = yield* gather<SealedSecret, Secret | undefined>(sql, {
    keyOf: () => undefined,
    exclusivityKeyOf: ({ accountId }) => accountId,
    flush: (secrets) => sql.withTransaction(putAll(sql, secrets)),
    maxMembers: secretsPerAccount,
  })
  return databasePort<SecretStore["Service"]>("SecretStore", {
    put: (secret) =>
      Effect.flatMap(put(secret), (made) =>
        made === undefined
          ? Effect.fail(new TooManySecrets({ limit: secretsPerAccount }))
          : Effect.succeed(made),
      ),
    remove: (account, name) =>
      Effect.map(
        optional<string>(sql, removeStatement, [Rows.text(account), Rows.text(name)]),
        Option.isSome,
      ),
    list: (account: AccountId) => values<Secret>(sql, listStatement, [Rows.text(account)]),
    find: (account, names) => values<SealedSecret>(sql, findStatement, [account, textsOf(names)]),
    markUsed: (account, names) =>
      Effect.asVoid(sql.unsafe(markStatement, [account, textsOf(names)])),
    users: (account) => values<SecretUser>(sql, usersStatement, [account]),
    secretOfEachKey: values<SealedSecret>(sql, ofEachKeyStatement),
    sealedOtherwise: (name, limit) => values<SealedSecret>(sql, otherwiseStatement, [name, limit]),
    reseal: ({ accountId, name, sealed }, next) =>
      Effect.asVoid(
        sql`UPDATE secrets SET sealed = ${next}
          WHERE account_id = ${accountId} AND name = ${name} AND sealed = ${sealed}`,
      ),
  })
})

/** The store of secrets over an existing client. The tables must exist. */
export const layer: Layer.Layer<SecretStore, never, SqlClient> = Layer.effect(SecretStore, make)
