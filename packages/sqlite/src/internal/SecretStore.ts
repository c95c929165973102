/**
 * The store of secrets.
 *
 * Guarantees: an account never has too many, because each write is alone. Leaves out: sealing.
 */
import type { AccountId } from "@millrace/core/domain/Id"
import { secretsPerAccount, secretUsersListed } from "@millrace/core/domain/Limits"
import type { Secret } from "@millrace/core/domain/Secret"
import { sealedBy, secretsNamedBy } from "@millrace/core/domain/Secret"
import type { Timestamp } from "@millrace/core/domain/Timestamp"
import type { SealedSecret, SecretUser } from "@millrace/core/ports/SecretStore"
import { SecretStore, TooManySecrets } from "@millrace/core/ports/SecretStore"
import { Effect, Layer } from "effect"
import type { Connection } from "./SqliteConnection.ts"
import { Database } from "./SqliteConnection.ts"
import * as Workflows from "./WorkflowRows.ts"
import * as WorkflowVersions from "./WorkflowVersions.ts"

interface Row {
  readonly account_id: AccountId
  readonly sealed: string
  readonly last_used_at: number | null
  readonly secret: string
}

const columns = "account_id, sealed, last_used_at, secret"

/** The part of a secret that is in a JSON text. */
type Content = Omit<Secret, "lastUsedAt">

const secretOf = ({ last_used_at: lastUsedAt, secret }: Row): Secret => ({
  ...(JSON.parse(secret) as Content),
  lastUsedAt,
})

const sealedOf = (row: Row): SealedSecret => ({
  ...secretOf(row),
  accountId: row.account_id,
  sealed: row.sealed,
})

const rowOf = (db: Connection, account: AccountId, name: string): Row | undefined =>
  db
    .query<Row>(`SELECT ${columns} FROM secrets WHERE account_id = ? AND name = ?`, account, name)
    .first()

const put = (db: Connection, given: SealedSecret): Secret | TooManySecrets => {
  const { accountId, hosts, name, sealed, updatedAt } = given
  const known = rowOf(db, accountId, name)
  const { count } = db
    .query<{ readonly count: number }>(
      `SELECT count(*) AS count FROM secrets WHERE account_id = ?`,
      accountId,
    )
    .first()!
  if (known === undefined && count >= secretsPerAccount) {
    return new TooManySecrets({ limit: secretsPerAccount })
  }
  const { createdAt, lastUsedAt } = known === undefined ? given : secretOf(known)
  const content: Content = { name, hosts, createdAt, updatedAt }
  db.run(
    `INSERT OR REPLACE INTO secrets (account_id, name, sealed, sealed_by, last_used_at, secret)
     VALUES (?, ?, ?, ?, ?, ?)`,
    accountId,
    name,
    sealed,
    sealedBy(sealed),
    lastUsedAt,
    JSON.stringify(content),
  )
  return { ...content, lastUsedAt }
}

const list = (db: Connection, account: AccountId): ReadonlyArray<Secret> =>
  db
    .query<Row>(`SELECT ${columns} FROM secrets WHERE account_id = ? ORDER BY name`, account)
    .all()
    .map(secretOf)

const markUsed = (
  db: Connection,
  account: AccountId,
  names: ReadonlyArray<string>,
  now: Timestamp,
): void => {
  for (const name of names) {
    db.run(
      `UPDATE secrets SET last_used_at = ? WHERE account_id = ? AND name = ?`,
      now,
      account,
      name,
    )
  }
}

const users = (db: Connection, account: AccountId): ReadonlyArray<SecretUser> =>
  Workflows.all(db, account)
    .flatMap(({ id, name, nodes }) => {
      const published = WorkflowVersions.current(db, account, id)?.nodes ?? []
      const names = secretsNamedBy([...nodes, ...published])
      return names.length === 0 ? [] : [{ workflowId: id, workflowName: name, names }]
    })
    .slice(0, secretUsersListed)

const make = (db: Connection): SecretStore["Service"] => {
  const write = <A>(method: string, step: (now: Timestamp) => A) =>
    db.write(`SecretStore.${method}`, step)
  const read = <A>(method: string, step: () => A) => db.read(`SecretStore.${method}`, step)
  return SecretStore.of({
    put: (secret) =>
      Effect.flatMap(
        write("put", () => put(db, secret)),
        (made) => (made instanceof TooManySecrets ? Effect.fail(made) : Effect.succeed(made)),
      ),
    remove: (account, name) =>
      write(
        "remove",
        () => db.run(`DELETE FROM secrets WHERE account_id = ? AND name = ?`, account, name) > 0,
      ),
    list: (account) => read("list", () => list(db, account)),
    find: (account, names) =>
      read("find", () =>
        [...new Set(names)].flatMap((name) => {
          const row = rowOf(db, account, name)
          return row === undefined ? [] : [sealedOf(row)]
        }),
      ),
    markUsed: (account, names) => write("markUsed", (now) => markUsed(db, account, names, now)),
    users: (account) => read("users", () => users(db, account)),
    secretOfEachKey: read("secretOfEachKey", () =>
      db.query<Row>(`SELECT ${columns} FROM secrets GROUP BY sealed_by`).all().map(sealedOf),
    ),
    sealedOtherwise: (keyName, limit) =>
      read("sealedOtherwise", () =>
        db
          .query<Row>(
            `SELECT ${columns} FROM secrets WHERE sealed_by <> ? ORDER BY account_id, name LIMIT ?`,
            keyName,
            limit,
          )
          .all()
          .map(sealedOf),
      ),
    reseal: ({ accountId, name, sealed }, next) =>
      write("reseal", () => {
        db.run(
          `UPDATE secrets SET sealed = ?, sealed_by = ?
           WHERE account_id = ? AND name = ? AND sealed = ?`,
          next,
          sealedBy(next),
          accountId,
          name,
          sealed,
        )
      }),
  })
}

/** The store of secrets of a database. */
export const layer: Layer.Layer<SecretStore, never, Database> = Layer.effect(
  SecretStore,
  Effect.map(Database, make),
)
