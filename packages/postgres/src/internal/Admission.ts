/**
 * Admits requests on Postgres. One statement checks the keys, counts in the windows and reads the
 * workflows of all requests that arrived while the previous statement ran.
 *
 * Guarantees: the limits are exact with any number of servers, because a window is only changed
 * while its row is locked. All servers lock keys in the same order, so their statements do not
 * deadlock. A key with nothing left is only read, so many refused requests write nothing. Leaves
 * out: waiting for the disk. A crash of the database may lose the last counts.
 */
import { PgTypes } from "@effect/sql-pg"
import type { AccountId, KeyId, WorkflowId } from "@millrace/core/domain/Id"
import type { Quota, QuotaUsage } from "@millrace/core/domain/Quota"
import { answerAt } from "@millrace/core/domain/Quota"
import type { Timestamp } from "@millrace/core/domain/Timestamp"
import type { Workflow } from "@millrace/core/domain/Workflow"
import type { Admission } from "@millrace/core/ports/KeyStore"
import { type Context, Effect, Option, Result, type Scope } from "effect"
import type { SqlClient } from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"
import { type DatabaseClock, millisOf } from "./DatabaseClock.ts"
import * as Rows from "./Rows.ts"
import * as Statements from "./Statements.ts"

/** The condition that a key is live. After a wait for a lock, `now()` would be too early. */
export const isLive = (clock: DatabaseClock): string =>
  `k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > ${millisOf(clock)})`

/** How many requests one statement serves at most. */
const requestsPerStatement = 250

/**
 * The usage of each key in the current windows. If nothing is left here, nothing is left: usage
 * only grows within a window.
 */
const before = `
  SELECT a.place, a.wanted, k.id, k.account_id, k.per_minute, k.per_day, n.millis,
    greatest(u.minute, n.millis / 60000) AS minute,
    CASE WHEN u.minute >= n.millis / 60000 THEN u.minute_used ELSE 0 END AS minute_used,
    greatest(u.day, n.millis / 86400000) AS day,
    CASE WHEN u.day >= n.millis / 86400000 THEN u.day_used ELSE 0 END AS day_used
  FROM durability
  CROSS JOIN (SELECT ${millisOf("now()")} AS millis) n
  CROSS JOIN unnest(${Rows.unseen("$1::bytea[]")}, $2::int4[])
    WITH ORDINALITY AS a (hash, wanted, place)
  CROSS JOIN LATERAL (
    SELECT * FROM api_keys k WHERE k.hash = a.hash AND ${isLive("now()")} OFFSET 0
  ) k
  LEFT JOIN LATERAL (SELECT * FROM key_usage u WHERE u.key_id = k.id OFFSET 0) u ON true`

/** Takes the wanted number of requests, or as many as both windows still allow. */
const take = `
  INSERT INTO key_usage AS u (key_id, minute, minute_used, day, day_used, granted, used_at)
  SELECT id, minute, g, day, g, g, millis
  FROM before, LATERAL (SELECT least(wanted, per_minute, per_day) AS g) new
  WHERE minute_used < per_minute AND day_used < per_day
  ORDER BY id
  ON CONFLICT (key_id) DO UPDATE
  SET (minute, minute_used, day, day_used, granted, used_at) = (
    SELECT s.minute, s.minute_used + g, s.day, s.day_used + g, g,
      CASE WHEN g > 0 THEN greatest(u.used_at, excluded.used_at) ELSE u.used_at END
    FROM before b CROSS JOIN (
      SELECT greatest(u.minute, excluded.minute) AS minute,
        CASE WHEN excluded.minute > u.minute THEN 0 ELSE u.minute_used END AS minute_used,
        greatest(u.day, excluded.day) AS day,
        CASE WHEN excluded.day > u.day THEN 0 ELSE u.day_used END AS day_used
    ) s, LATERAL (SELECT greatest(0,
      least(b.wanted, b.per_minute - s.minute_used, b.per_day - s.day_used)) AS g) new
    WHERE b.id = excluded.key_id
  )
  RETURNING *`

const statement = `
WITH durability AS MATERIALIZED (
  SELECT CASE WHEN $3 THEN set_config('synchronous_commit', 'off', true) END
), before AS MATERIALIZED (${before}
), used AS (${take}
), answers AS MATERIALIZED (
  SELECT b.place, b.account_id, coalesce(u.granted, 0) AS granted, json_build_object(
    'keyId', b.id, 'accountId', b.account_id, 'now', b.millis, 'granted', coalesce(u.granted, 0),
    'quota', json_build_object('perMinute', b.per_minute, 'perDay', b.per_day),
    'usage', json_build_object(
      'minute', coalesce(u.minute, b.minute),
      'minuteUsed', coalesce(u.minute_used, b.minute_used),
      'day', coalesce(u.day, b.day), 'dayUsed', coalesce(u.day_used, b.day_used))) AS answer
  FROM before b LEFT JOIN used u ON u.key_id = b.id
)
SELECT place::int4, answer, NULL::json AS workflow FROM answers
UNION ALL
SELECT w.number::int4, NULL, found.workflow
FROM unnest(${Rows.unseen("$4::int4[]")}, $5::text[]) WITH ORDINALITY AS w (place, id, number)
JOIN answers a ON a.place = w.place AND a.granted > 0
CROSS JOIN LATERAL (
  SELECT ${Rows.object(Rows.workflows, "w2")} AS workflow FROM workflows w2
  WHERE w2.id = w.id AND w2.account_id = a.account_id OFFSET 0
) found`

