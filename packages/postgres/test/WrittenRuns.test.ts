/**
 * What a process remembers of the runs that it has written makes no difference to what is stored.
 */
import { assert, layer } from "@effect/vitest"
import { Samples } from "@millrace/conformance"
import type { Run } from "@millrace/core/domain/Run"
import { RunStore } from "@millrace/core/ports/RunStore"
import { Postgres, Stores } from "@millrace/postgres"
import { Context, Effect, Layer, Option } from "effect"
import { SqlClient } from "effect/sql/SqlClient"
import * as TestPostgres from "./TestPostgres.ts"

/** The same database for another process. */
class Other extends Context.Service<Other, RunStore["Service"]>()("Other") {}

const layerBoth = Layer.unwrap(
  Effect.map(TestPostgres.url, (url) => {
    const stores = Layer.fresh(Stores.layer).pipe(Layer.provideMerge(Postgres.layer({ url })))
    const other = Layer.effect(Other, RunStore).pipe(Layer.provide(Layer.fresh(stores)))
    return Layer.provideMerge(other, stores)
  }),
)

/** What only some commits change of a run, in two forms. */
const rare: ReadonlyArray<Partial<Run>> = [
  { startedAt: 5, heldCredits: 5, actualCredits: 5, waiting: [] },
  {
    startedAt: 7,
    heldCredits: 7,
    actualCredits: 7,
    waiting: [{ ordinal: 0, attempt: 1, startedAt: 1, due: 5 }],
  },
]

