/**
 * The connection of the thread that keeps leases: what an address means to it, and that a statement
 * which hangs does not hold up the next one.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { SqlClient } from "effect/sql/SqlClient"
import { configsOf, LeaseConnection } from "../src/internal/LeaseConnection.ts"
import { Postgres } from "@millrace/postgres"
import * as TestPostgres from "./TestPostgres.ts"

describe("LeaseConnection.configsOf", () => {
  it("reads an address as the driver of the stores does", () => {
    const [config, ...others] = configsOf(
      "postgres://us%20er:p%40ss@db.example:6543/orders?sslmode=require&options=-c%20a%3Db",
    )
    assert.deepInclude(config, {
      host: "db.example",
      port: 6543,
      user: "us er",
      password: "p@ss",
      database: "orders",
      options: "-c a=b",
      ssl: true,
    })
    assert.deepStrictEqual(others, [])
  })

  it("lets parameters win, knows sockets and IPv6, and uses no TLS unless it is asked for", () => {
    const [config] = configsOf(
      "postgres://localhost/a?host=%2Frun%2Fpg&port=1&user=u&password=p&dbname=d",
    )
    const wanted = { host: "/run/pg", port: 1, user: "u", password: "p", database: "d", ssl: false }
    assert.deepInclude(config, wanted)
    assert.deepInclude(configsOf("postgres://[::1]")[0], { host: "::1", port: 5432 })
  })

  it("tries without TLS, too, only if the address leaves that open", () => {
    const tls = (mode: string) => configsOf(`postgres://h/?sslmode=${mode}`).map(({ ssl }) => ssl)
    assert.deepStrictEqual(tls("prefer"), [true, false])
    assert.deepStrictEqual(tls("verify-full"), [true])
    assert.deepStrictEqual(tls("disable"), [false])
  })
})

/** A connection to the database of a test, over an address with this parameter. */
const open = (parameter: string) =>
  Effect.map(TestPostgres.url, (address) => {
    const url = new URL(Redacted.value(address))
    url.searchParams.set("sslmode", parameter)
    const connection = new LeaseConnection(url.href)
    return { connection, layer: Postgres.layer({ url: address, maxConnections: 1 }) }
  })

describe("LeaseConnection.send", () => {
  it.live("goes on over another connection when a statement hangs or fails", () =>
    Effect.gen(function* () {
      const { connection, layer } = yield* open("disable")
      const send = (...statements: Parameters<LeaseConnection["send"]>[1][]) =>
        Effect.exit(Effect.tryPromise(() => connection.send(500, ...statements)))
      const hung = yield* send(["SELECT pg_sleep(60)"])
      assert.strictEqual(hung._tag, "Failure")
      assert.strictEqual((yield* send(["SELECT 1 / 0"]))._tag, "Failure")
      const sent = yield* send(
        ["CREATE TABLE said (what text)"],
        ["INSERT INTO said SELECT $1", "a"],
      )
      assert.strictEqual(sent._tag, "Success")
      const said = yield* SqlClient.use((sql) => sql`SELECT what FROM said`).pipe(
        Effect.provide(layer),
      )
      assert.deepStrictEqual(said, [{ what: "a" }])
      connection.close()
    }).pipe(Effect.scoped),
  )

  it.live("uses a server without TLS where the address allows it, and fails where not", () =>
    Effect.gen(function* () {
      for (const [mode, outcome] of [
        ["prefer", "Success"],
        ["require", "Failure"],
      ] as const) {
        const { connection } = yield* open(mode)
        const exit = yield* Effect.exit(
          Effect.tryPromise(() => connection.send(5_000, ["SELECT 1"])),
        )
        assert.strictEqual(exit._tag, outcome)
        connection.close()
      }
    }).pipe(Effect.scoped),
  )
})