/** A request: the hash of its key, and the workflow to read with it. */
export interface Asked {
  readonly hash: Uint8Array
  readonly ahead: WorkflowId | undefined
}

/** The answer for all requests with one key. */
interface Answer {
  readonly keyId: KeyId
  readonly accountId: AccountId
  readonly now: Timestamp
  readonly granted: number
  readonly quota: Quota
  readonly usage: QuotaUsage
}

/** The answer for a key, or a workflow. Places start at 1. */
interface Row {
  readonly place: number
  readonly answer: Answer | null
  readonly workflow: Workflow | null
}

/** The requests of one statement. Each key is in it once, and each workflow of a key once. */
class Batch {
  readonly #places = new Map<string, number>()
  readonly #numbers = new Map<string, number>()
  readonly hashes: Array<Uint8Array> = []
  readonly wanted: Array<number> = []
  readonly workflowPlaces: Array<number> = []
  readonly workflows: Array<string> = []

  /** Returns the key's place, and how many earlier requests have the same key. */
  addKey(hash: Uint8Array): readonly [place: number, position: number] {
    const text = Buffer.from(hash.buffer, hash.byteOffset, hash.byteLength).toString("latin1")
    const place = this.#places.get(text)
    if (place !== undefined) return [place, this.wanted[place - 1]!++]
    this.#places.set(text, this.hashes.push(hash))
    this.wanted.push(1)
    return [this.hashes.length, 0]
  }

  /** Returns the workflow's number; `undefined` if no workflow is to be read. */
  addWorkflow(place: number, ahead: WorkflowId | undefined): number | undefined {
    if (ahead === undefined) return undefined
    const id = Rows.text(ahead)
    const text = `${place} ${id}`
    const number = this.#numbers.get(text)
    if (number !== undefined) return number
    this.workflowPlaces.push(place)
    this.#numbers.set(text, this.workflows.push(id))
    return this.workflows.length
  }

  add({ ahead, hash }: Asked) {
    const [place, position] = this.addKey(hash)
    return { place, position, workflow: this.addWorkflow(place, ahead) }
  }
}

const arrayOf = (values: ReadonlyArray<unknown>, type: number) =>
  Result.getOrThrow(PgTypes.array(values, type))

const parametersOf = (batch: Batch, isAlone: boolean) => [
  arrayOf(batch.hashes, PgTypes.OID.bytea),
  arrayOf(batch.wanted, PgTypes.OID.int4),
  isAlone,
  arrayOf(batch.workflowPlaces, PgTypes.OID.int4),
  arrayOf(batch.workflows, PgTypes.OID.text),
]

/** The answer for one request. */
const admissionOf = (
  answer: Answer | undefined,
  position: number,
  ahead: Option.Option<Workflow> | undefined,
): Admission => {
  if (answer === undefined) return { _tag: "Refused" }
  const { accountId, granted, keyId, now, quota, usage } = answer
  const { admitted, window } = answerAt(quota, usage, granted, position)
  if (!admitted) {
    return { _tag: "Limited", window, retryAfterMillis: Math.max(0, window.resetAt - now) }
  }
  const workflow = ahead === undefined ? {} : { workflow: ahead }
  return { _tag: "Admitted", accountId, keyId, window, ...workflow }
}

/** Admits requests in one statement. The answers have the order of the requests. */
export const admitAll = (
  sql: SqlClient,
  asked: ReadonlyArray<Asked>,
): Effect.Effect<ReadonlyArray<Admission>, SqlError> =>
  Effect.contextWith((context: Context.Context<never>) => {
    // In a transaction of the caller, the setting would also apply to the caller's writes.
    const isAlone = !Statements.isWithin(sql, context)
    const batch = new Batch()
    const members = asked.map((each) => batch.add(each))
    const asking = Statements.complete<Row>(sql, statement, parametersOf(batch, isAlone))
    return Effect.map(asking, (rows) => {
      const answers = new Map<number, Answer>()
      const workflows = new Map<number, Workflow>()
      for (const { answer, place, workflow } of rows) {
        if (answer !== null) answers.set(place, answer)
        if (workflow !== null) workflows.set(place, workflow)
      }
      return members.map(({ place, position, workflow }) =>
        admissionOf(
          answers.get(place),
          position,
          workflow === undefined ? undefined : Option.fromUndefinedOr(workflows.get(workflow)),
        ),
      )
    })
  })

/** Admits a request. */
export type Admit = (hash: Uint8Array, ahead?: WorkflowId) => Effect.Effect<Admission, SqlError>

/** Gathers requests into statements until the scope closes. */
export const make = (sql: SqlClient): Effect.Effect<Admit, never, Scope.Scope> =>
  Effect.map(
    Statements.gather<Asked, Admission>(sql, {
      keyOf: () => undefined,
      flush: (asked) => admitAll(sql, asked),
      maxMembers: requestsPerStatement,
    }),
    (submit): Admit =>
      (hash, ahead) =>
        submit({ hash, ahead }),
  )
