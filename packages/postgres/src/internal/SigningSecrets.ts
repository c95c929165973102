/**
 * The signing secrets of accounts, sealed.
 *
 * Guarantees: a change that depends on the account's other secrets is a transaction, and an account
 * has only one such transaction at a time. Leaves out: sealing.
 */
import { PgTypes } from "@effect/sql-pg"
import type { AccountId } from "@millrace/core/domain/Id"
import type { StoredSecret, WebhookStore } from "@millrace/core/ports/WebhookStore"
import { Effect } from "effect"
import type { SqlClient } from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"
import type { DatabasePort } from "./DatabaseError.ts"
import { isLive } from "./DeliveryClaims.ts"
import { nowMillis } from "./DeliverySteps.ts"
import * as DeliveryRows from "./DeliveryRows.ts"
import * as Rows from "./Rows.ts"
import { values } from "./Statements.ts"

const secret = Rows.object(DeliveryRows.secrets, "s")

const liveStatement = `
SELECT ${secret} AS value FROM webhook_secrets s WHERE account_id = $1 AND ${isLive}
ORDER BY created_at, id`

/** The part of a sealed text that names the key. */
const keyName = `regexp_replace(sealed, '\\.[^.]*$', '')`

/** Reads all secrets. A server does so once, when it starts. */
const ofEachKeyStatement = `
SELECT ${secret} AS value FROM (
  SELECT DISTINCT ON (${keyName}) * FROM webhook_secrets WHERE ${isLive} ORDER BY ${keyName}
) s`

const otherwiseStatement = `
SELECT ${secret} AS value FROM webhook_secrets s
WHERE ${isLive} AND ${keyName} <> $1 ORDER BY id LIMIT $2`

const insertStatement = Rows.insert("webhook_secrets", DeliveryRows.secrets)

const expireStatement = `
UPDATE webhook_secrets
SET expires_at = least(coalesce(expires_at, ${nowMillis} + $2::int8), ${nowMillis} + $2::int8)
WHERE account_id = $1 AND ${isLive}`

/** The methods of the port that read and change secrets. */
export const make = (sql: SqlClient) => {
  const live = (account: AccountId) => values<StoredSecret>(sql, liveStatement, [account])
  const insert = (added: StoredSecret) =>
    Effect.andThen(
      sql.unsafe(insertStatement, Rows.parameters(DeliveryRows.secrets, [added])),
      live(added.accountId),
    )

  /** Makes a change while no other transaction changes the account's secrets. */
  const alone = <A>({ accountId }: StoredSecret, change: Effect.Effect<A, SqlError>) => {
    const lock = sql`SELECT
      pg_advisory_xact_lock(hashtext('millrace_webhook_secrets'), hashtext(${accountId}))`
    return sql.withTransaction(Effect.andThen(lock, change))
  }

  return {
    secrets: live,
    secretOfEachKey: values<StoredSecret>(sql, ofEachKeyStatement),
    sealedOtherwise: (name, limit) => values<StoredSecret>(sql, otherwiseStatement, [name, limit]),
    reseal: ({ id, sealed }, next) =>
      Effect.asVoid(
        sql`UPDATE webhook_secrets SET sealed = ${next} WHERE id = ${id} AND sealed = ${sealed}`,
      ),
    ensureSecret: (added) =>
      alone(
        added,
        Effect.flatMap(live(added.accountId), (found) =>
          found.length > 0 ? Effect.succeed(found) : insert(added),
        ),
      ),
    rotateSecret: (added, overlapMillis) => {
      const parameters = [added.accountId, PgTypes.float8(overlapMillis)]
      return alone(added, Effect.andThen(sql.unsafe(expireStatement, parameters), insert(added)))
    },
  } satisfies Partial<DatabasePort<WebhookStore["Service"]>>
}
