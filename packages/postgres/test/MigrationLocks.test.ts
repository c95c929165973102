/**
 * Migrations beside servers of the version before, which go on with their work.
 */
import { assert, describe, it } from "@effect/vitest"
import { check, migrate, migrateWith } from "@millrace/postgres/Migrations"
import { Deferred, Effect, Fiber } from "effect"
import { SqlClient } from "effect/sql/SqlClient"
import { causeOf } from "../src/internal/DatabaseError.ts"
import * as TestPostgres from "./TestPostgres.ts"

/** What servers of schema 6 do to runs: they begin, claim, take over, keep, read and write them. */
const before = [
  "INSERT INTO runs (id, fence) SELECT NULL, NULL WHERE false",
  "UPDATE runs r SET fence = r.fence + 1, owner = NULL FROM open_runs o WHERE r.number = o.run",
  "UPDATE runs SET fence = fence + 1, owner = NULL, due_at = NULL WHERE id = ''",
  `SELECT r.id, r.fence FROM open_runs o CROSS JOIN LATERAL (
    SELECT id, fence FROM runs r WHERE r.number = o.run OFFSET 0
  ) r WHERE o.owner = ''`,
  "SELECT json_build_object('fence', r.fence) FROM runs r WHERE r.id = ''",
  "UPDATE runs r SET revision = 1 WHERE r.id = '' AND r.fence = 1 AND r.revision = 0",
  "INSERT INTO node_runs (run, node_id, input) SELECT 1, '', NULL WHERE false",
]

describe("Migrations.migrate", () => {
  it.live("waits for nobody where the tables are current", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      yield* migrate
      const isLocked = yield* Deferred.make<void>()
      const other = Effect.gen(function* () {
        yield* sql`SELECT pg_advisory_xact_lock(
          hashtext('millrace_migrations'), hashtext(current_schema()))`
        yield* Deferred.succeed(isLocked, undefined)
        return yield* Effect.never
      })
      const migrating = yield* Effect.forkChild(sql.withTransaction(other))
      yield* Deferred.await(isLocked)
      yield* migrate
      yield* Fiber.interrupt(migrating)
    }).pipe(Effect.provide(TestPostgres.layer)),
  )

  it.live("goes on where it was in the way of a server of the version before", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      yield* migrateWith({ to: 1, lockMillis: 1_000, attempts: 1 })
      const isLocked = yield* Deferred.make<void>()
      const heartbeat = Effect.gen(function* () {
        // Whoever looks first into a circle is broken off: that is the migration.
        yield* sql`SET LOCAL deadlock_timeout = '1h'`
        yield* sql`LOCK TABLE runners IN ROW EXCLUSIVE MODE`
        yield* Deferred.succeed(isLocked, undefined)
        yield* TestPostgres.untilBlocked
        yield* sql`SELECT FROM open_runs`
      })
      const server = yield* Effect.forkChild(sql.withTransaction(heartbeat))
      yield* Deferred.await(isLocked)
      yield* migrate
      yield* Fiber.join(server)
      yield* check
    }).pipe(Effect.provide(TestPostgres.layer)),
  )

  it.live("says what to do where the tables stay in use, and leaves them as they are", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      yield* migrateWith({ to: 1, lockMillis: 1_000, attempts: 1 })
      const isLocked = yield* Deferred.make<void>()
      const use = Effect.gen(function* () {
        yield* sql`LOCK TABLE runners IN ROW EXCLUSIVE MODE`
        yield* Deferred.succeed(isLocked, undefined)
        return yield* Effect.never
      })
      const user = yield* Effect.forkChild(sql.withTransaction(use))
      yield* Deferred.await(isLocked)
      const { message } = yield* Effect.flip(migrateWith({ to: 2, lockMillis: 20, attempts: 2 }))
      assert.match(
        message,
        /the tables are in use: .* in 2 attempts \(.*lock timeout\)\. Nothing was/,
      )
      yield* Fiber.interrupt(user)
      const { message: state } = yield* Effect.flip(check)
      assert.match(state, /schema 1, /)
      yield* migrate
      yield* check
    }).pipe(Effect.provide(TestPostgres.layer)),
  )

  it.live("leaves a server of the version before nothing that it could claim or write", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      yield* migrateWith({ to: 6, lockMillis: 1_000, attempts: 1 })
      for (const statement of before) yield* sql.unsafe(statement)
      yield* migrate
      for (const statement of before) {
        const error = yield* Effect.flip(sql.unsafe(statement))
        assert.match(String(causeOf(error)), /column .*(fence|input)"? .*does not exist/)
      }
    }).pipe(Effect.provide(TestPostgres.layer)),
  )
})
