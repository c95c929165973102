// Statements to a real Postgres, as nodes send them.
import { describe, it } from "@effect/vitest"
import type { Json, JsonObject } from "@millrace/core/domain/Json"
import * as Outbound from "../src/Outbound.ts"
import { Effect } from "effect"
import { afterAll, beforeAll, expect } from "vitest"
import { PostgresServer } from "../../postgres/test/PostgresServer.ts"
import { Client } from "pg"
import { postgresQuery } from "../src/internal/PostgresQuery.ts"
import { clauses, failing, run, settings } from "./TestNode.ts"

const guard = Outbound.layer([{ cidr: "127.0.0.1/32" }])

let server: PostgresServer

beforeAll(async () => {
  server = await PostgresServer.create("fast")
})
afterAll(() => server.remove())

/** Does what no node may do. */
const asOwner = (database: string, statement: string) =>
  Effect.promise(async () => {
    const client = new Client(server.url.replace(/[^/]*$/, database))
    await client.connect()
    await client.query(statement)
    await client.end()
  })

const here = () => ({
  host: "127.0.0.1",
  port: Number(new URL(server.url).port),
  database: "postgres",
  user: "postgres",
  tls: "off",
})

const query = (inputs: JsonObject, mode = "read") =>
  Effect.suspend(() => run(postgresQuery, { ...here(), ...inputs }, { mode })).pipe(
    Effect.provide(guard),
  )
const refused = (inputs: JsonObject, mode = "read") =>
  Effect.suspend(() => failing(postgresQuery, { ...here(), ...inputs }, { mode })).pipe(
    Effect.provide(guard),
  )

/** The first row of a statement. */
const rowOf = (statement: string, ...parameters: ReadonlyArray<Json>) =>
  Effect.map(query({ statement, parameters }), ({ rows }) => (rows as Array<JsonObject>)[0])

