/**
 * What is particular to the stores on Postgres: migrations, transactions of the caller, and that a
 * commit that cannot be stored harms no other.
 */
import { assert, describe, it, layer, type Vitest } from "@effect/vitest"
import { Samples } from "@millrace/conformance"
import { KeyStore } from "@millrace/core/ports/KeyStore"
import { RunStore } from "@millrace/core/ports/RunStore"
import { WebhookStore } from "@millrace/core/ports/WebhookStore"
import { WorkflowStore } from "@millrace/core/ports/WorkflowStore"
import { Postgres, Stores } from "@millrace/postgres"
import { check, migrate } from "@millrace/postgres/Migrations"
import * as RunClaims from "../src/internal/RunClaims.ts"
import * as RunCommits from "../src/internal/RunCommits.ts"
import { Context, Effect, Layer, Option, Redacted } from "effect"
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

type Services = Layer.Success<typeof layerDatabase>

type Tests = Vitest.MethodsNonLive<Services>

const transactions = (test: Tests): void => {
  test.effect("take part in a transaction of the caller", () =>
    Effect.gen(function* () {
      const samples = yield* Samples.make
      const [sql, runs, keys] = [yield* SqlClient, yield* RunStore, yield* KeyStore]
      const run = samples.run()
      const work = Effect.gen(function* () {
        yield* runs.commit(Samples.newRun(run))
        yield* keys.insertAccount(samples.accountOf())
        yield* keys.insert(samples.key(), samples.hash())
        const within = yield* runs.find(samples.account, run.id)
        return yield* Effect.fail(Option.isSome(within))
      })
      assert.isTrue(yield* Effect.flip(sql.withTransaction(work)))
      assert.isTrue(Option.isNone(yield* runs.find(samples.account, run.id)))
      assert.deepStrictEqual(yield* keys.list(samples.account), [])
    }),
  )

  test.effect("keep a refused commit from spoiling the transaction", () =>
    Effect.gen(function* () {
      const samples = yield* Samples.make
      const [sql, runs] = [yield* SqlClient, yield* RunStore]
      const run = samples.run()
      const work = Effect.gen(function* () {
        yield* runs.commit(Samples.newRun(run))
        const again = yield* Effect.flip(runs.commit(Samples.newRun(run)))
        assert.strictEqual(again._tag, "StaleRun")
        yield* runs.commit(Samples.step(run, { status: "CANCELED" }))
      })
      yield* sql.withTransaction(work)
      const record = Option.getOrThrow(yield* runs.find(samples.account, run.id))
      assert.strictEqual(record.run.status, "CANCELED")
    }),
  )
}

const groups = (test: Tests): void => {
  test.effect("let a commit that cannot be stored fail alone", () =>
    Effect.gen(function* () {
      const samples = yield* Samples.make
      const store = yield* RunStore
      const runs = Array.from({ length: 30 }, () => samples.run())
      const outcomes = yield* Effect.forEach(
        runs,
        (run, n) => {
          const event = Samples.event(run, 1)
          // Two events of one number are what no database takes; a cycle is what no JSON is.
          const cycle: Record<string, never> = {}
          if (n === 20) Object.assign(cycle, { cycle })
          const commit = Samples.newRun(
            { ...run, values: cycle },
            {
              events: n === 10 ? [event, event] : [event],
            },
          )
          return Effect.exit(store.commit(commit))
        },
        { concurrency: "unbounded" },
      )
      const failed = outcomes.flatMap((exit, n) => (exit._tag === "Failure" ? [n] : []))
      assert.deepStrictEqual(failed, [10, 20])
      const ids = runs.map(({ id }) => id)
      const stored = yield* store.findMany(samples.account, ids)
      assert.strictEqual(stored.length, 28)
    }),
  )
}

