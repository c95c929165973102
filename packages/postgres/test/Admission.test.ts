/**
 * Admitting on Postgres: exact over several servers and across the end of a window, in one
 * statement, and without a write for whoever is refused.
 */
import { assert, describe, it } from "@effect/vitest"
import { Samples } from "@millrace/conformance"
import { KeyStore } from "@millrace/core/ports/KeyStore"
import type { Admission } from "@millrace/core/ports/KeyStore"
import { WorkflowStore } from "@millrace/core/ports/WorkflowStore"
import { Postgres, Stores } from "@millrace/postgres"
import { Context, Effect, Layer, Option, Redacted } from "effect"
import { SqlClient } from "effect/sql/SqlClient"
import { storesOver } from "./CountedStatements.ts"
import * as Clock from "./TestClock.ts"
import * as TestPostgres from "./TestPostgres.ts"

/** The stores of so many servers on one database, with a client that none of them uses. */
const servers = Effect.fnUntraced(function* (count: number) {
  const url = Redacted.value(yield* TestPostgres.url)
  const connect = (address: string) =>
    Postgres.layer({ url: Redacted.make(address), maxConnections: 3 })
  const aside = Context.get(yield* Layer.build(connect(url)), SqlClient)
  yield* Effect.provideService(Clock.run(...Clock.statements), SqlClient, aside)
  const open = Layer.build(
    Layer.provideMerge(Layer.fresh(Stores.layer), Layer.fresh(connect(Clock.withClock(url)))),
  )
  return { aside, stores: yield* Effect.forEach(Array.from({ length: count }), () => open) }
})

/** A key with these limits, and its hash. */
const makeKey = Effect.fnUntraced(function* (
  store: KeyStore["Service"],
  perMinute: number,
  perDay: number,
) {
  const samples = yield* Samples.make
  yield* store.insertAccount(samples.accountOf())
  const [key, hash] = [samples.key({ perMinute, perDay }), samples.hash()]
  yield* store.insert(key, hash)
  return { samples, key, hash }
})

/** How many requests each window was offered, and how many of them it admitted. */
const tally = (answers: ReadonlyArray<Admission>) => {
  const windows = new Map<number, { offered: number; admitted: number }>()
  for (const answer of answers) {
    if (answer._tag === "Refused") continue
    const window = windows.get(answer.window.resetAt) ?? { offered: 0, admitted: 0 }
    window.offered += 1
    if (answer._tag === "Admitted") window.admitted += 1
    windows.set(answer.window.resetAt, window)
  }
  return [...windows.values()]
}

describe("KeyStore.admit on several servers", () => {
  for (const limit of [1, 60, 1_000]) {
    it.live(`admits exactly ${limit} a minute, across the end of a minute`, () =>
      Effect.gen(function* () {
        const { aside, stores } = yield* servers(4)
        const keys = stores.map((server) => Context.get(server, KeyStore))
        yield* Effect.provideService(Clock.run(Clock.moveToMinute), SqlClient, aside)
        const { hash } = yield* makeKey(keys[0]!, limit, 100_000)
        const offer = (times: number) =>
          Effect.forEach(
            Array.from({ length: times }, (_, n) => keys[n % keys.length]!),
            (store) => store.admit(hash),
            { concurrency: 64 },
          )
        const later = Clock.run(Clock.moveBy(60_000))
        const [first, , second] = yield* Effect.all(
          [
            offer(3 * limit),
            Effect.delay(Effect.provideService(later, SqlClient, aside), 20),
            Effect.delay(offer(3 * limit), 10),
          ],
          { concurrency: 3 },
        )
        const third = yield* offer(2 * limit)
        const windows = tally([...first, ...second, ...third])
        assert.include([1, 2], windows.length)
        const offered = windows.reduce((sum, window) => sum + window.offered, 0)
        assert.strictEqual(offered, 8 * limit)
        for (const { admitted, offered: count } of windows) {
          assert.strictEqual(admitted, Math.min(limit, count))
        }
      }).pipe(Effect.scoped),
    )
  }

  it.live("does not deadlock over many keys, which arrive in any order", () =>
    Effect.gen(function* () {
      const { stores } = yield* servers(4)
      const keys = stores.map((server) => Context.get(server, KeyStore))
      const all = yield* Effect.forEach(Array.from({ length: 20 }), () =>
        makeKey(keys[0]!, 10_000, 50),
      )
      const answers = yield* Effect.forEach(
        Array.from({ length: 2_000 }, (_, n) => n),
        (n) => keys[n % 4]!.admit(all[(n * 13 + (n % 4) * 7 + Math.floor(n / 20)) % 20]!.hash),
        { concurrency: "unbounded" },
      )
      const admitted = answers.filter(({ _tag }) => _tag === "Admitted")
      assert.strictEqual(admitted.length, 20 * 50)
    }).pipe(Effect.scoped),
  )
})