layer(layerBoth)("Commits of a run", (test) => {
  test.effect("store all that changes, also what another process wrote meanwhile", () =>
    Effect.gen(function* () {
      const samples = yield* Samples.make
      const [runs, other, runner] = [yield* RunStore, yield* Other, samples.runner()]
      let run = samples.run({ status: "RUNNING", owner: runner })
      yield* runs.commit(Samples.newRun(run))
      for (const [n, store] of [runs, other, runs, runs, other, other, runs].entries()) {
        const taken = yield* store.takeOver(samples.account, run.id, runner)
        run = Option.getOrThrow(taken).run
        for (const sequence of [1, 2, 3]) {
          const commit = Samples.step(run, { ...rare[n % 2], sequence: n * 3 + sequence })
          yield* store.commit(commit)
          run = commit.run
          const found = Option.getOrThrow(yield* store.find(samples.account, run.id))
          assert.deepStrictEqual(found.run, run)
        }
      }
    }),
  )

  test.effect("store whatever changes alone", () =>
    Effect.gen(function* () {
      const samples = yield* Samples.make
      const runs = yield* RunStore
      let run = samples.run({ status: "QUEUED", owner: samples.runner() })
      yield* runs.commit(Samples.newRun(run))
      const waiting = [{ ordinal: 0, attempt: 1, startedAt: 1, due: 5 }]
      const changes: ReadonlyArray<Partial<Run>> = [
        { nodeRunCount: 1 },
        { status: "RUNNING" },
        { startedAt: 5 },
        { heldCredits: 5 },
        { actualCredits: 5 },
        { childCredits: 5 },
        { attempts: 1 },
        { active: [{ ordinal: 0, attempt: 1, startedAt: 1 }] },
        { waiting },
        { waiting: [{ ...waiting[0]!, due: 6 }] },
        { waiting: [] },
        { error: "An error", output: ["early"] },
        { error: "Another", output: ["earlier"] },
        { error: null, output: null },
        { sequence: 1 },
        { finishedAt: 9, status: "COMPLETED" },
      ]
      for (const change of changes) {
        const commit = Samples.step(run, change)
        yield* runs.commit(commit)
        run = commit.run
        const found = Option.getOrThrow(yield* runs.find(samples.account, run.id))
        assert.deepStrictEqual(found.run, run)
      }
    }),
  )

  test.effect("see messages and forget losses that came between two of them", () =>
    Effect.gen(function* () {
      const samples = yield* Samples.make
      const [runs, owner] = [yield* RunStore, samples.runner()]
      const active = [{ ordinal: 0, attempt: 1, startedAt: 1 }]
      const run = samples.run({ status: "RUNNING", owner, active })
      yield* runs.commit(Samples.newRun(run))
      yield* runs.endLease(owner, { run: run.id, millis: 5 })
      yield* runs.send(samples.account, run.id, { id: "m", name: "n", payload: null })
      const find = Effect.map(runs.find(samples.account, run.id), Option.getOrThrow)
      assert.strictEqual((yield* find).run.losses.length, 1)
      const blind = Samples.step(run, { sequence: 1 }, { seen: 0 })
      assert.strictEqual((yield* Effect.flip(runs.commit(blind)))._tag, "StaleRun")
      yield* runs.commit(Samples.step(run, { sequence: 1 }, { clearsLosses: true }))
      assert.deepStrictEqual((yield* find).run.losses, [])
    }),
  )

  test.effect("are stale once another process has taken the run over", () =>
    Effect.gen(function* () {
      const samples = yield* Samples.make
      const [runs, other, runner] = [yield* RunStore, yield* Other, samples.runner()]
      const run = samples.run({ status: "RUNNING", owner: runner })
      yield* runs.commit(Samples.newRun(run))
      const next = Samples.step(run, { sequence: 1 })
      yield* runs.commit(next)
      const taken = yield* other.takeOver(samples.account, run.id, samples.runner())
      const late = Samples.step(next.run, { sequence: 2 }, { nodeRuns: [Samples.nodeRun("a")] })
      assert.strictEqual((yield* Effect.flip(runs.commit(late)))._tag, "StaleRun")
      const found = yield* runs.find(samples.account, run.id)
      assert.deepStrictEqual(found, taken)
    }),
  )

  test.effect("go on where a transaction of the caller was undone", () =>
    Effect.gen(function* () {
      const samples = yield* Samples.make
      const [sql, runs] = [yield* SqlClient, yield* RunStore]
      const run = samples.run({ status: "RUNNING", owner: samples.runner() })
      const first = Samples.newRun(run)
      const next = Samples.step(run, { heldCredits: 5 })
      const both = Effect.andThen(runs.commit(first), runs.commit(next))
      yield* Effect.flip(sql.withTransaction(Effect.andThen(both, Effect.fail("no"))))
      yield* runs.commit(Samples.newRun(samples.run()))
      yield* runs.commit(first)
      yield* runs.commit(next)
      const last = Samples.step(next.run, { status: "FAILED" })
      yield* runs.commit(last)
      const found = Option.getOrThrow(yield* runs.find(samples.account, run.id))
      assert.deepStrictEqual(found.run, last.run)
    }),
  )

  test.effect("bring a definition once, and again where the database has lost it", () =>
    Effect.gen(function* () {
      const samples = yield* Samples.make
      const [sql, runs] = [yield* SqlClient, yield* RunStore]
      yield* sql`CREATE TABLE brought (definition_id int)`
      yield* sql`CREATE FUNCTION note_definitions() RETURNS trigger LANGUAGE plpgsql AS
        'BEGIN INSERT INTO brought VALUES (1); RETURN NULL; END'`
      yield* sql`CREATE TRIGGER noted BEFORE INSERT ON definitions
        FOR EACH STATEMENT EXECUTE FUNCTION note_definitions()`
      const brought = Effect.map(sql`SELECT FROM brought`, (rows) => rows.length)
      const definition = samples.definition()
      const start = Effect.fnUntraced(function* (more: object = {}) {
        const run = samples.run({ definitionId: definition.id })
        const expected = { _tag: "New", definition, ...more } as const
        yield* Effect.exit(runs.commit(Samples.newRun(run, { expected })))
        const found = yield* runs.find(samples.account, run.id)
        return Option.map(found, (record) => record.definition)
      })
      const stored = Option.some(definition)
      assert.deepStrictEqual([yield* start(), yield* brought], [stored, 1])
      assert.deepStrictEqual([yield* start(), yield* brought], [stored, 1])
      const own = samples.run()
      yield* runs.commit(Samples.newRun({ ...own, definitionId: own.id }))
      assert.deepStrictEqual([yield* start(), yield* brought], [stored, 2])
      const named = { idempotencyKey: { key: "lost", bodyHash: "hash" } }
      yield* sql`DELETE FROM definitions WHERE id = ${definition.id}`
      assert.deepStrictEqual([yield* start(named), yield* brought], [stored, 3])
      assert.deepStrictEqual([yield* start(), yield* brought], [stored, 3])
      assert.deepStrictEqual(yield* start(named), Option.none())
      yield* sql`DROP TRIGGER noted ON definitions`
      yield* sql`DROP FUNCTION note_definitions`
    }),
  )
})
