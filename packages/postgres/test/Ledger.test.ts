/**
 * Credits over several servers on one Postgres: what is decided under the lock of an account is
 * exact, and nobody waits in a circle for it.
 */
import { assert, describe, it, layer, type Vitest } from "@effect/vitest"
import { Samples } from "@millrace/conformance"
import * as Ledger from "@millrace/core/domain/Ledger"
import { LedgerStore } from "@millrace/core/ports/LedgerStore"
import { RunStore } from "@millrace/core/ports/RunStore"
import { Postgres, Stores } from "@millrace/postgres"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql/SqlClient"
import * as Races from "./CreditRaces.ts"
import * as StartRaces from "./StartRaces.ts"
import * as TestPostgres from "./TestPostgres.ts"

const database = TestPostgres.withoutAutovacuum(Stores.layer).pipe(
  Layer.provideMerge(
    Layer.unwrap(Effect.map(TestPostgres.url, (url) => Postgres.layer({ url, maxConnections: 1 }))),
  ),
)

type Tests = Vitest.MethodsNonLive<Layer.Success<typeof database>>

const { epoch: at } = Samples
const operation = { actor: "ada", reason: "because" }

const within = (test: Tests): void => {
  test.effect("are moved in the caller's transaction, and go back with it", () =>
    Effect.gen(function* () {
      const samples = yield* Samples.make
      const [sql, runs, ledger] = [yield* SqlClient, yield* RunStore, yield* LedgerStore]
      const run = { ...samples.run(), estimatedCredits: 5 }
      const newRun = Samples.newRun(run, { credits: [Ledger.reserve(5, at)] })
      const work = Effect.gen(function* () {
        yield* runs.commit(newRun)
        const { account } = yield* ledger.find(samples.account)
        return yield* Effect.fail(account.reserved)
      })
      assert.strictEqual(yield* Effect.flip(sql.withTransaction(work)), 5)
      assert.strictEqual((yield* ledger.find(samples.account)).account.reserved, 0)
      yield* sql.withTransaction(runs.commit(newRun))
      assert.strictEqual((yield* ledger.find(samples.account)).account.reserved, 5)
    }),
  )

  test.effect("of a grant that ends stay for the runs that have set them aside", () =>
    Effect.gen(function* () {
      const samples = yield* Samples.make
      const [sql, runs, ledger] = [yield* SqlClient, yield* RunStore, yield* LedgerStore]
      const { account } = samples
      yield* ledger.meter({ ...operation, id: "m", accountId: account }, true)
      const grant = { ...operation, id: "g", accountId: account, amount: 10, priority: 0 }
      yield* ledger.grant({ ...grant, expiresAt: 4_000_000_000_000 })
      const run = { ...samples.run({ status: "RUNNING" }), estimatedCredits: 6 }
      yield* runs.commit(Samples.newRun(run, { credits: [Ledger.reserve(6, at)] }))
      yield* sql`UPDATE credit_grants SET expires_at = ${1} WHERE account_id = ${account}`
      yield* sql`UPDATE credit_accounts SET due_at = ${1} WHERE account_id = ${account}`
      const next = Samples.newRun(samples.run(), { credits: [Ledger.reserve(1, at)] })
      assert.strictEqual((yield* Effect.flip(runs.commit(next)))._tag, "InsufficientCredits")
      assert.deepInclude((yield* ledger.find(account)).account, { posted: 6, reserved: 6 })
      const credits = [Ledger.post(6, "a", 2, 2, at), Ledger.voidRest(4, at)]
      const end = { status: "COMPLETED", actualCredits: 2, finishedAt: at } as const
      yield* runs.commit(Samples.step(run, end, { credits }))
      assert.deepInclude((yield* ledger.find(account)).account, { posted: 0, reserved: 0 })
      assert.deepStrictEqual(yield* Races.audit({ ledger }, account), [])
    }),
  )

  test.effect("cost commits without any no more than before", () =>
    Effect.gen(function* () {
      const samples = yield* Samples.make
      const [sql, runs] = [yield* SqlClient, yield* RunStore]
      const touched = Effect.gen(function* () {
        yield* sql`SELECT pg_stat_force_next_flush()`
        yield* sql`SELECT pg_stat_clear_snapshot()`
        const rows = yield* sql<{ readonly reads: number }>`
          SELECT coalesce(sum(seq_scan + coalesce(idx_scan, 0)), 0)::int AS reads
          FROM pg_stat_user_tables WHERE relname LIKE 'credit_%'`
        return rows[0]?.reads
      })
      const before = yield* touched
      const run = samples.run()
      yield* runs.commit(Samples.newRun(run))
      yield* runs.commit(Samples.step(run, { status: "RUNNING" }, { credits: [] }))
      assert.strictEqual(yield* touched, before)
    }),
  )

  test.effect("are found by key, even with plans made when there were none", () =>
    Effect.gen(function* () {
      const samples = yield* Samples.make
      const [sql, runs, ledger] = [yield* SqlClient, yield* RunStore, yield* LedgerStore]
      const scans = Effect.gen(function* () {
        yield* sql`SELECT pg_stat_force_next_flush()`
        yield* sql`SELECT pg_stat_clear_snapshot()`
        const rows = yield* sql<{ readonly scans: number }>`
          SELECT coalesce(sum(seq_scan), 0)::int AS scans FROM pg_stat_user_tables`
        return rows[0]?.scans
      })
      const { account } = samples
      yield* ledger.meter({ ...operation, id: "m", accountId: account }, true)
      yield* ledger.adjust({ ...operation, id: "a", accountId: account, amount: 1_000 })
      const before = yield* scans
      for (let n = 0; n < 12; n++) {
        const run = { ...samples.run({ status: "RUNNING" }), estimatedCredits: 4 }
        yield* runs.commit(Samples.newRun(run, { credits: [Ledger.reserve(4, at)] }))
        const credits = [Ledger.extend(1, 2, at), Ledger.post(5, "a", 2, 5, at)]
        yield* runs.commit(Samples.step(run, { actualCredits: 5 }, { credits }))
        const refused = Samples.newRun(samples.run(), { credits: [Ledger.reserve(5_000, at)] })
        yield* Effect.flip(runs.commit(refused))
        yield* ledger.find(account)
        yield* ledger.statement({ account, before: 1_000_000, limit: 10 })
      }
      assert.strictEqual(yield* scans, before)
    }),
  )
}