describe("KeyStore.admit of many at once", () => {
  it.live("brings keys, windows and workflows in one round trip", () =>
    Effect.gen(function* () {
      const { stores } = yield* servers(1)
      const [server] = stores
      const store = Context.get(server!, KeyStore)
      const workflows = Context.get(server!, WorkflowStore)
      const { hash, samples } = yield* makeKey(store, 1_000, 1_000)
      const workflow = samples.workflow()
      yield* workflows.insert(workflow)
      const client = Context.get(server!, SqlClient)
      const { count, stores: own } = yield* storesOver(client, "api_keys")
      const { admit } = Context.get(own, KeyStore)
      assert.deepInclude(yield* admit(hash, workflow.id), { workflow: Option.some(workflow) })
      assert.strictEqual(count(), 1)
      yield* Effect.forEach(Array.from({ length: 100 }), () => admit(hash, workflow.id), {
        concurrency: "unbounded",
      })
      assert.isAtMost(count(), 3)
    }).pipe(Effect.scoped),
  )

  it.live("leaves it to a caller's transaction whether that waits for the disk", () =>
    Effect.gen(function* () {
      const { stores } = yield* servers(1)
      const [server] = stores
      const store = Context.get(server!, KeyStore)
      const sql = Context.get(server!, SqlClient)
      const { hash } = yield* makeKey(store, 10, 10)
      const inTransaction = Effect.gen(function* () {
        yield* sql`SET LOCAL synchronous_commit = 'on'`
        assert.strictEqual((yield* store.admit(hash))._tag, "Admitted")
        return yield* sql`SELECT current_setting('synchronous_commit') AS setting`
      })
      assert.deepStrictEqual(yield* sql.withTransaction(inTransaction), [{ setting: "on" }])
    }).pipe(Effect.scoped),
  )

  it.live("writes nothing for requests that it refuses", () =>
    Effect.gen(function* () {
      const { aside, stores } = yield* servers(1)
      const store = Context.get(stores[0]!, KeyStore)
      const { hash, key, samples } = yield* makeKey(store, 10_000, 5)
      const flood = Effect.forEach(Array.from({ length: 500 }), () => store.admit(hash), {
        concurrency: 50,
      })
      assert.strictEqual((yield* flood).filter(({ _tag }) => _tag === "Admitted").length, 5)
      const row = aside`SELECT ctid::text, xmin::text, xmax::text, * FROM key_usage`
      const before = yield* row
      const refused = yield* flood
      assert.isTrue(refused.every(({ _tag }) => _tag === "Limited"))
      assert.deepStrictEqual(yield* row, before)
      // A limit that is raised holds at once all the same.
      yield* store.update(samples.account, key.id, { perDay: 7 })
      assert.strictEqual((yield* flood).filter(({ _tag }) => _tag === "Admitted").length, 2)
    }).pipe(Effect.scoped),
  )
})