const idempotencyKeys = (test: Tests): void => {
  test.effect("let the name of a start go when it no longer holds", () =>
    Effect.gen(function* () {
      const samples = yield* Samples.make
      const [sql, runs] = [yield* SqlClient, yield* RunStore]
      const start = Effect.fnUntraced(function* (bodyHash: string) {
        const run = samples.run()
        const definition = Samples.definitionFor(run)
        const expected = {
          _tag: "New",
          definition,
          idempotencyKey: { key: "k", bodyHash },
        } as const
        const exit = yield* Effect.exit(runs.commit(Samples.newRun(run, { expected })))
        return exit._tag
      })
      const known = Effect.map(runs.findStart(samples.account, "k"), Option.getOrUndefined)
      assert.strictEqual(yield* start("first"), "Success")
      const ahead = yield* sql`SELECT FROM start_keys WHERE expires_at
        BETWEEN extract(epoch FROM now()) * 1000 + 86300000
        AND extract(epoch FROM now()) * 1000 + 86400000`
      assert.strictEqual(ahead.length, 1)
      assert.strictEqual(yield* start("second"), "Failure")
      yield* sql`UPDATE start_keys SET expires_at = extract(epoch FROM now()) * 1000 - 1`
      assert.isUndefined(yield* known)
      assert.strictEqual(yield* start("third"), "Success")
      assert.strictEqual((yield* known)?.bodyHash, "third")
      assert.strictEqual((yield* sql`SELECT FROM start_keys`).length, 1)
    }),
  )

  test.effect("take part in a transaction of the caller", () =>
    Effect.gen(function* () {
      const samples = yield* Samples.make
      const [sql, runs] = [yield* SqlClient, yield* RunStore]
      const run = samples.run()
      const idempotencyKey = { key: "undone", bodyHash: "hash" }
      const expected = {
        _tag: "New",
        definition: Samples.definitionFor(run),
        idempotencyKey,
      } as const
      const work = Effect.andThen(runs.commit(Samples.newRun(run, { expected })), Effect.fail("no"))
      assert.strictEqual(yield* Effect.flip(sql.withTransaction(work)), "no")
      assert.isTrue(Option.isNone(yield* runs.findStart(samples.account, "undone")))
    }),
  )

  test.effect("are taken by one of a statement, also where newRuns demand different things", () =>
    Effect.gen(function* () {
      const samples = yield* Samples.make
      const [sql, workflows] = [yield* SqlClient, yield* WorkflowStore]
      const workflow = samples.workflow()
      yield* workflows.insert(workflow)
      const newRuns = [2, 1, 1, undefined].map((workflowRevision) => {
        const run = samples.run({
          workflowId: workflow.id,
          workflowRevision: workflowRevision ?? 3,
        })
        const definition = Samples.definitionFor(run)
        const idempotencyKey = { key: "terms", bodyHash: "hash" }
        const isCurrent = workflowRevision !== undefined
        return Samples.newRun(run, {
          expected: { _tag: "New", definition, idempotencyKey, isCurrent },
        })
      })
      const [outdated, ...rest] = yield* RunCommits.write(
        { sql: sql.withoutTransforms(), written: undefined },
        newRuns,
      )
      assert.strictEqual(outdated, "stale")
      assert.sameMembers(rest, ["applied", "stale", "stale"])
    }),
  )
}

const scansOf = Effect.gen(function* () {
  const sql = yield* SqlClient
  yield* sql`SELECT pg_stat_force_next_flush()`
  yield* sql`SELECT pg_stat_clear_snapshot()`
  return yield* sql<{ readonly table: string; readonly scans: number }>`
    SELECT relname AS table, seq_scan::int AS scans FROM pg_stat_user_tables
    WHERE relname IN ('runs', 'open_runs', 'runners', 'node_runs', 'run_events', 'definitions',
      'workflows', 'api_keys', 'key_usage', 'start_keys', 'deliveries', 'due_deliveries',
      'delivery_attempts') ORDER BY relname`
})

/** The statements over rows that were planned for what the rows held, time and again. */
const plannedAnew = SqlClient.use(
  (sql) => sql`SELECT statement FROM pg_prepared_statements
    WHERE custom_plans > 5 AND (statement LIKE '%unnest(%' OR statement LIKE '%applied (number%')`,
)

