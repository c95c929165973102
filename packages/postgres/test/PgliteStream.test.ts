/**
 * The driver of Postgres over PGlite: what a connection must survive.
 */
import { PgClient } from "@effect/sql-pg"
import { PGlite } from "@electric-sql/pglite"
import { assert, describe, it, layer } from "@effect/vitest"
import { Pglite } from "@millrace/postgres"
import * as PgliteStream from "../src/internal/PgliteStream.ts"
import { Deferred, Effect, Exit, Fiber } from "effect"
import { Reactivity } from "effect/reactivity"
import { SqlClient } from "effect/sql/SqlClient"

interface Answer {
  readonly answer: number
}

layer(Pglite.layerMemory, { timeout: "120 seconds", excludeTestServices: true })(
  "Pglite.layerMemory",
  (it) => {
    it.effect("answers concurrent statements each with its own rows", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient
        const numbers = Array.from({ length: 200 }, (_, n) => n)
        const rows = yield* Effect.forEach(
          numbers,
          (n) => sql<Answer>`SELECT ${n}::int AS answer`,
          { concurrency: "unbounded" },
        )
        assert.deepStrictEqual(
          rows.map(([row]) => row?.answer),
          numbers,
        )
      }),
    )

    it.effect("carries statements and rows of many megabytes", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient
        const text = "x".repeat(20_000_000)
        const rows = yield* sql<{ readonly text: string }>`SELECT ${text}::text AS text`
        assert.strictEqual(rows[0]?.text.length, text.length)
        const many = yield* sql`SELECT repeat('y', 1000) FROM generate_series(1, 10000)`
        assert.strictEqual(many.length, 10_000)
      }),
    )

    it.effect("goes on after an error, also within a transaction", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient
        const syntax = yield* Effect.flip(sql`SELEC 1`)
        assert.strictEqual(syntax.reason._tag, "SqlSyntaxError")
        const broken = sql.withTransaction(Effect.andThen(sql`SELECT 1 / 0`, sql`SELECT 1`))
        assert.strictEqual((yield* Effect.flip(broken))._tag, "SqlError")
        const rows = yield* sql<Answer>`SELECT 42 AS answer`
        assert.strictEqual(rows[0]?.answer, 42)
      }),
    )

    it.effect("goes on after statements that were interrupted", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient
        yield* sql`CREATE TABLE counted (n int)`
        for (let n = 0; n < 50; n++) {
          const slow = sql`SELECT count(*) FROM generate_series(1, ${n * 1_000}::int)`
          const work = n % 2 === 0 ? slow : sql.withTransaction(Effect.andThen(slow, slow))
          const fiber = yield* Effect.forkChild(work, { startImmediately: true })
          for (let turn = 0; turn < n % 7; turn++) yield* Effect.yieldNow
          yield* Fiber.interrupt(fiber)
          yield* sql`INSERT INTO counted VALUES (${n})`
          const rows = yield* sql<Answer>`SELECT count(*)::int AS answer FROM counted`
          assert.strictEqual(rows[0]?.answer, n + 1)
        }
      }),
    )

    it.effect("rolls back the transaction of a caller that was interrupted", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient
        yield* sql`CREATE TABLE left_over (n int)`
        const inserted = yield* Deferred.make<void>()
        const work = sql`INSERT INTO left_over VALUES (1)`.pipe(
          Effect.andThen(Deferred.succeed(inserted, undefined)),
          Effect.andThen(Effect.never),
        )
        const fiber = yield* Effect.forkChild(sql.withTransaction(work))
        yield* Deferred.await(inserted)
        yield* Fiber.interrupt(fiber)
        assert.deepStrictEqual(yield* sql`SELECT n FROM left_over`, [])
      }),
    )

    it.effect("leaves other work its turn between statements", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient
        let turns = 0
        const timer = setInterval(() => (turns += 1), 1)
        // So many statements, not so much time: where each takes longer there are more turns.
        const ask = Effect.repeat(sql`SELECT 1`, { times: 500 })
        yield* Effect.all([ask, ask], { concurrency: 2 })
        clearInterval(timer)
        assert.isAbove(turns, 30)
      }),
    )
  },
)

describe("PgliteStream.connect", () => {
  it.live("leaves nothing of a connection that broke to the next one", () =>
    Effect.gen(function* () {
      const db = yield* Effect.acquireRelease(
        Effect.promise(() => PGlite.create()),
        (open) => Effect.promise(() => open.close()),
      )
      const sql = yield* PgClient.make({
        stream: () => PgliteStream.connect(db),
        username: "postgres",
        database: "postgres",
        maxConnections: 1,
        maxMessageSize: 1_000_000,
      })
      yield* sql`CREATE TABLE things (n int)`
      const insert = sql`INSERT INTO things VALUES (1)`
      const tooLarge = sql`SELECT repeat('x', 2000000)`
      const broken = yield* Effect.exit(sql.withTransaction(Effect.andThen(insert, tooLarge)))
      assert.isTrue(Exit.isFailure(broken))
      assert.deepStrictEqual(yield* sql`SELECT n FROM things`, [])
      const prepared = yield* sql`SELECT name FROM pg_prepared_statements`
      assert.isAtMost(prepared.length, 2)
    }).pipe(Effect.provide(Reactivity.layer)),
  )
})
