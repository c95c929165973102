/**
 * A real Postgres for tests and benchmarks: the server that `DATABASE_URL` names, or our own one.
 *
 * Guarantees: each scope gets an empty schema or server, and nothing of it is left when the scope
 * closes or the process dies, however it dies. Our own server waits for the disk only where that
 * is what a measurement is about. Leaves out: Windows.
 */
import { PgClient } from "@effect/sql-pg"
import { Postgres, Stores } from "@millrace/postgres"
import { Effect, Layer, Redacted, Schedule, type Scope } from "effect"
import { Reactivity } from "effect/reactivity"
import { SqlClient } from "effect/sql/SqlClient"
import { randomUUID } from "node:crypto"
import { basename } from "node:path"
import type { Durability } from "./PostgresServer.ts"
import { PostgresServer } from "./PostgresServer.ts"

/**
 * The address of an empty server of our own, which is gone when the scope closes. `more` are
 * settings of its command line.
 */
export const ownServer = (
  durability: Durability,
  more = "",
): Effect.Effect<Redacted.Redacted, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.promise(() => PostgresServer.create(durability, more)),
    (server) => Effect.promise(() => server.remove()),
  ).pipe(Effect.map((server) => Redacted.make(server.url)))

/** A schema of our own on a server that is somebody else's. */
const ownSchema = (server: string): Effect.Effect<Redacted.Redacted, never, Scope.Scope> => {
  const schema = `millrace_test_${basename(randomUUID()).replaceAll("-", "")}`
  const url = new URL(server)
  url.searchParams.set("options", `-c search_path=${schema}`)
  const execute = (statement: string) =>
    PgClient.make({ url: Redacted.make(server), maxConnections: 1 }).pipe(
      Effect.flatMap((sql) => sql.unsafe(statement)),
      Effect.scoped,
      Effect.provide(Reactivity.layer),
      Effect.orDie,
    )
  return Effect.as(
    Effect.acquireRelease(execute(`CREATE SCHEMA ${schema}`), () =>
      execute(`DROP SCHEMA ${schema} CASCADE`),
    ),
    Redacted.make(url.href),
  )
}

/** The address of an empty database (or schema) that is there until the scope closes. */
export const url: Effect.Effect<Redacted.Redacted, never, Scope.Scope> = Effect.suspend(() => {
  const given = process.env["DATABASE_URL"]
  return given === undefined || given === ""
    ? ownServer("fast", "-c synchronous_commit=off")
    : ownSchema(given)
})

/** A client of such a database, without tables. */
export const layer = Layer.unwrap(Effect.map(url, (address) => Postgres.layer({ url: address })))

/**
 * Stores whose server looks at none of their tables by itself, whatever a test waits for: the
 * statistics that it gathers a minute after its start would change plans.
 */
export const withoutAutovacuum = <A, E, R>(stores: Layer.Layer<A, E, R>) =>
  Layer.tap(stores, () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const tables = yield* sql<{ readonly name: string }>`
        SELECT tablename AS name FROM pg_tables WHERE schemaname = current_schema()`
      for (const { name } of tables) {
        yield* sql`ALTER TABLE ${sql(name)} SET (autovacuum_enabled = false)`
      }
    }),
  )

/** The stores over such a database. */
export const layerStores = Layer.provide(Stores.layer, layer)

/** Waits until a statement waits for a lock. */
export const untilBlocked = SqlClient.use((sql) =>
  sql`SELECT FROM pg_locks WHERE NOT granted`.pipe(
    Effect.repeat({ schedule: Schedule.spaced("5 millis"), until: (rows) => rows.length > 0 }),
  ),
)
