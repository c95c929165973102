// Claims among many accounts, and many runs that are due at once: what one server needs to take
// them. The runs are copies of one row; they are never executed.
import { RunnerId } from "@millrace/core/domain/Id"
import { RunStore } from "@millrace/core/ports/RunStore"
import { Effect } from "effect"
import { SqlClient } from "effect/sql/SqlClient"

const runner = RunnerId.make("bench")
const leaseMillis = 3_600_000
const cap = 2
const claimRounds = 15
const taken = 50
const perClaim = 100

/** Copies of a run by a query that gives `number`, `account`, `owner` and `due`. */
const addRuns = Effect.fnUntraced(function* (source: string) {
  const sql = yield* SqlClient
  yield* sql.unsafe(`CREATE UNLOGGED TABLE added AS ${source}`)
  const columns = yield* sql<{ readonly name: string }>`SELECT attname AS name FROM pg_attribute
    WHERE attrelid = 'runs'::regclass AND attnum > 0 AND NOT attisdropped ORDER BY attnum`
  const changes: Record<string, string> = {
    number: "a.number",
    id: "'run_added_' || a.number",
    account_id: "a.account",
    status: "'RUNNING'",
    owner: "a.owner",
    due_at: "a.due",
    finished_at: "NULL",
  }
  const values = columns.map(({ name }) => changes[name] ?? `t.${name}`)
  yield* sql.unsafe(`INSERT INTO runs (${columns.map(({ name }) => name).join()})
    OVERRIDING SYSTEM VALUE SELECT ${values.join()} FROM added a CROSS JOIN (
      SELECT * FROM runs WHERE status = 'COMPLETED' ORDER BY number LIMIT 1) t`)
  yield* sql`INSERT INTO open_runs (run, owner, due_at, created_at, account_id, workflow_id)
    SELECT number, owner, due, number, account, 'wf' FROM added`
  yield* sql`ANALYZE open_runs`
  yield* sql`VACUUM ANALYZE runs`
})

const removeRuns = Effect.gen(function* () {
  const sql = yield* SqlClient
  yield* sql`DELETE FROM runs WHERE number IN (SELECT number FROM added)`
  yield* sql`DELETE FROM open_runs`
  yield* sql`DROP TABLE added`
  yield* sql`VACUUM open_runs`
})

const claim = (limit: number, isCapped: boolean) =>
  RunStore.use((store) =>
    store.claim({
      runner,
      leaseMillis,
      limit,
      except: [],
      roomPerAccount: 750,
      ...(isCapped ? { runsPerAccount: cap } : {}),
    }),
  )

const timed = Effect.fnUntraced(function* <A, E, R>(work: Effect.Effect<A, E, R>) {
  const begun = performance.now()
  const result = yield* work
  return [performance.now() - begun, result] as const
})

/** Whether every second account has as many runs in progress as it may, or each of them. */
export type Crowd = "half" | "all"

/** Milliseconds of claims under caps, when five runs of each account are queued. */
export const underCaps = Effect.fnUntraced(function* (accounts: number, crowd: Crowd) {
  const sql = yield* SqlClient
  const isFull = crowd === "all" ? "true" : "a % 2 = 0"
  yield* sql`INSERT INTO runners (id, lease_until) VALUES ('other', 9000000000000000)
    ON CONFLICT DO NOTHING`
  yield* addRuns(`
    SELECT 20000000 + row_number() OVER () AS number, 'acc_' || lpad(a::text, 5, '0') AS account,
      CASE WHEN i <= ${cap} AND ${isFull} THEN 'other' END AS owner, NULL::int8 AS due
    FROM generate_series(1, ${5 + cap}) i, generate_series(1, ${accounts}) a
    WHERE i > ${cap} OR ${isFull}`)
  const times: Array<number> = []
  for (let round = 0; round < claimRounds; round++) {
    const [millis, claimed] = yield* timed(claim(taken, true))
    times.push(millis)
    if (crowd === "half" && claimed.length === 0) yield* Effect.die(new Error("nothing claimed"))
    yield* sql`UPDATE open_runs SET owner = NULL WHERE owner = 'bench'`
    yield* sql`UPDATE runs SET owner = NULL WHERE owner = 'bench'`
  }
  yield* removeRuns
  return times
})

/** Milliseconds until one server has taken so many runs that are all due, of so many accounts. */
export const dueAtOnce = Effect.fnUntraced(function* (count: number, accounts: number) {
  yield* addRuns(`
    SELECT 20000000 + i AS number, 'acc_' || lpad((i % ${accounts})::text, 5, '0') AS account,
      NULL::text AS owner, i::int8 AS due
    FROM generate_series(1, ${count}) i`)
  let rest = count
  const [millis] = yield* timed(
    Effect.gen(function* () {
      while (rest > 0) {
        const claimed = yield* claim(perClaim, false)
        if (claimed.length === 0) return yield* Effect.die(new Error(`${rest} runs are left`))
        rest -= claimed.length
      }
    }),
  )
  yield* removeRuns
  return millis
})