describe("Credits on several servers", () => {
  it.live("are enough for exactly as many starts as they cover", () =>
    Effect.gen(function* () {
      const all = yield* Races.servers(yield* TestPostgres.url, 4)
      const six = yield* Races.starts(all, { balance: 500, count: 20, price: 75 })
      assert.deepStrictEqual(six, {
        accepted: 6,
        refused: 14,
        stored: 6,
        reserved: 450,
        reserves: 6,
      })
      const hundred = yield* Races.starts(all, { balance: 100, count: 1_000, price: 1 })
      assert.deepStrictEqual(hundred, {
        accepted: 100,
        refused: 900,
        stored: 100,
        reserved: 100,
        reserves: 100,
      })
    }),
  )

  it.live("are neither made nor lost when a run is ended and canceled at once", () =>
    Effect.gen(function* () {
      const all = yield* Races.servers(yield* TestPostgres.url, 4)
      const raced = yield* Races.settlements(all, { balance: 1_000, rounds: 250 })
      assert.deepInclude(raced, { endedTwice: 0, posted: raced.completed })
      assert.isAbove(raced.ended, 100)
      assert.isAbove(raced.completed, 20)
      assert.isAbove(raced.canceled, 20)
    }),
  )

  it.live("are taken once for a commit that all of them repeat", () =>
    Effect.gen(function* () {
      const all = yield* Races.servers(yield* TestPostgres.url, 4)
      assert.strictEqual(yield* Races.twins(all, 100), 100)
    }),
  )

  it.live("are set aside once for a start that all of them repeat under one name", () =>
    Effect.gen(function* () {
      const url = yield* TestPostgres.url
      assert.deepStrictEqual(yield* StartRaces.replays(url, { count: 200, engines: 2 }), {
        runs: 1,
        first: 1,
        kinds: "void post reserve grant meter",
        problems: [],
      })
    }).pipe(Effect.scoped),
  )

  it.live("of many accounts move at once without anybody waiting in a circle", () =>
    Effect.gen(function* () {
      const all = yield* Races.servers(yield* TestPostgres.url, 4)
      assert.deepStrictEqual(yield* Races.crossings(all, { accounts: 9, rounds: 400 }), [])
    }),
  )
})

layer(database, { timeout: "120 seconds", excludeTestServices: true })("Credits", within)
