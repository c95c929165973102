/**
 * The inboxes of runs. A message is appended while the run's row is locked. So numbers have no
 * gaps, and a commit that parks the run comes either before the message or after it.
 *
 * Guarantees: storing a message and waking its run are one atomic step. Times come from the
 * database's clock. Leaves out: taking messages; commits do that.
 */
import type { AccountId, RunId } from "@millrace/core/domain/Id"
import { messageMillis, messagesPerRun } from "@millrace/core/domain/Limits"
import type { Message, NewMessage } from "@millrace/core/domain/Message"
import type { RunStatus } from "@millrace/core/domain/Run"
import { isTerminal } from "@millrace/core/domain/Run"
import type { RunStore, SendResult } from "@millrace/core/ports/RunStore"
import { Effect } from "effect"
import type { SqlClient } from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"
import { millisOf } from "./DatabaseClock.ts"
import type { DatabasePort } from "./DatabaseError.ts"
import * as Rows from "./Rows.ts"

const nowMillis = millisOf("statement_timestamp()")

const find = `
SELECT number::float8 AS number, status FROM runs
WHERE id = $1 AND ${Rows.isOf("account_id", "$2")} FOR UPDATE`

/** The locked row of a run. */
interface Target {
  readonly number: number
  readonly status: RunStatus
}

/**
 * Parameters: $1 the number of the run, whose row the caller has locked; $2 the id of the message,
 * $3 its name, $4 its payload; $5 true if no run has sent it; $6 true if the run is open. Returns
 * no row if the inbox is full.
 */
const appendStatement = `
WITH known AS MATERIALIZED (
  SELECT m.number FROM run_messages m WHERE m.run = $1::int8 AND m.id = $2
), kept AS MATERIALIZED (
  SELECT count(*) AS count FROM run_messages m
  WHERE m.run = $1::int8 AND m.taken_by IS NULL AND m.expires_at > ${nowMillis}
), counted AS (
  UPDATE runs r SET messages = r.messages + 1,
    due_at = CASE WHEN r.status = 'RUNNING' AND r.owner IS NULL AND r.due_at > ${nowMillis}
      THEN NULL ELSE r.due_at END
  WHERE r.number = $1::int8 AND $6::bool AND NOT EXISTS (SELECT FROM known)
    AND (NOT $5::bool OR (SELECT count FROM kept) < ${messagesPerRun})
  RETURNING r.number AS run, r.messages AS number, r.status
), appended AS (
  INSERT INTO run_messages (run, number, at, expires_at, id, name, payload)
  SELECT run, number, ${nowMillis}, CASE WHEN $5::bool THEN ${nowMillis} + ${messageMillis} END,
    $2, $3::json, $4::json FROM counted
), woken AS (
  UPDATE open_runs o SET due_at = NULL, ready_at = ${nowMillis} FROM counted c
  WHERE o.run = c.run AND o.state = 'parked' AND o.due_at > ${nowMillis} AND c.status = 'RUNNING'
)
SELECT number, true AS replay FROM known UNION ALL SELECT number, false FROM counted`

interface Appended {
  readonly number: number
  readonly replay: boolean
}

/** Appends a message to the inbox of a run. Needs a transaction, which keeps the row locked. */
const append = Effect.fnUntraced(function* (
  sql: SqlClient,
  account: AccountId,
  id: RunId,
  message: NewMessage,
  isOutside: boolean,
): Effect.fn.Return<SendResult, SqlError> {
  const [target] = yield* sql.unsafe<Target>(find, [Rows.text(id), account])
  if (target === undefined) return { _tag: "NotFound" }
  const { number: run, status } = target
  const isOpen = !isTerminal(status)
  // A second statement, because its snapshot must be later than the lock.
  const [appended] = yield* sql.unsafe<Appended>(appendStatement, [
    run,
    Rows.text(message.id),
    JSON.stringify(message.name),
    JSON.stringify(message.payload),
    isOutside,
    isOpen,
  ])
  if (appended !== undefined) {
    return { _tag: "Sent", number: appended.number, isReplay: appended.replay }
  }
  return isOpen ? { _tag: "Full" } : { _tag: "Ended", status }
})

/** Appends a message that another run sends. It is dropped if the run is unknown or has ended. */
export const sendWithin = (
  sql: SqlClient,
  account: AccountId,
  id: RunId,
  message: NewMessage,
): Effect.Effect<SendResult, SqlError> => append(sql, account, id, message, false)

const isNew = `(m.number > w.after AND m.taken_by IS NULL
    AND (m.expires_at > ${nowMillis}) IS NOT FALSE)`

// Two reads, because an index has the messages that nobody has taken: a loop takes many.
const readStatement = `
WITH wanted AS MATERIALIZED (
  SELECT e->>'runId' AS id, (e->>'after')::int4 AS after, e->'held' AS held
  FROM json_array_elements($1::json) AS e
)
SELECT w.id AS "runId", json_build_object(
  'number', m.number, 'name', m.name, 'payload', m.payload, 'at', m.at
) AS message
FROM wanted w CROSS JOIN LATERAL (
  SELECT number FROM runs r WHERE r.id = w.id
    AND (r.messages > w.after OR json_array_length(w.held) > 0) OFFSET 0
) r CROSS JOIN LATERAL (
  SELECT * FROM run_messages m WHERE m.run = r.number AND ${isNew}
  UNION ALL
  SELECT * FROM run_messages m WHERE m.run = r.number AND NOT ${isNew}
    AND m.number IN (SELECT h::int4 FROM json_array_elements_text(w.held) AS h)
) m ORDER BY m.run, m.number`

/** The methods of the port that send and read messages. */
export const make = (sql: SqlClient) =>
  ({
    send: (account, id, message) => sql.withTransaction(append(sql, account, id, message, true)),
    inboxes: (requests) => {
      const wanted = requests.map(({ runId, ...rest }) => ({ runId: Rows.text(runId), ...rest }))
      const found = sql.unsafe<{ readonly runId: RunId; readonly message: Message }>(
        readStatement,
        [JSON.stringify(wanted)],
      )
      return Effect.map(found, (rows) => {
        const inboxes = Map.groupBy(rows, ({ runId }) => runId)
        return Array.from(inboxes, ([runId, own]) => ({
          runId,
          messages: own.map(({ message }) => message),
        }))
      })
    },
  }) satisfies Partial<DatabasePort<RunStore["Service"]>>