/** A run loses its owners, is a suspect of other runners, and makes progress. */
const losing = Effect.fnUntraced(function* (samples: Samples.Samples, n: number) {
  const runs = yield* RunStore
  const [owner, runner] = [samples.runner(), samples.runner()]
  yield* runs.heartbeat(owner, 0)
  const active = [{ ordinal: 0, attempt: 1, startedAt: 1 }]
  const started = samples.run({ status: "RUNNING", owner, active })
  yield* runs.commit(Samples.newRun(started))
  const request = { leaseMillis: 0, except: [] }
  const [record] = yield* runs.claim({ ...request, runner, limit: 1 })
  yield* runs.suspects(5)
  yield* runs.heartbeat(owner, 0, { run: started.id, millis: n })
  const run = record?.run ?? started
  if (n % 3 === 0) yield* runs.clearLosses(run.id)
  else yield* runs.commit(Samples.step(run, { nodeRunCount: 1 }, { clearsLosses: n % 3 === 1 }))
})

const returns = (test: Tests): void => {
  test.effect("are told of a runner by its heartbeat, and not by the thread of its lease", () =>
    Effect.gen(function* () {
      const samples = yield* Samples.make
      const [store, sql] = [yield* RunStore, yield* SqlClient]
      const [owner, other] = [samples.runner(), samples.runner()]
      const active = [{ ordinal: 0, attempt: 1, startedAt: 1 }]
      yield* store.heartbeat(owner, 0)
      const run = samples.run({ status: "RUNNING", owner, active, createdAt: 1 })
      yield* store.commit(Samples.newRun(run))
      const records = yield* store.claim({ runner: other, leaseMillis: 60_000, limit: 1 })
      assert.deepStrictEqual(
        records.map((record) => [record.run.id, record.run.losses.length]),
        [[run.id, 1]],
      )
      const isAlive = Effect.map(
        sql<{ readonly alive: boolean }>`
          SELECT lease_until > extract(epoch FROM now()) * 1000 AS alive FROM runners
          WHERE id = ${owner}`,
        ([row]) => row?.alive,
      )
      yield* sql.unsafe(RunClaims.leaseStatements.keep, [owner, 60_000])
      assert.isFalse(yield* isAlive)
      yield* store.heartbeat(owner, 60_000)
      assert.isTrue(yield* isAlive)
      yield* sql.unsafe(RunClaims.leaseStatements.keep, [owner, 3_600_000])
      assert.isTrue(yield* isAlive)
      const found = yield* store.findMany(samples.account, [run.id])
      assert.deepStrictEqual(
        found.map((record) => record.run.losses),
        [[]],
      )
      yield* store.commit(Samples.step(records[0]!.run, { status: "COMPLETED" }))
    }),
  )
}

const plans = (test: Tests): void => {
  test.effect("are made once for few and many, and never read a whole table", () =>
    Effect.gen(function* () {
      const samples = yield* Samples.make
      const [runs, workflows, keys] = [yield* RunStore, yield* WorkflowStore, yield* KeyStore]
      const { account } = samples
      const [runner, hash, key] = [samples.runner(), samples.hash(), samples.key()]
      const before = yield* scansOf
      yield* keys.insertAccount(samples.accountOf())
      yield* keys.insert(key, hash)
      for (let n = 0; n < 12; n++) {
        const run = samples.run()
        const nodeRuns = [Samples.nodeRun("a", { status: "WAITING" })]
        yield* runs.commit(Samples.newRun(run, { nodeRuns, events: [Samples.event(run, 1)] }))
        const rewritten = [Samples.nodeRun("a")]
        const parked = Samples.step(run, { dueAt: 1 }, { rewritten })
        yield* runs.commit(parked)
        yield* runs.commit(Samples.step(parked.run, { dueAt: null }))
        const held = samples.run({ status: "RUNNING", owner: runner })
        yield* runs.commit(Samples.newRun(held))
        const next = Samples.step(held, { sequence: 1 })
        yield* runs.commit(next)
        yield* runs.commit(Samples.step(next.run, { status: "COMPLETED" }))
        yield* runs.latestOutputs(account, run.workflowId, ["a", "b"])
        const named = samples.run()
        const definition = Samples.definitionFor(named)
        const idempotencyKey = { key: `k${n}`, bodyHash: "hash" }
        const expected = { _tag: "New", definition, idempotencyKey } as const
        yield* runs.commit(Samples.newRun(named, { expected }))
        yield* runs.findStart(account, `k${n}`)
        yield* runs.findMany(account, [run.id])
        yield* runs.events(account, run.id, 0)
        yield* runs.list({ account, limit: 5, after: run })
        yield* runs.list({ account, limit: 5, status: "QUEUED", workflowId: run.workflowId })
        const request = { runner, leaseMillis: n % 2 === 0 ? 1_000 : 0, except: [run.id] }
        yield* runs.claim({ ...request, limit: 5, after: account })
        yield* runs.claim({ ...request, limit: 1, runsPerAccount: 9, runsPerWorkflow: 9 })
        yield* runs.heartbeat(runner, 1_000)
        yield* runs.takeOver(account, run.id, runner)
        yield* runs.requeue(runner, [run.id])
        yield* losing(samples, n)
        const workflow = samples.workflow()
        yield* workflows.insert(workflow)
        const drawn = samples.run({ workflowId: workflow.id, workflowRevision: 1 })
        const guarded = { _tag: "New", definition: Samples.definitionFor(drawn) } as const
        for (const one of [drawn, { ...samples.run(), definitionId: drawn.definitionId }]) {
          const isCurrent = one === drawn
          yield* runs.commit(Samples.newRun(one, { expected: { ...guarded, isCurrent } }))
        }
        yield* workflows.replace(workflow, 1)
        yield* keys.admit(hash, workflow.id)
        yield* workflows.list({ account, limit: 5 })
        yield* workflows.remove(account, workflow.id)
        yield* keys.update(account, key.id, { perMinute: 5 })
      }
      assert.deepStrictEqual(yield* scansOf, before)
      assert.deepStrictEqual(yield* plannedAnew, [])
    }),
  )
}

