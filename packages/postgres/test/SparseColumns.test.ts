/**
 * A statement may leave sparse columns out: the database knows no other value for them than none.
 */
import { assert, describe, it } from "@effect/vitest"
import { Stores } from "@millrace/postgres"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql/SqlClient"
import * as Rows from "../src/internal/Rows.ts"
import * as TestPostgres from "./TestPostgres.ts"

const sparseNames = (table: Rows.Table<never>) =>
  table.flatMap(({ isSparse, name }) => (isSparse === true ? [name] : []))

describe("Sparse columns", () => {
  it.live("are null where a statement does not name them", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const nullable = (table: string) =>
        Effect.map(
          sql<{ readonly name: string }>`SELECT column_name AS name FROM information_schema.columns
            WHERE table_name = ${table} AND column_default IS NULL AND is_nullable = 'YES'
              AND is_generated = 'NEVER'`,
          (rows) => new Set(rows.map(({ name }) => name)),
        )
      const [ofRuns, ofEvents] = [yield* nullable("runs"), yield* nullable("run_events")]
      assert.isAbove(sparseNames(Rows.newRunColumns).length, 10)
      assert.deepStrictEqual(
        [
          ...sparseNames(Rows.newRunColumns).filter((name) => !ofRuns.has(name)),
          ...sparseNames(Rows.events).filter((name) => !ofEvents.has(name)),
        ],
        [],
      )
    }).pipe(Effect.provide(Layer.provideMerge(Stores.layer, TestPostgres.layer))),
  )
})
