/**
 * The tests of inbound webhooks: their addresses, and what arrived there.
 *
 * Guarantees: every operation is one statement.
 */
import type { TriggerId } from "@millrace/core/domain/Id"
import { keptRequests } from "@millrace/core/domain/Limits"
import type { Timestamp } from "@millrace/core/domain/Timestamp"
import type { ReceivedRequest, WebhookTest } from "@millrace/core/domain/WebhookTest"
import { Effect, Option } from "effect"
import type { SqlClient } from "effect/sql/SqlClient"
import { millisOf } from "./DatabaseClock.ts"
import * as Rows from "./Rows.ts"
import { optional, values } from "./Statements.ts"

const now = millisOf("statement_timestamp()")

/** The webhook `t` of a key: its id, account and workflow. */
const isThis = `t.id = $1 AND ${Rows.isOf("t.account_id", "$2")}
  AND ${Rows.isOf("t.workflow_id", "$3")} AND t.type = 'webhook'`

const beginStatement = `
WITH this AS MATERIALIZED (SELECT t.id FROM triggers t WHERE ${isThis} FOR KEY SHARE
), gone AS (
  DELETE FROM webhook_requests r USING this t WHERE r.trigger_id = t.id
)
INSERT INTO webhook_tests AS w (trigger_id, address_hash, expires_at)
SELECT id, $4, ${now} + $5::int8 FROM this
ON CONFLICT (trigger_id) DO UPDATE
SET address_hash = excluded.address_hash, expires_at = excluded.expires_at
RETURNING w.expires_at::float8 AS value`

const endStatement = `
WITH this AS MATERIALIZED (SELECT t.id FROM triggers t WHERE ${isThis}
), gone AS (
  DELETE FROM webhook_tests w USING this t WHERE w.trigger_id = t.id
)
SELECT id AS value FROM this`

const findStatement = `
SELECT json_build_object(
  'expiresAt', (SELECT w.expires_at FROM webhook_tests w WHERE w.trigger_id = t.id),
  'requests', (SELECT coalesce(json_agg(r.request ORDER BY r.number DESC), '[]') FROM (
    SELECT number, request FROM webhook_requests r WHERE r.trigger_id = t.id
    ORDER BY number DESC LIMIT ${keptRequests}
  ) r)
) AS value FROM triggers t WHERE ${isThis}`

/** The condition that trigger `t` has the test address with the hash `$1`, which is in time. */
export const hasAddress = `EXISTS (SELECT FROM webhook_tests w
  WHERE w.address_hash = $1 AND w.trigger_id = t.id AND w.expires_at > ${now})`

const noteStatement = `
WITH test AS MATERIALIZED (
  SELECT trigger_id FROM webhook_tests WHERE trigger_id = $1 FOR UPDATE
), gone AS (
  DELETE FROM webhook_requests WHERE number IN (
    SELECT r.number FROM webhook_requests r JOIN test USING (trigger_id)
    ORDER BY r.number DESC OFFSET ${keptRequests - 1}
  )
)
INSERT INTO webhook_requests (trigger_id, request) SELECT trigger_id, $2::json FROM test`

/** The methods of the store, for keys as its statements take them. */
export const make = (sql: SqlClient) => ({
  begin: (key: ReadonlyArray<unknown>, addressHash: string, millis: number) =>
    optional<Timestamp>(sql, beginStatement, [...key, addressHash, millis]),
  end: (key: ReadonlyArray<unknown>) =>
    Effect.map(optional<string>(sql, endStatement, key), Option.isSome),
  find: (key: ReadonlyArray<unknown>) => optional<WebhookTest>(sql, findStatement, key),
  noteRequest: (id: TriggerId, request: ReceivedRequest) =>
    Effect.asVoid(values(sql, noteStatement, [Rows.text(id), JSON.stringify(request)])),
})
