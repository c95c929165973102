/**
 * A clock for a database that tests can move: a session that connects with {@link withClock} finds
 * a `now()` that goes by it, because it looks into its own schema before the catalog.
 *
 * Leaves out: `clock_timestamp()`, by which the stores decide what happens behind a lock.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql/SqlClient"

/** The same address, for sessions that go by the clock. */
export const withClock = (address: string): string => {
  const url = new URL(address)
  const path = /search_path=(\S+)/.exec(url.searchParams.get("options") ?? "")?.[1] ?? "public"
  url.searchParams.set("options", `-c search_path=${path},pg_catalog`)
  return url.href
}

/** Statements that make the clock, which begins at the real time. */
export const statements: ReadonlyArray<string> = [
  "CREATE TABLE test_clock (shift_millis float8 NOT NULL)",
  "INSERT INTO test_clock VALUES (0)",
  `CREATE FUNCTION now() RETURNS timestamptz LANGUAGE sql STABLE AS $$
     SELECT pg_catalog.now() + (SELECT shift_millis FROM test_clock) * interval '1 millisecond'
   $$`,
]

/** A statement that moves the clock on, or back. */
export const moveBy = (millis: number): string =>
  `UPDATE test_clock SET shift_millis = shift_millis + ${millis}`

/** A statement that moves the clock to just after the beginning of a minute to come. */
export const moveToMinute: string = `
  UPDATE test_clock SET shift_millis = n.minute - n.millis
  FROM (SELECT t.millis, (floor(t.millis / 60000) + 1) * 60000 AS minute
    FROM (SELECT (extract(epoch FROM pg_catalog.now()) * 1000)::float8 AS millis) t) n`

/** Runs such statements. */
export const run = (...all: ReadonlyArray<string>) =>
  SqlClient.use((sql) => Effect.forEach(all, (each) => sql.unsafe(each), { discard: true }))
