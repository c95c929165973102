/**
 * Statements to a database from beside every server, each over a connection of its own.
 */
import * as Postgres from "@millrace/postgres/Postgres"
import { Effect, Redacted } from "effect"
import { SqlClient } from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"
import { setTimeout as sleep } from "node:timers/promises"

/** Runs an effect with a client of the database. */
export const withSql = <A, E>(
  url: string,
  use: (sql: SqlClient) => Effect.Effect<A, E>,
): Promise<A> =>
  Effect.runPromise(
    Effect.provide(
      Effect.flatMap(SqlClient, use),
      Postgres.layer({ url: Redacted.make(url), maxConnections: 1 }),
    ),
  )

/** The rows of one statement. */
export const query = <A extends object>(
  url: string,
  statement: string,
  parameters: ReadonlyArray<unknown> = [],
): Promise<ReadonlyArray<A>> => withSql(url, (sql) => sql.unsafe<A>(statement, parameters))

/** The sessions of servers, in the order of their beginning. */
export const sessionsOf = async (url: string): Promise<ReadonlyArray<number>> => {
  const rows = await query<{ readonly pid: number }>(
    url,
    `SELECT pid FROM pg_stat_activity
     WHERE application_name = 'millrace' AND pid <> pg_backend_pid()
     ORDER BY backend_start, pid`,
  )
  return rows.map(({ pid }) => pid)
}

/** Ends a session as an administrator would. */
export const terminate = (url: string, pid: number): Promise<unknown> =>
  query(url, "SELECT pg_terminate_backend($1)", [pid])

/** How many sessions are held for nothing. */
const hogs = `SELECT count(*)::int AS held FROM pg_stat_activity WHERE application_name = 'hog'`

const sessionsOfServers = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
  WHERE application_name = 'millrace' AND backend_type = 'client backend'
    AND pid <> pg_backend_pid()`

/** Holds every connection that a database has to give, so that servers get none. */
export class Hogs {
  readonly #url: string
  readonly #hogs: Array<Promise<unknown>> = []
  #isOver = false

  constructor(url: string) {
    this.#url = url
  }

  /** Takes all that are free, and those of the servers as well. */
  takeAll(): Promise<void> {
    return new Promise((resolve, reject) => {
      const watch = withSql(this.#url, (sql) => this.#watch(sql, resolve))
      this.#hogs.push(watch.catch(reject))
    })
  }

  /** Gives everything back. */
  async release(): Promise<void> {
    this.#isOver = true
    await Promise.all(this.#hogs)
  }

  /** As long as a server was quicker than a hog, its session is ended again. */
  #watch(sql: SqlClient, onTaken: () => void): Effect.Effect<void, SqlError> {
    const isOver = () => this.#isOver
    const take = () => this.#hogs.push(this.#take())
    return Effect.gen(function* () {
      const most = "SELECT current_setting('max_connections')::int AS most"
      const [row] = yield* sql.unsafe<{ readonly most: number }>(most)
      for (let index = 0; index < (row?.most ?? 0); index++) take()
      while (!isOver()) {
        yield* Effect.sleep(200)
        const ended = yield* sql.unsafe(sessionsOfServers)
        const [count] = yield* sql.unsafe<{ readonly held: number }>(hogs)
        // All but the one of this session.
        if (ended.length === 0 && count?.held === (row?.most ?? 0) - 1) onTaken()
      }
    })
  }

  /** Tries until there is a place, and keeps that. */
  async #take(): Promise<void> {
    const isOver = () => this.#isOver
    const hold = (sql: SqlClient) =>
      Effect.gen(function* () {
        yield* sql.unsafe("SET application_name = 'hog'")
        while (!isOver()) yield* Effect.sleep(50)
      })
    while (!this.#isOver) {
      // The one for which there is no place would keep this process busy with its tries.
      await withSql(this.#url, hold).catch(() => sleep(20))
    }
  }
}
