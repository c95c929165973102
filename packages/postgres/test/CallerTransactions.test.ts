/**
 * Starts inside a transaction of an `SqlClient`: that of the stores, or one of the application's
 * own on the same database.
 */
import { assert, describe, it } from "@effect/vitest"
import { Samples } from "@millrace/conformance"
import * as Engine from "@millrace/core/engine/Engine"
import { define } from "@millrace/core/engine/NodeDefinition"
import { NodeTypes } from "@millrace/core/engine/NodeTypes"
import { CurrentRunnerOptions } from "@millrace/core/engine/RunnerOptions"
import { Runs } from "@millrace/core/engine/Runs"
import { Workflows } from "@millrace/core/engine/Workflows"
import { Pglite, Postgres, Stores, Wakeups } from "@millrace/postgres"
import { Context, Effect, Layer, type Redacted } from "effect"
import { SqlClient } from "effect/sql/SqlClient"
import * as TestPostgres from "./TestPostgres.ts"

const say = define({
  key: "say",
  inputs: {},
  outputs: {},
  run: () => Effect.succeed({}),
})

const postgresOf = (url: Redacted.Redacted) => Postgres.layer({ url, maxConnections: 4 })

const layerEngine = Layer.provide(Engine.layerWithoutWebhooks, NodeTypes.layer(say))

const engineOn = <E>(client: Layer.Layer<SqlClient, E>) =>
  Layer.provideMerge(layerEngine, Layer.provideMerge(Stores.layer, client))

/** The engine as {@link engineOn}, whose runner looks for runs only when it is told of them. */
const engineThatHears = (url: Redacted.Redacted) =>
  layerEngine.pipe(
    Layer.provide(
      Layer.effect(
        CurrentRunnerOptions,
        Effect.map(CurrentRunnerOptions, (usual) => ({ ...usual, pollMillis: 3_600_000 })),
      ),
    ),
    Layer.provideMerge(Wakeups.layer),
    Layer.provideMerge(Layer.provideMerge(Stores.layer, postgresOf(url))),
  )

const nodes = [{ id: "a", type: "say", position: { x: 0, y: 0 } }]
const content = { name: "Say", description: null, thumbnailUrl: null, nodes, edges: [] }

const makeOrders = SqlClient.use((sql) => sql`CREATE TABLE orders (run_id text)`)

const countOf = (sql: SqlClient, table: string) =>
  Effect.map(
    sql<{ readonly n: number }>`SELECT count(*)::int AS n FROM ${sql(table)}`,
    ([row]) => row?.n,
  )

/** Starts a run and inserts a row in one transaction of this client, and perhaps fails then. */
const order = Effect.fnUntraced(function* (sql: SqlClient, isLast: boolean, isOwn: boolean) {
  const runs = yield* Runs
  const { account } = yield* Samples.make
  const { id: workflowId } = yield* (yield* Workflows).create(account, content)
  const start = runs.startOnce(account, { workflowId }, { key: account, bodyHash: "hash" })
  const both = Effect.gen(function* () {
    const { runId } = yield* isOwn ? start : runs.within(sql)(start)
    assert.strictEqual((yield* isOwn ? start : runs.within(sql)(start)).isReplay, true)
    yield* sql`INSERT INTO orders VALUES (${runId})`
    return isLast ? yield* Effect.fail("last") : runId
  })
  return { account, runId: yield* sql.withTransaction(both) }
})

const together = Effect.fnUntraced(function* (sql: SqlClient, isOwn: boolean) {
  const { account, runId } = yield* order(sql, false, isOwn)
  const { run } = yield* Runs.use((runs) => runs.wait(account, runId))
  assert.strictEqual(run.status, "COMPLETED")
  assert.strictEqual(yield* Effect.flip(order(sql, true, isOwn)), "last")
  for (const table of ["orders", "runs", "start_keys"]) {
    assert.strictEqual(yield* countOf(sql, table), 1, table)
  }
})

describe("Runs.start", () => {
  it.live("takes part in a transaction of the stores' client, whose commit wakes the runner", () =>
    Effect.flatMap(TestPostgres.url, (url) =>
      Effect.gen(function* () {
        yield* makeOrders
        yield* together(yield* SqlClient, true)
      }).pipe(Effect.provide(engineThatHears(url))),
    ).pipe(Effect.scoped),
  )

  it.live("takes part in a transaction of the stores' client on PGlite", () =>
    Effect.gen(function* () {
      yield* makeOrders
      yield* together(yield* SqlClient, true)
      const elsewhere = { query: async () => ({ rows: [{ value: "another place" }] }) }
      const refused = Effect.flip(Runs.use((runs) => runs.within(elsewhere)(Effect.void)))
      assert.strictEqual(
        (yield* refused).message,
        "client: it does not reach the engine's tables: database and schema differ",
      )
    }).pipe(Effect.provide(engineOn(Pglite.layerMemory))),
  )

  it.live("takes part in a transaction of a client of the application's", () =>
    Effect.gen(function* () {
      const url = yield* TestPostgres.url
      const engine = yield* Layer.build(engineOn(postgresOf(url)))
      const own = Context.get(yield* Layer.build(Layer.fresh(postgresOf(url))), SqlClient)
      yield* Effect.provide(makeOrders, engine)
      yield* Effect.provide(together(own, false), engine)
      const outside = Effect.flip(Context.get(engine, Runs).within(own)(Effect.void))
      assert.strictEqual(
        (yield* outside).message,
        "client: no transaction is open here: start within its withTransaction",
      )
    }).pipe(Effect.scoped),
  )
})