describe("postgres_query", () => {
  it.live("puts out rows by the names of their columns, and how many they are", () =>
    Effect.gen(function* () {
      const statement = "SELECT n, n * $1 AS more FROM generate_series(1, $2) AS n;"
      expect(yield* query({ statement, parameters: [10, 2] })).toEqual({
        rows: [
          { n: 1, more: 10 },
          { n: 2, more: 20 },
        ],
        count: 2,
      })
    }),
  )

  it.live("gives each type the JSON that loses nothing", () =>
    Effect.gen(function* () {
      const statement = `SELECT 1::int4 AS int, 9007199254740993::int8 AS big,
        0.1::numeric AS exact,
        1.5::float8 AS float, 'NaN'::float8 AS nan, true AS yes, NULL::text AS nothing,
        '{"a": [1]}'::jsonb AS json, '\\x00ff'::bytea AS bytes, '{1,NULL}'::int4[] AS ints,
        '{"a,b",NULL}'::text[] AS texts, '{9007199254740993}'::int8[] AS bigs,
        timestamptz '2026-01-31 12:00:00.123456+02' AS at, timestamp '2026-01-31 12:00' AS clock,
        date '2026-01-31' AS day, interval '1 day 2 hours' AS span,
        '3f333df6-90a4-4fda-8dd3-9485d27cee36'::uuid AS id, 'infinity'::timestamptz AS never`
      expect(yield* rowOf(statement)).toEqual({
        int: 1,
        big: "9007199254740993",
        exact: "0.1",
        float: 1.5,
        nan: "NaN",
        yes: true,
        nothing: null,
        json: { a: [1] },
        bytes: "AP8=",
        ints: [1, null],
        texts: ["a,b", null],
        bigs: ["9007199254740993"],
        at: "2026-01-31T10:00:00.123456Z",
        clock: "2026-01-31T12:00:00",
        day: "2026-01-31",
        span: "P1DT2H",
        id: "3f333df6-90a4-4fda-8dd3-9485d27cee36",
        never: "infinity",
      })
    }),
  )

  it.live("sends parameters as their types want them, and never as a part of the statement", () =>
    Effect.gen(function* () {
      const evil = "'; DROP TABLE x; --"
      expect(yield* rowOf("SELECT $1::text AS a, $2::int8 AS b", evil, "12")).toEqual({
        a: evil,
        b: "12",
      })
      const statement = `SELECT $1::jsonb AS json, $2::text[] AS texts, $3::jsonb AS word,
        $4::bytea AS bytes, 2 = ANY($5::int4[]) AS found, $6::text AS nothing, $7::bool AS yes,
        $8::int4[] AS nested`
      const texts = ["a,b", '"\\', null, ""]
      const nested = [
        [1, 2],
        [3, 4],
      ]
      const given = [[1, { a: null }], texts, "word", "AP8=", [1, 2], null, true, nested]
      expect(yield* rowOf(statement, ...given)).toEqual({
        json: [1, { a: null }],
        texts,
        word: "word",
        bytes: "AP8=",
        found: true,
        nothing: null,
        yes: true,
        nested,
      })
    }),
  )

  it.live("says how many parameters are missing, or too many", () =>
    Effect.gen(function* () {
      expect(yield* refused({ statement: "SELECT $1::int + $2::int", parameters: [1] })).toBe(
        "The statement has 2 parameters, and 1 are given",
      )
      expect(yield* refused({ statement: "SELECT 1", parameters: [1] })).toBe(
        "The statement has 0 parameters, and 1 are given",
      )
    }),
  )

  it.live("commits in the mode write, and tells how many rows were changed", () =>
    Effect.gen(function* () {
      yield* query({ statement: "CREATE TABLE items (id int PRIMARY KEY, name text)" }, "write")
      const insert = "INSERT INTO items VALUES ($1, $2), ($3, $4)"
      const parameters = [1, "a", 2, "b"]
      expect(yield* query({ statement: insert, parameters }, "write")).toEqual({
        rows: [],
        count: 2,
      })
      expect(yield* refused({ statement: insert, parameters }, "write")).toBe(
        'The database says: duplicate key value violates unique constraint "items_pkey" (23505)',
      )
      const update = "UPDATE items SET name = 'c' RETURNING id"
      const many = "The statement gives more than 1 rows: add a LIMIT, or raise maxRows"
      expect(yield* refused({ statement: update, maxRows: 1 }, "write")).toBe(many)
      expect(yield* rowOf("SELECT string_agg(name, '') AS names FROM items")).toEqual({
        names: "ab",
      })
    }),
  )

  it.live("changes nothing in the mode read, whatever is tried", () =>
    Effect.gen(function* () {
      yield* query({ statement: "CREATE TABLE safe (id int)" }, "write")
      yield* query({ statement: "CREATE SEQUENCE counter" }, "write")
      yield* query(
        {
          statement: `CREATE FUNCTION sneak() RETURNS int LANGUAGE plpgsql SECURITY DEFINER AS
            'BEGIN INSERT INTO safe VALUES (1); RETURN 1; END'`,
        },
        "write",
      )
      const tries = [
        "WITH gone AS (INSERT INTO safe VALUES (1) RETURNING id) SELECT * FROM gone",
        "SELECT 1 AS id INTO copied",
        "SELECT sneak()",
        "SELECT nextval('counter')",
        "SELECT * FROM safe FOR UPDATE",
        "EXPLAIN ANALYZE INSERT INTO safe VALUES (1)",
        "SELECT set_config('transaction_read_only', 'off', true)",
        "SELECT set_config('transaction_read_only', 'off', false)",
        "SELECT lo_from_bytea(0, 'x')",
      ]
      for (const statement of tries) {
        expect(yield* refused({ statement }), statement).toMatch(
          /^The database says: (?:cannot execute|transaction read-write mode must be set before)/,
        )
      }
      yield* query({
        statement: "SELECT set_config('default_transaction_read_only', 'off', false)",
      })
      expect(yield* rowOf("SELECT count(*)::int4 AS rows FROM safe")).toEqual({ rows: 0 })
    }),
  )

  it.live("takes one statement, and none that ends its transaction or changes the session", () =>
    Effect.gen(function* () {
      for (const statement of [
        "SELECT 1; SELECT 2",
        "SELECT 1; COMMIT",
        "SELECT 1; DROP TABLE x",
      ]) {
        expect(yield* refused({ statement }, "write"), statement).toBe(
          "The database says: cannot insert multiple commands into a prepared statement (42601)",
        )
      }
      const others = [
        "COMMIT",
        "-- SELECT\nROLLBACK",
        "/* SELECT /* */ */ BEGIN",
        "PREPARE TRANSACTION 'x'",
        "COMMIT PREPARED 'x'",
        "PREPARE x AS SELECT 1",
        "EXECUTE x",
        "SET ROLE postgres",
        "RESET ALL",
        "COPY safe TO STDOUT",
        "COPY safe FROM STDIN",
        "COPY safe FROM PROGRAM 'id'",
        "LISTEN x",
        "LOAD 'x'",
        "DECLARE c CURSOR FOR SELECT 1",
        "LOCK safe",
        "DISCARD ALL",
        "VACUUM",
        ";",
        "{{ input }}",
        " ",
      ]
      for (const statement of others) {
        const sentence = yield* refused({ statement }, "write")
        expect(sentence, statement).toMatch(/^expected a statement that begins with one of SELECT/)
        expect(clauses(postgresQuery, "statement", statement)).toEqual([])
        const { inputs } = postgresQuery.type.portsOf(settings({}))
        expect(inputs.get("statement")?.problemsOfLiteral?.(statement)).toEqual([sentence])
      }
      expect(yield* refused({ statement: "/* */ (DELETE FROM safe)" })).toBe(
        "a statement with DELETE needs the mode write",
      )
      expect(yield* refused({ statement: "DO 'BEGIN COMMIT; END'" }, "write")).toBe(
        "The database says: invalid transaction termination (2D000)",
      )
      expect(yield* rowOf("-- one\n/* two /* three */ */ ( SELECT 1 AS one)")).toEqual({ one: 1 })
    }),
  )

  it.live("refuses a database with tables of Millrace, under each of its names", () =>
    Effect.gen(function* () {
      yield* asOwner("postgres", "CREATE DATABASE own")
      yield* asOwner("own", "CREATE SCHEMA hidden; CREATE TABLE hidden.millrace_migrations ()")
      for (const host of ["127.0.0.1", "localhost", "2130706433", "LOCALHOST."]) {
        for (const mode of ["read", "write"]) {
          const inputs = { host, database: "own", statement: "SELECT 1" }
          expect(yield* refused(inputs, mode), host).toBe(
            "A database of Millrace itself may not be queried",
          )
        }
      }
    }),
  )

  it.live("fails where there are more rows, or more bytes, than allowed", () =>
    Effect.gen(function* () {
      const rows = (count: number) => `SELECT n FROM generate_series(1, ${count}) AS n`
      expect((yield* query({ statement: rows(10), maxRows: 10 }))["count"]).toBe(10)
      expect(yield* refused({ statement: rows(11), maxRows: 10 })).toBe(
        "The statement gives more than 10 rows: add a LIMIT, or raise maxRows",
      )
      expect(yield* refused({ statement: "SELECT generate_series(1, 1000000000) AS n" })).toBe(
        "The statement gives more than 1000 rows: add a LIMIT, or raise maxRows",
      )
      expect(yield* refused({ statement: "SELECT repeat('x', 100000000)" })).toBe(
        "The answer is larger than 1048576 bytes",
      )
      expect(yield* refused({ statement: "SELECT 1 AS a, 2 AS a" })).toBe(
        'Two columns have the name "a": rename one with AS',
      )
      const odd = yield* rowOf('SELECT 1 AS "__proto__"')
      expect(Object.keys(odd ?? {})).toEqual(["__proto__"])
    }),
  )

  it.live("ends a statement that takes too long, also in the database", () =>
    Effect.gen(function* () {
      const statement = "SELECT pg_sleep(60)"
      expect(yield* refused({ statement, timeoutSeconds: 1 })).toBe(
        "No complete answer came within 1 s",
      )
      const { left } = (yield* rowOf(`SELECT count(*)::int4 AS left FROM pg_stat_activity
        WHERE state = 'active' AND query = '${statement}' AND now() - query_start > '3 s'`))!
      expect(left).toBe(0)
    }),
  )

  it.live("says what the database says, and lets another attempt be made where that can help", () =>
    Effect.gen(function* () {
      const error = (statement: string) =>
        Effect.flip(query({ statement, parameters: [] })).pipe(
          Effect.map(({ message, retryable }) => [message, retryable !== false]),
        )
      expect(yield* error("SELECT nothing")).toEqual([
        'The database says: column "nothing" does not exist (42703)',
        false,
      ])
      const raised = "DO $$ BEGIN RAISE EXCEPTION 'wait' USING ERRCODE = '40001'; END $$"
      const again = yield* Effect.flip(query({ statement: raised }, "write"))
      expect([again.message, again.retryable]).toEqual([
        "The database says: wait (40001)",
        undefined,
      ])
      expect(yield* refused({ database: "nowhere", statement: "SELECT 1" })).toBe(
        'The database says: database "nowhere" does not exist (3D000)',
      )
    }),
  )

  it("says at the start what is wrong with its literals", () => {
    const check = (port: string, value: Json) => clauses(postgresQuery, port, value)
    for (const port of ["user", "password", "database", "statement"]) {
      expect(check(port, "a\0replication\0true")).toEqual(["expected text without NUL"])
    }
    expect(check("certificates", "nonsense")).toEqual(["expected certificates as PEM text"])
    expect(check("maxRows", 10_001)).toHaveLength(1)
    expect(check("port", 0)).toHaveLength(1)
    expect(check("tls", "maybe")).toHaveLength(1)
    expect(check("parameters", Array(1_001).fill(1))).toHaveLength(1)
  })
})
