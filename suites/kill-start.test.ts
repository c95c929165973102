/**
 * Many servers that start at the same time on a database in which there is nothing yet.
 */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest"
import { Fleet } from "../packages/server/test/kill/Fleet.ts"
import { query } from "../packages/server/test/kill/Sql.ts"
import { busyMachine } from "../packages/server/test/ServerProcess.ts"
import { PostgresServer } from "../packages/postgres/test/PostgresServer.ts"

vi.setConfig({ testTimeout: 300_000, hookTimeout: 120_000 })

let postgres: PostgresServer
let folder = ""
beforeAll(async () => {
  postgres = await PostgresServer.create()
  folder = mkdtempSync(join(tmpdir(), "millrace-start-"))
})
afterAll(async () => {
  await postgres.remove()
  rmSync(folder, { recursive: true, force: true })
})

/** Everything that a schema consists of, in one order. */
const schemaOf = (url: string) =>
  query(
    url,
    `SELECT c.relname AS name, c.relkind AS kind, a.attname AS part
     FROM pg_class c LEFT JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0
     WHERE c.relnamespace = 'public'::regnamespace ORDER BY 1, 2, a.attnum`,
  )

const schemas: Array<unknown> = []

describe("ten servers that start at once on an empty database", () => {
  it.each([1, 2, 3])("make one schema, and none of them fails (round %i)", async (round) => {
    await query(postgres.url, `CREATE DATABASE round_${round}`)
    const url = postgres.url.replace(/\/postgres$/, `/round_${round}`)
    const fleet = new Fleet({ url, journal: join(folder, "journal"), size: 10 })
    try {
      await fleet.ready()
      const answers = fleet
        .origins()
        .map(async (origin) => (await fetch(`${origin}/readyz`)).status)
      expect(await Promise.all(answers)).toEqual(Array.from({ length: 10 }, () => 200))
      const applied = "SELECT migration_id::int AS id, count(*)::int AS times"
      const rows = await query<{ id: number; times: number }>(
        url,
        `${applied} FROM millrace_migrations GROUP BY 1 ORDER BY 1`,
      )
      expect(rows.map(({ times }) => times)).toEqual(rows.map(() => 1))
      schemas.push(await schemaOf(url))
      expect(schemas.at(-1)).toEqual(schemas[0])
      const ends = await fleet.stop()
      expect(ends).toEqual(ends.map(() => ({ code: 0, signal: null })))
      expect(fleet.seats.flatMap(({ ends: all }) => all).length).toBe(10)
      expect(fleet.output.replaceAll(busyMachine, "")).not.toMatch(/"level":"(WARN|ERROR|FATAL)"/)
    } finally {
      await fleet.clear()
    }
  })
})
