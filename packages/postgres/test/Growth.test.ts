/**
 * What keeps reads quick on a full store: sums of usage, searches that know where to look, and
 * indexes. That all stores answer alike is shown by the suites of conformance.
 */
import { assert, describe, layer } from "@effect/vitest"
import { Samples } from "@millrace/conformance"
import { KeyId, WorkflowId } from "@millrace/core/domain/Id"
import type { Run } from "@millrace/core/domain/Run"
import { dayMillis } from "@millrace/core/domain/Timestamp"
import { usageOf } from "@millrace/core/domain/Usage"
import { LedgerStore } from "@millrace/core/ports/LedgerStore"
import type { RunQuery } from "@millrace/core/ports/RunStore"
import { RunStore } from "@millrace/core/ports/RunStore"
import { WebhookStore } from "@millrace/core/ports/WebhookStore"
import { Stores } from "@millrace/postgres"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql/SqlClient"
import { errorIndex, growthTables } from "../src/internal/GrowthTables.ts"
import * as PageClauses from "../src/internal/PageClauses.ts"
import * as Rows from "../src/internal/Rows.ts"
import * as RunSearch from "../src/internal/RunSearch.ts"
import * as UsageChanges from "../src/internal/UsageChanges.ts"
import * as TestPostgres from "./TestPostgres.ts"

const database = TestPostgres.withoutAutovacuum(Stores.layer).pipe(
  Layer.provideMerge(TestPostgres.layer),
)

/** The same numbers in every run of the tests. */
const numbers = (seed: number) => {
  let state = seed
  return (below: number): number => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648
    return Math.floor((state / 2_147_483_648) * below)
  }
}

const today = 20_000 * dayMillis

const names = ["Invoices 100%", "invoices_of ÄRGER", "Orders", "Reports", "orders again"]
const errors = [null, null, "Timeout in a", "snake_case: 100%", "TIMEOUT \\ in b", "order refused"]

/** Runs of an account over five days, of workflows that are renamed. */
const manyRuns = Effect.fnUntraced(function* (count: number, seed: number) {
  const samples = yield* Samples.make
  const next = numbers(seed)
  return {
    samples,
    next,
    runs: Array.from({ length: count }, (): Run => {
      const error = errors[next(errors.length)]!
      return samples.run({
        workflowId: WorkflowId.make(`wf-${next(4)}`),
        workflowName: names[next(names.length)]!,
        createdAt: today + next(5 * 24) * 3_600_000,
        keyId: next(3) === 0 ? null : KeyId.make(`key-${next(2)}`),
        estimatedCredits: next(10),
        error,
        status: error === null ? "RUNNING" : (["FAILED", "CANCELED", "RUNNING"] as const)[next(3)]!,
      })
    }),
  }
})

const ranges = [
  [today, today + 5 * dayMillis],
  [today + dayMillis, today + 2 * dayMillis],
  [today + 5_000_000, today + 3 * dayMillis + 7],
  [today + 3_600_000, today + 7_200_001],
  [today, today],
] as const

const usages = (ofRuns: ReadonlyArray<Run>) =>
  Effect.gen(function* () {
    const ledger = yield* LedgerStore
    const account = ofRuns[0]!.accountId
    for (const [from, until] of ranges) {
      const query = { account, from, until }
      assert.deepStrictEqual(yield* ledger.usage(query), usageOf(ofRuns, query))
    }
  })

const changesLeft = SqlClient.use((sql) =>
  Effect.map(
    sql<{ readonly count: number }>`SELECT count(*)::int AS count FROM usage_changes`,
    (rows) => rows[0]!.count,
  ),
)