const deliveryPlans = (test: Tests): void => {
  test.effect("of deliveries are made once for few and many, and read no whole table", () =>
    Effect.gen(function* () {
      const samples = yield* Samples.make
      const [runs, store] = [yield* RunStore, yield* WebhookStore]
      const { account } = samples
      const due = { limit: 1, perOrigin: 1, perAccount: 1, busy: [], visibilityMillis: 0 }
      const next = { _tag: "Delivered" } as const
      const before = yield* scansOf
      for (let n = 0; n < 12; n++) {
        const run = samples.run({ status: "CANCELED" })
        const delivery = samples.delivery({ runId: run.id })
        yield* runs.commit(Samples.newRun(run, { deliveries: [delivery] }))
        yield* store.claimDue(due)
        for (const { attempt: number, fence, id } of yield* store.claim([delivery.id], 1_000)) {
          yield* store.record({ id, fence, number, attempt: Samples.attempted, next })
        }
        yield* store.redeliver(account, delivery.id)
        yield* store.find(account, delivery.id)
        yield* store.list({ account, runId: run.id, limit: 5 })
        yield* store.forget(3_600_000, 5)
      }
      assert.deepStrictEqual(yield* scansOf, before)
      assert.deepStrictEqual(yield* plannedAnew, [])
    }),
  )
}

const listingScansOf = Effect.gen(function* () {
  const sql = yield* SqlClient
  yield* sql`SELECT pg_stat_force_next_flush()`
  yield* sql`SELECT pg_stat_clear_snapshot()`
  const rows = yield* sql<{ readonly scans: number }>`
    SELECT coalesce(sum(idx_scan), 0)::int AS scans FROM pg_stat_user_indexes
    WHERE indexrelname IN ('runs_listing', 'runs_by_workflow', 'workflows_listing')`
  return rows[0]?.scans
})

const lookUps = (test: Tests): void => {
  test.effect("look up one of many by its own key, with plans made when there were few", () =>
    Effect.gen(function* () {
      const samples = yield* Samples.make
      const [sql, runs, workflows] = [yield* SqlClient, yield* RunStore, yield* WorkflowStore]
      const { account } = samples
      yield* sql`TRUNCATE runs, run_values, open_runs, workflows, triggers CASCADE`
      const before = yield* listingScansOf
      for (let n = 0; n < 12; n++) {
        const run = samples.run()
        yield* runs.commit(Samples.newRun(run))
        yield* runs.commit(Samples.step(run, {}))
        yield* runs.find(account, run.id)
        yield* runs.events(account, run.id, 0)
        yield* runs.takeOver(account, run.id, samples.runner())
        const workflow = samples.workflow()
        yield* workflows.insert(workflow)
        yield* workflows.find(account, workflow.id)
        const drawn = samples.run({ workflowId: workflow.id, workflowRevision: 1 })
        const definition = Samples.definitionFor(drawn)
        const expected = { _tag: "New", definition, isCurrent: true } as const
        yield* runs.commit(Samples.newRun(drawn, { expected }))
        yield* workflows.replace(workflow, 1)
        yield* workflows.remove(account, workflow.id)
      }
      assert.strictEqual(yield* listingScansOf, before)
    }),
  )
}

