/**
 * The leases of processes that were killed: who opens the stores next ends them if the process is
 * known to be dead, and leaves all others alone.
 */
import { assert, describe, it } from "@effect/vitest"
import { RunnerId } from "@millrace/core/domain/Id"
import { RunStore } from "@millrace/core/ports/RunStore"
import { Postgres, SharedStores } from "@millrace/postgres"
import { Context, Effect, Layer, type Redacted } from "effect"
import { SqlClient } from "effect/sql/SqlClient"
import { ownName } from "../src/internal/LocalProcess.ts"
import * as Child from "./Child.ts"
import * as TestPostgres from "./TestPostgres.ts"

const leaseMillis = 3_600_000

const open = (url: Redacted.Redacted) =>
  Layer.build(Layer.fresh(SharedStores.layer({ url }, false)))

/** Leases by their runners, and of which process each one says that it is. */
const leases = (url: Redacted.Redacted, named: Readonly<Record<string, string | null>>) =>
  Effect.gen(function* () {
    const stores = yield* open(url)
    const { heartbeat } = Context.get(stores, RunStore)
    const sql = Context.get(yield* Layer.build(Layer.fresh(Postgres.layer({ url }))), SqlClient)
    for (const [runner, process] of Object.entries(named)) {
      yield* heartbeat(RunnerId.make(runner), leaseMillis)
      yield* sql.unsafe("UPDATE runners SET process = $2 WHERE id = $1", [runner, process])
    }
  }).pipe(Effect.scoped)

const expired = Effect.fnUntraced(function* (url: Redacted.Redacted) {
  const sql = Context.get(yield* Layer.build(Layer.fresh(Postgres.layer({ url }))), SqlClient)
  const rows = yield* sql.unsafe<{ readonly id: string }>(
    `SELECT id FROM runners
     WHERE lease_until <= extract(epoch FROM clock_timestamp()) * 1000 ORDER BY id`,
  )
  return rows.map(({ id }) => id)
})

/** A process that was killed and that nobody has asked after; its name. */
const killed = Effect.gen(function* () {
  const child = yield* Child.start("./LockRacer.ts")
  yield* child.kill
  const [boot, space] = ownName!.split(".")
  return `${boot}.${space}.${child.pid}.1`
})

describe.skipIf(process.platform !== "linux")("SharedStores.layer", () => {
  it.live("ends the leases of killed processes of this machine, and no others", () =>
    Effect.gen(function* () {
      const url = yield* TestPostgres.url
      const dead = yield* killed
      const own = ownName!
      yield* leases(url, {
        alive: own,
        dead,
        // Another process has its number now.
        reused: own.replace(/\d+$/, "1"),
        // Nobody here can say how the processes of these are.
        elsewhere: dead.replace(/^./, (digit) => (digit === "0" ? "1" : "0")),
        confined: dead.replace(/\.(\d+)\./, ".1$1."),
        unnamed: null,
        odd: "a.b",
      })
      assert.deepStrictEqual(yield* expired(url), [])
      yield* open(url)
      assert.deepStrictEqual(yield* expired(url), ["dead", "reused"])
    }).pipe(Effect.scoped),
  )

  it.live("writes into a lease whose process it is", () =>
    Effect.gen(function* () {
      const url = yield* TestPostgres.url
      const { claim, heartbeat } = Context.get(yield* open(url), RunStore)
      yield* heartbeat(RunnerId.make("a"), leaseMillis)
      yield* claim({ runner: RunnerId.make("b"), leaseMillis, limit: 1 })
      const sql = Context.get(yield* Layer.build(Layer.fresh(Postgres.layer({ url }))), SqlClient)
      const rows = yield* sql.unsafe("SELECT id, process FROM runners ORDER BY id")
      assert.deepStrictEqual(rows, [
        { id: "a", process: ownName },
        { id: "b", process: ownName },
      ])
    }).pipe(Effect.scoped),
  )
})