layer(database)("Sums of usage", (it) => {
  it.effect("are what all runs add up to, while changes are folded by several at once", () =>
    Effect.gen(function* () {
      const [sql, store] = [yield* SqlClient, yield* RunStore]
      const { next, runs } = yield* manyRuns(40, 7)
      const now = [...runs]
      const fold = Effect.all(
        [1, 2, 3].map(() => UsageChanges.foldSome(sql)),
        { concurrency: "unbounded" },
      )
      yield* Effect.forEach(now, (run) => store.commit(Samples.newRun(run)), { concurrency: 10 })
      yield* usages(now)
      for (let round = 0; round < 6; round++) {
        const steps = now.flatMap((run, index) => {
          if (run.status !== "RUNNING" || next(2) === 0) return []
          const ends = next(4) === 0 ? ({ status: "COMPLETED", finishedAt: today } as const) : {}
          const step = Samples.step(run, { actualCredits: run.actualCredits + next(5), ...ends })
          now[index] = step.run
          return [store.commit(step)]
        })
        const writing = Effect.all(steps, { concurrency: "unbounded" })
        yield* Effect.all([writing, fold], { concurrency: 2 })
        yield* usages(now)
      }
      const open = now.findIndex(({ status }) => status === "RUNNING")
      const step = Samples.step(now[open]!, { actualCredits: now[open]!.actualCredits + 1 })
      yield* store.commit(step)
      now[open] = step.run
      assert.isAbove(yield* changesLeft, 0)
      yield* fold
      assert.strictEqual(yield* changesLeft, 0)
      yield* usages(now)
    }),
  )

  it.effect("have nothing of a commit that was refused or taken back", () =>
    Effect.gen(function* () {
      const [sql, store] = [yield* SqlClient, yield* RunStore]
      const samples = yield* Samples.make
      const run = samples.run({ createdAt: today, status: "RUNNING" })
      yield* store.commit(Samples.newRun(run))
      yield* Effect.flip(store.commit(Samples.newRun(run)))
      const step = Samples.step(run, { actualCredits: 3 })
      const undone = Effect.andThen(store.commit(step), Effect.fail("undone"))
      yield* Effect.flip(sql.withTransaction(undone))
      yield* usages([run])
      yield* store.commit(step)
      yield* Effect.flip(store.commit(step))
      yield* usages([step.run])
    }),
  )

  it.effect("begin with the runs that a migration finds, whose names are found too", () =>
    Effect.gen(function* () {
      const [sql, store] = [yield* SqlClient, yield* RunStore]
      const { runs } = yield* manyRuns(30, 11)
      for (const run of runs) yield* store.commit(Samples.newRun(run))
      yield* UsageChanges.foldSome(sql)
      yield* sql`DROP TABLE usage_changes, usage_sums, run_names`
      yield* sql`DROP INDEX runs_with_error, deliveries_of_account,
        deliveries_of_account_in_trouble, ${sql(errorIndex)}`
      yield* sql.withTransaction(
        Effect.forEach(growthTables, (statement) => sql.unsafe(statement), { discard: true }),
      )
      yield* usages(runs)
      yield* UsageChanges.foldSome(sql)
      yield* usages(runs)
      yield* searches(runs, tight)
    }),
  )
})

const texts = ["invoice", "ORDER", "ärger", "100%", "_", "\\", "timeout", "IN B", "zebra", "s"]

const tight: RunSearch.Bounds = { first: 2, errors: 3, most: 10_000 }

const isFound = (run: Run, text: string): boolean => {
  const part = text.toLowerCase()
  return (
    run.workflowName.toLowerCase().includes(part) ||
    (run.error ?? "").toLowerCase().includes(part) ||
    run.id.startsWith(text)
  )
}

const newestFirst = (a: Run, b: Run): number => b.createdAt - a.createdAt || (a.id < b.id ? 1 : -1)

/** Searches within these bounds. */
const search = Effect.fnUntraced(function* (
  query: RunQuery,
  text: string,
  bounds: RunSearch.Bounds,
) {
  const sql = yield* SqlClient
  const conditions = PageClauses.conditions(sql, query)
  const { status, workflowId } = query
  if (workflowId !== undefined) conditions.push(sql`workflow_id = ${Rows.text(workflowId)}`)
  if (status !== undefined) conditions.push(sql`status = ${status}`)
  return yield* RunSearch.page(sql, query, text, conditions, bounds)
})

/** Compares all pages of searches with what looking at each run gives. */
const searches = Effect.fnUntraced(function* (runs: ReadonlyArray<Run>, bounds: RunSearch.Bounds) {
  const account = runs[0]!.accountId
  const ids = [runs[3]!.id, runs[5]!.id.slice(0, -1), runs[0]!.id.slice(0, 8)]
  const filters: ReadonlyArray<Partial<RunQuery>> = [
    {},
    { workflowId: WorkflowId.make("wf-1") },
    { status: "FAILED" },
    { status: "COMPLETED" },
    { skip: 3 },
  ]
  for (const text of [...texts, ...ids]) {
    for (const { skip = 0, ...filter } of filters) {
      const all = runs
        .filter((run) => isFound(run, text))
        .filter((run) => (filter.workflowId ?? run.workflowId) === run.workflowId)
        .filter((run) => (filter.status ?? run.status) === run.status)
        .toSorted(newestFirst)
      const query = { account, limit: 4, skip, ...filter }
      const first = yield* search(query, text, bounds)
      const expected = all.slice(skip, skip + 4).map(({ id }) => id)
      assert.deepStrictEqual(
        first.items.map(({ id }) => id),
        expected,
        text,
      )
      assert.strictEqual(first.next !== undefined, all.length > skip + 4)
      if (first.next === undefined) continue
      const second = yield* search({ ...query, skip: 0, after: first.next }, text, bounds)
      const rest = all.slice(skip + 4, skip + 8).map(({ id }) => id)
      assert.deepStrictEqual(
        second.items.map(({ id }) => id),
        rest,
        text,
      )
    }
  }
})

