/**
 * How signing secrets are kept: sealed, and by account.
 *
 * Guarantees: what depends on an account's other secrets happens in a transaction that is alone
 * with them. Leaves out: sealing.
 */
import { PgTypes } from "@effect/sql-pg"
import type { AccountId } from "@millrace/core/domain/Id"
import type { StoredSecret } from "@millrace/core/ports/WebhookStore"
import { Effect } from "effect"
import type { SqlClient } from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"
import { isLive } from "./DeliveryClaims.ts"
import { nowMillis } from "./DeliverySteps.ts"
import * as DeliveryRows from "./DeliveryRows.ts"
import * as Rows from "./Rows.ts"

type Secrets = Effect.Effect<ReadonlyArray<StoredSecret>, SqlError>

/** The live ones, oldest first. */
export const live = (sql: SqlClient, account: AccountId): Secrets =>
  Effect.map(
    sql<{ readonly secret: StoredSecret }>`
      SELECT ${sql.literal(Rows.object(DeliveryRows.secrets, "s"))} AS secret
      FROM webhook_secrets s WHERE account_id = ${account} AND ${sql.literal(isLive)}
      ORDER BY created_at, id`,
    (rows) => rows.map(({ secret }) => secret),
  )

/** One live secret for each key that live ones were sealed with: reads all, once at a start. */
export const ofEachKey = (sql: SqlClient): Secrets =>
  Effect.map(
    sql<{ readonly secret: StoredSecret }>`
      SELECT ${sql.literal(Rows.object(DeliveryRows.secrets, "s"))} AS secret
      FROM (
        SELECT DISTINCT ON (regexp_replace(sealed, '\\.[^.]*$', '')) *
        FROM webhook_secrets WHERE ${sql.literal(isLive)}
        ORDER BY regexp_replace(sealed, '\\.[^.]*$', '')
      ) s`,
    (rows) => rows.map(({ secret }) => secret),
  )

/** Runs alone among all who change secrets of this account. */
const alone = (sql: SqlClient, account: AccountId, effect: Secrets): Secrets =>
  sql.withTransaction(
    Effect.andThen(
      sql`SELECT pg_advisory_xact_lock(hashtext('millrace_webhook_secrets'), hashtext(${account}))`,
      effect,
    ),
  )

const insert = (sql: SqlClient, secret: StoredSecret) =>
  sql.unsafe(
    `INSERT INTO webhook_secrets (${Rows.names(DeliveryRows.secrets)})
     SELECT ${Rows.names(DeliveryRows.secrets)} FROM ${Rows.source(DeliveryRows.secrets, "s", 1)}`,
    Rows.parameters(DeliveryRows.secrets, [secret]),
  )

/** Stores a secret unless there is a live one; returns the live ones. */
export const ensure = (sql: SqlClient, secret: StoredSecret): Secrets => {
  const { accountId } = secret
  const make = Effect.andThen(insert(sql, secret), live(sql, accountId))
  return alone(
    sql,
    accountId,
    Effect.flatMap(live(sql, accountId), (found) =>
      found.length > 0 ? Effect.succeed(found) : make,
    ),
  )
}

/** Stores a secret and lets the others expire; returns the live ones. */
export const rotate = (sql: SqlClient, secret: StoredSecret, overlapMillis: number): Secrets => {
  const { accountId } = secret
  const until = sql`${sql.literal(nowMillis)} + ${PgTypes.float8(overlapMillis)}::int8`
  const expire = sql`UPDATE webhook_secrets
    SET expires_at = least(coalesce(expires_at, ${until}), ${until})
    WHERE account_id = ${accountId} AND ${sql.literal(isLive)}`
  const steps = Effect.andThen(expire, Effect.andThen(insert(sql, secret), live(sql, accountId)))
  return alone(sql, accountId, steps)
}
