/**
 * The empty database that this package brings along, beside one that PGlite makes itself.
 */
import { PGlite } from "@electric-sql/pglite"
import { afterAll, beforeAll, expect, it } from "vitest"
import * as PreparedDatabase from "../src/internal/PreparedDatabase.ts"

/** What tells one empty database from another: version, settings, encoding, and every object. */
const facts = {
  version: "SELECT version()",
  settings: "SELECT name, setting FROM pg_settings ORDER BY name",
  databases: "SELECT datname, encoding, datcollate, datctype FROM pg_database ORDER BY datname",
  roles: "SELECT rolname, rolsuper FROM pg_roles ORDER BY rolname",
  tables: "SELECT relname, relkind FROM pg_class ORDER BY oid, relname",
  functions: "SELECT oid, proname FROM pg_proc ORDER BY oid",
  extensions: "SELECT extname, extversion FROM pg_extension ORDER BY extname",
} as const

let prepared: PGlite
let made: PGlite

beforeAll(async () => {
  prepared = await PGlite.create({ loadDataDir: await PreparedDatabase.read() })
  made = await PGlite.create()
})
afterAll(async () => {
  await prepared.close()
  await made.close()
})

it.each(Object.entries(facts))("The prepared database has the %s of a new one", async (_, sql) => {
  const { rows } = await prepared.query(sql)
  expect(rows.length).toBeGreaterThan(0)
  expect(rows).toEqual((await made.query(sql)).rows)
})
