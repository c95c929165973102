/**
 * What is particular to claims on Postgres: what they cost when there are many runs, and that a
 * process that freezes in one keeps nobody else from claiming.
 */
import { assert, layer } from "@effect/vitest"
import { Samples } from "@millrace/conformance"
import { type ClaimRequest, RunStore } from "@millrace/core/ports/RunStore"
import { Postgres, Stores } from "@millrace/postgres"
import { Context, Deferred, Effect, Fiber, Layer, type Redacted } from "effect"
import { SqlClient } from "effect/sql/SqlClient"
import * as TestPostgres from "./TestPostgres.ts"

/** The address of one database for all tests of the file. */
class Address extends Context.Service<Address, Redacted.Redacted>()("Address") {
  static readonly layer = Layer.effect(Address, TestPostgres.url)
}

/** One connection, so that its plans and its statistics are seen from within. */
const layerDatabase = TestPostgres.withoutAutovacuum(Stores.layer).pipe(
  Layer.provideMerge(
    Layer.unwrap(Effect.map(Address, (url) => Postgres.layer({ url, maxConnections: 1 }))),
  ),
  Layer.provideMerge(Address.layer),
)

/** Rows and entries of indexes that were read of runs so far. */
const readSoFar = Effect.gen(function* () {
  const sql = yield* SqlClient
  yield* sql`SELECT pg_stat_force_next_flush()`
  yield* sql`SELECT pg_stat_clear_snapshot()`
  const rows = yield* sql<{ readonly count: number }>`
    SELECT (
      (SELECT sum(seq_tup_read) FROM pg_stat_user_tables WHERE relname IN ('runs', 'open_runs')) +
      (SELECT sum(idx_tup_read) FROM pg_stat_user_indexes WHERE relname IN ('runs', 'open_runs'))
    )::int AS count`
  return rows[0]!.count
})

/** Copies a run so often, parked, queued or owned, each an hour younger than the one before. */
const copies = Effect.fnUntraced(function* (
  of: string,
  count: number,
  dueAt: number | null,
  owner: string | null = null,
) {
  const sql = yield* SqlClient
  yield* sql`
    WITH copied AS (
      INSERT INTO runs OVERRIDING SYSTEM VALUE
      SELECT (r).* FROM (
        SELECT jsonb_populate_record(r, jsonb_build_object(
          'number', nextval(pg_get_serial_sequence('runs', 'number')),
          'id', concat_ws('-', r.id, n, ${dueAt}::text), 'owner', ${owner}::text,
          'created_at', r.created_at + n::int8 * 3600000, 'due_at', ${dueAt}::int8 + n)) AS r
        FROM runs r, generate_series(1, ${count}::int) n WHERE r.id = ${of}
      ) r RETURNING *
    )
    INSERT INTO open_runs (run, owner, due_at, created_at, account_id, workflow_id)
    SELECT number, owner, due_at, created_at, account_id, workflow_id FROM copied`.pipe(
    Effect.asVoid,
  )
})

const limit = 5

const claimOf = Effect.fnUntraced(function* (wishes: Partial<ClaimRequest>) {
  const store = yield* RunStore
  const samples = yield* Samples.make
  const request = { runner: samples.runner(), leaseMillis: 3_600_000, limit, ...wishes }
  return yield* store.claim(request)
})

/** A runner that has a lease. */
const claimOnce = Effect.gen(function* () {
  const runner = (yield* Samples.make).runner()
  yield* claimOf({ runner, limit: 0 })
  return runner
})

const wishes: ReadonlyArray<Partial<ClaimRequest>> = [
  {},
  { runsPerAccount: 1_000, runsPerWorkflow: 1_000 },
]

