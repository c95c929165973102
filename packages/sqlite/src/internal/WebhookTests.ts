/**
 * The tests of inbound webhooks: their addresses, and what arrived there.
 *
 * Leaves out: the transaction around it.
 */
import type { TriggerId } from "@millrace/core/domain/Id"
import type { InboundWebhook } from "@millrace/core/domain/InboundWebhook"
import { keptRequests } from "@millrace/core/domain/Limits"
import type { Timestamp } from "@millrace/core/domain/Timestamp"
import type { ReceivedRequest, WebhookTest } from "@millrace/core/domain/WebhookTest"
import type { Connection } from "./SqliteConnection.ts"
import { triggerWith } from "./TriggerRows.ts"

/** Takes the test of a webhook away. */
export const end = (db: Connection, id: TriggerId): void => {
  db.run(`DELETE FROM webhook_tests WHERE trigger_id = ?`, id)
}

/** Gives a webhook a test, in the place of the one that it has. */
export const begin = (
  db: Connection,
  id: TriggerId,
  addressHash: string,
  expiresAt: Timestamp,
): void => {
  end(db, id)
  db.run(`INSERT INTO webhook_tests VALUES (?, ?, ?)`, id, addressHash, expiresAt)
}

/** The test of a webhook. */
export const find = (db: Connection, id: TriggerId): WebhookTest => {
  const test = db
    .query<{ readonly expires_at: number }>(
      `SELECT expires_at FROM webhook_tests WHERE trigger_id = ?`,
      id,
    )
    .first()
  const rows = db
    .query<{ readonly request: string }>(
      `SELECT request FROM webhook_requests WHERE trigger_id = ? ORDER BY number DESC LIMIT ?`,
      id,
      keptRequests,
    )
    .all()
  const requests = rows.map(({ request }) => JSON.parse(request) as ReceivedRequest)
  return { expiresAt: test?.expires_at ?? null, requests }
}

/** The webhook whose test address has this hash. */
export const findByAddress = (
  db: Connection,
  addressHash: string,
  now: Timestamp,
): InboundWebhook | undefined => {
  const statement = `SELECT trigger_id FROM webhook_tests WHERE address_hash = ? AND expires_at > ?`
  const test = db.query<{ readonly trigger_id: TriggerId }>(statement, addressHash, now).first()
  return test === undefined ? undefined : (triggerWith(db, test.trigger_id) as InboundWebhook)
}

/** Keeps a request, with the last ones before it. */
export const note = (db: Connection, id: TriggerId, request: ReceivedRequest): void => {
  const isThere = `SELECT trigger_id, ? FROM webhook_tests WHERE trigger_id = ?`
  const text = JSON.stringify(request)
  db.run(`INSERT INTO webhook_requests (trigger_id, request) ${isThere}`, text, id)
  db.run(
    `DELETE FROM webhook_requests WHERE trigger_id = ? AND number <= (
       SELECT number FROM webhook_requests WHERE trigger_id = ?
       ORDER BY number DESC LIMIT 1 OFFSET ?)`,
    id,
    id,
    keptRequests,
  )
}