layer(database)("Searches of runs", (it) => {
  it.effect("find what looking at each run finds, wherever they look", () =>
    Effect.gen(function* () {
      const [sql, store] = [yield* SqlClient, yield* RunStore]
      const { runs, samples } = yield* manyRuns(120, 3)
      const foreign = samples.run({ accountId: samples.stranger, workflowName: "Invoices" })
      yield* Effect.forEach([foreign, ...runs.slice(0, 60)], (run) => {
        return store.commit(Samples.newRun(run))
      })
      yield* UsageChanges.foldSome(sql)
      yield* Effect.forEach(runs.slice(60), (run) => store.commit(Samples.newRun(run)))
      for (const bounds of [tight, { ...tight, first: 50 }, RunSearch.usualBounds]) {
        yield* searches(runs, bounds)
      }
      yield* sql`DROP INDEX ${sql(errorIndex)}`
      yield* searches(runs, tight)
    }),
  )

  it.effect("are refused where they would read too much, and only there", () =>
    Effect.gen(function* () {
      const [sql, store] = [yield* SqlClient, yield* RunStore]
      yield* sql`DROP INDEX IF EXISTS ${sql(errorIndex)}`
      const { runs } = yield* manyRuns(60, 5)
      yield* Effect.forEach(runs, (run) => store.commit(Samples.newRun(run)))
      const query = { account: runs[0]!.accountId, limit: 4 }
      const bounds = { first: 2, errors: 3, most: 10 }
      const refusal = yield* Effect.flip(search(query, "zebra", bounds))
      assert.strictEqual(refusal._tag, "SearchTooBroad")
      const found = yield* search(query, runs[40]!.id, { ...bounds, most: 70 })
      assert.deepStrictEqual(
        found.items.map(({ id }) => id),
        [runs[40]!.id],
      )
      const few = { ...query, workflowId: WorkflowId.make("wf-9") }
      assert.deepStrictEqual((yield* search(few, "zebra", bounds)).items, [])
    }),
  )
})

/** Rows and entries of indexes of a table that were read so far. */
const readOf = Effect.fnUntraced(function* (table: string) {
  const sql = yield* SqlClient
  yield* sql`SELECT pg_stat_force_next_flush()`
  yield* sql`SELECT pg_stat_clear_snapshot()`
  const rows = yield* sql<{ readonly count: number }>`SELECT (
    (SELECT seq_tup_read FROM pg_stat_user_tables WHERE relname = ${table}) +
    (SELECT sum(idx_tup_read) FROM pg_stat_user_indexes WHERE relname = ${table})
  )::int AS count`
  return rows[0]!.count
})

layer(database)("Runs of one source", (it) => {
  it.effect("are found without reading those of others", () =>
    Effect.gen(function* () {
      const [sql, store] = [yield* SqlClient, yield* RunStore]
      const samples = yield* Samples.make
      const own = samples.run({ source: "ui", createdAt: today })
      const others = Array.from({ length: 600 }, (_, n) => samples.run({ createdAt: today + n }))
      yield* Effect.forEach([own, ...others], (run) => store.commit(Samples.newRun(run)), {
        concurrency: 50,
      })
      yield* sql`ANALYZE runs`
      for (const more of [{}, { status: own.status }, { workflowId: own.workflowId }]) {
        const before = yield* readOf("runs")
        const query = { account: samples.account, limit: 20, source: "ui" as const, ...more }
        const { items } = yield* store.list(query)
        assert.deepStrictEqual(
          items.map(({ id }) => id),
          [own.id],
        )
        assert.isBelow((yield* readOf("runs")) - before, 20)
      }
    }),
  )

  it.effect("cost a commit nothing where the interface has started the run", () =>
    Effect.gen(function* () {
      const [sql, store] = [yield* SqlClient, yield* RunStore]
      const samples = yield* Samples.make
      const entries = Effect.map(
        sql<{ readonly count: number }>`SELECT reltuples::int AS count FROM pg_class
          WHERE relname = 'runs_by_source'`,
        (rows) => rows[0]!.count,
      )
      yield* sql`ANALYZE runs`
      const before = yield* entries
      for (let n = 0; n < 20; n++) yield* store.commit(Samples.newRun(samples.run()))
      yield* sql`ANALYZE runs`
      assert.strictEqual(yield* entries, before)
    }),
  )
})

describe("Deliveries", () => {
  layer(database)("of an account", (it) => {
    it.effect("are found without reading those of others", () =>
      Effect.gen(function* () {
        const [sql, store] = [yield* SqlClient, yield* WebhookStore]
        const samples = yield* Samples.make
        const own = samples.delivery()
        yield* store.insert(own)
        yield* sql`INSERT INTO deliveries
            (id, account_id, type, url, origin, created_at, body, trouble)
          SELECT 'msg_' || n, 'acc_other', 'test', '', '', ${own.createdAt}::int8 + n, '', 'FAILED'
          FROM generate_series(1, 3000) n`
        yield* sql`ANALYZE deliveries`
        for (const state of [undefined, "PENDING", "DELIVERED", "FAILED"] as const) {
          const before = yield* readOf("deliveries")
          const { items } = yield* store.list({ account: own.accountId, state, limit: 20 })
          const isShown = state === undefined || state === "PENDING"
          assert.deepStrictEqual(
            items.map(({ id }) => id),
            isShown ? [own.id] : [],
          )
          assert.isBelow((yield* readOf("deliveries")) - before, 20)
        }
      }),
    )
  })
})