describe("Stores.layerMigrations", () => {
  it.live("lets many servers start at the same time over an empty schema", () =>
    Effect.gen(function* () {
      const url = yield* TestPostgres.url
      const server = Layer.build(Stores.layer.pipe(Layer.provide(Postgres.layer({ url }))))
      yield* Effect.all(
        Array.from({ length: 10 }, () => Effect.scoped(server)),
        {
          concurrency: "unbounded",
        },
      )
      const rows = yield* Effect.provide(
        SqlClient.use(
          (sql) => sql<{ readonly name: string }>`
            SELECT name FROM millrace_migrations ORDER BY migration_id`,
        ),
        Postgres.layer({ url }),
      )
      const names = rows.map(({ name }) => name)
      assert.deepStrictEqual(names.slice(0, 3), ["tables", "losses", "fair_queue"])
      assert.strictEqual(new Set(names).size, names.length)
    }),
  )

  it.live("sends no DDL without layerMigrations", () =>
    Effect.gen(function* () {
      const url = yield* TestPostgres.url
      const samples = yield* Samples.make
      const find = WorkflowStore.use((store) => store.find(samples.account, samples.workflow().id))
      const stores = Stores.layerStorage.pipe(Layer.provide(Postgres.layer({ url })))
      const error = yield* Effect.flip(Effect.provide(find, stores))
      assert.strictEqual(
        error.message,
        `The store failed in WorkflowStore.find: relation "workflows" does not exist`,
      )
    }),
  )
})

describe("Migrations.check", () => {
  it.live("refuses a database without tables or with those of another version, in a sentence", () =>
    Effect.gen(function* () {
      const url = yield* TestPostgres.url
      const messageOf = Effect.map(Effect.flip(check), (error) => error.message)
      yield* Effect.gen(function* () {
        const sql = yield* SqlClient
        assert.match(yield* messageOf, /no tables of ours/)
        yield* migrate
        yield* check
        yield* sql`INSERT INTO millrace_migrations (migration_id, name) VALUES (999, 'later')`
        assert.match(yield* messageOf, /schema 999, this version needs \d+; use the version of/)
      }).pipe(Effect.provide(Postgres.layer({ url })))
    }),
  )
})

describe("Migrations.migrate", () => {
  it.live("refuses tables of a later version, says what to do, and leaves them as they are", () =>
    Effect.gen(function* () {
      const url = yield* TestPostgres.url
      yield* Effect.gen(function* () {
        const sql = yield* SqlClient
        yield* migrate
        yield* sql`INSERT INTO millrace_migrations (migration_id, name) VALUES (999, 'later')`
        yield* sql`DROP TABLE workflows CASCADE`
        const { message } = yield* Effect.flip(migrate)
        assert.match(message, /^The database has schema 999, this version needs \d+; use the ver/)
        assert.notInclude(message, "migrations")
        const error = yield* Effect.flip(Effect.scoped(Layer.build(Stores.layer)))
        assert.include(error.message, message)
      }).pipe(Effect.provide(Postgres.layer({ url })))
    }),
  )
})

describe("Postgres.layer", () => {
  it.live("tells at start-up that there is no server, without the password", () =>
    Effect.gen(function* () {
      const url = Redacted.make("postgres://somebody:hidden@127.0.0.1:1/nowhere")
      const error = yield* Effect.flip(Effect.scoped(Layer.build(Postgres.layer({ url }))))
      assert.strictEqual(error._tag, "StorageError")
      assert.match(error.message, /^The store failed in Postgres\.connect: .*ECONNREFUSED/)
      assert.notInclude(error.message, "hidden")
    }),
  )
})

layer(layerDatabase, { timeout: "120 seconds", excludeTestServices: true })(
  "Stores.layerStorage",
  (test) => {
    transactions(test)
    groups(test)
    idempotencyKeys(test)
    returns(test)
    plans(test)
    deliveryPlans(test)
    lookUps(test)
  },
)
