/** Reading runs on Postgres: many that are read at once share statements. */
import { assert, describe, it } from "@effect/vitest"
import { Samples } from "@millrace/conformance"
import { RunStore } from "@millrace/core/ports/RunStore"
import { Postgres, Stores } from "@millrace/postgres"
import { Context, Effect, Layer, Option } from "effect"
import { SqlClient } from "effect/sql/SqlClient"
import { storesOver } from "./CountedStatements.ts"
import * as TestPostgres from "./TestPostgres.ts"

describe("RunStore.find of many at once", () => {
  it.live("shares statements, of which each reads eight at most", () =>
    Effect.gen(function* () {
      const connect = Postgres.layer({ url: yield* TestPostgres.url })
      const server = yield* Layer.build(Layer.provideMerge(Stores.layer, connect))
      const samples = yield* Samples.make
      const runs = Array.from({ length: 80 }, () => samples.run())
      const { commit } = Context.get(server, RunStore)
      yield* Effect.forEach(runs, (run) => commit(Samples.newRun(run)), { discard: true })

      const { count, stores } = yield* storesOver(Context.get(server, SqlClient), "FROM node_runs")
      const { find } = Context.get(stores, RunStore)
      const found = yield* Effect.forEach(runs, ({ accountId, id }) => find(accountId, id), {
        concurrency: "unbounded",
      })
      assert.isTrue(found.every(Option.isSome))
      assert.isAtLeast(count(), 10)
      assert.isAtMost(count(), 20)
    }).pipe(Effect.scoped),
  )
})