layer(layerDatabase, { timeout: "120 seconds", excludeTestServices: true })(
  "RunClaims.claim",
  (test) => {
    test.effect("reads a definition once, and those that it does not know", () =>
      Effect.gen(function* () {
        const [sql, store] = [yield* SqlClient, yield* RunStore]
        const samples = yield* Samples.make
        const definitionId = "wf_often@1"
        const [first, second, third] = [
          samples.run({ definitionId }),
          samples.run({ definitionId }),
          samples.run({ definitionId: "wf_rare@1" }),
        ]
        yield* store.commit(Samples.newRun(first))
        const [before] = yield* claimOf({})
        yield* sql`UPDATE definitions SET nodes = '[]' WHERE id = ${definitionId}`
        yield* store.commit(Samples.newRun(second))
        yield* store.commit(Samples.newRun(third))
        const records = yield* claimOf({})
        assert.sameMembers(
          records.map(({ definition, run }) => `${run.id} ${definition.id}`),
          [`${second.id} ${definitionId}`, `${third.id} wf_rare@1`],
        )
        for (const { definition } of records) {
          assert.deepStrictEqual(definition.nodes, before!.definition.nodes)
        }
        assert.isNotEmpty(before!.definition.nodes)
      }),
    )

    test.effect("reads what it takes, however many runs are parked, queued and owned", () =>
      Effect.gen(function* () {
        const [sql, store] = [yield* SqlClient, yield* RunStore]
        const samples = yield* Samples.make
        // By now the statements are prepared, and planned for tables with next to nothing in them.
        for (let n = 0; n < 8; n++) {
          for (const wish of wishes) {
            yield* store.commit(Samples.newRun(samples.run()))
            assert.strictEqual((yield* claimOf(wish)).length, 1)
          }
          assert.strictEqual((yield* claimOf({})).length, 0)
        }
        const run = samples.run()
        yield* store.commit(Samples.newRun(run))
        yield* copies(run.id, 20_000, 9_000_000_000_000)
        yield* copies(run.id, 10_000, null)
        const busy = samples.run({ accountId: samples.stranger })
        yield* store.commit(Samples.newRun(busy))
        yield* copies(busy.id, 10_000, null, yield* claimOnce)
        for (const analyzed of [false, true]) {
          if (analyzed) yield* sql`ANALYZE`
          // Under caps, statistics make the planner read more.
          for (const wish of analyzed ? [{}] : wishes) {
            const before = yield* readSoFar
            assert.strictEqual((yield* claimOf(wish)).length, limit)
            const read = (yield* readSoFar) - before
            assert.isAtMost(read, 30 * limit, `${JSON.stringify(wish)}, ${String(analyzed)}`)
          }
        }
      }),
    )

    test.effect("counts under caps what a server of the version before has inserted", () =>
      Effect.gen(function* () {
        const [sql, store] = [yield* SqlClient, yield* RunStore]
        const samples = yield* Samples.make
        const [dead, owner, other] = [samples.runner(), samples.runner(), samples.runner()]
        yield* store.heartbeat(dead, 0)
        const [taken, claimed] = [1, 2].map(() =>
          samples.run({ status: "RUNNING", owner: dead, fence: 1, createdAt: 1 }),
        )
        yield* store.heartbeat(owner, 3_600_000)
        yield* store.commit(Samples.newRun(taken!))
        yield* store.commit(Samples.newRun(claimed!))
        yield* sql`UPDATE open_runs SET account_id = NULL, workflow_id = NULL WHERE owner = ${dead}`
        yield* store.takeOver(samples.account, taken!.id, owner)
        const [found] = yield* claimOf({ runner: owner, limit: 1 })
        assert.strictEqual(found?.run.id, claimed!.id)
        yield* store.commit(Samples.newRun(samples.run()))
        for (const cap of [{ runsPerAccount: 2 }, { runsPerWorkflow: 2 }]) {
          assert.deepStrictEqual(yield* claimOf({ runner: other, ...cap }), [])
        }
        assert.strictEqual((yield* claimOf({ runner: other, runsPerAccount: 3 })).length, 1)
      }),
    )

    test.effect("finds the one due run of an account behind thousands of another one", () =>
      Effect.gen(function* () {
        const [samples, store] = [yield* Samples.make, yield* RunStore]
        const [crowd, one] = [samples.run(), samples.run({ accountId: samples.stranger })]
        yield* store.commit(Samples.newRun(crowd))
        yield* copies(crowd.id, 3_500, 1_000_000)
        yield* store.commit(Samples.newRun({ ...one, dueAt: 2_000_000 }))
        // Each claim puts a thousand of those that are due into the queue before it takes any.
        const claims = yield* Effect.forEach([1, 2, 3, 4, 5], () => claimOf({}))
        const taken = claims.flat().map(({ run }) => run.id)
        assert.strictEqual(new Set(taken).size, 5 * limit)
        assert.include(taken, one.id)
      }),
    )

    test.effect("is done with putting runs into the queue once all that are due are there", () =>
      Effect.gen(function* () {
        const [samples, store] = [yield* Samples.make, yield* RunStore]
        const sql = yield* SqlClient
        const crowd = samples.run()
        yield* store.commit(Samples.newRun(crowd))
        yield* copies(crowd.id, 3_500, 1_000_000)
        const left = sql<{ readonly count: number }>`
          SELECT count(*)::int AS count FROM open_runs WHERE due_at < 100000000`
        yield* claimOf({})
        yield* Effect.repeat(left, { until: ([row]) => row!.count === 0 })
        const before = yield* readSoFar
        for (let n = 0; n < 20; n++) yield* sql`SELECT 1`
        assert.strictEqual(yield* readSoFar, before)
      }),
    )

    test.effect("is not held up by a process that freezes while it claims under caps", () =>
      Effect.gen(function* () {
        const [url, samples, store] = [yield* Address, yield* Samples.make, yield* RunStore]
        for (let n = 0; n < 2 * limit; n++) yield* store.commit(Samples.newRun(samples.run()))
        const claimed = yield* Deferred.make<void>()
        const capped = { runsPerAccount: 1_000 }
        const freeze = Effect.gen(function* () {
          const sql = yield* SqlClient
          yield* sql.withTransaction(
            claimOf(capped).pipe(
              Effect.andThen(Deferred.succeed(claimed, undefined)),
              Effect.andThen(Effect.never),
            ),
          )
        })
        const frozen = yield* Stores.layer.pipe(
          Layer.provideMerge(Postgres.layer({ url })),
          (stores) => Effect.provide(freeze, stores),
          Effect.forkChild,
        )
        yield* Deferred.await(claimed)
        const records = yield* Effect.timeout(claimOf(capped), "30 seconds")
        assert.strictEqual(records.length, limit)
        yield* Fiber.interrupt(frozen)
      }),
    )
  },
)
