// What runs cost that call each other, wait for signals and start by themselves, on Postgres with
// fsync on: children, items of a loop over child runs, of a body with effects and of one that only
// computes, signals and starts of schedules per second.
//
// Each stands beside the bare statements that it cannot do without, as many at once: rows of a like
// size, in the transactions that the promises need, without an engine. The two take turns in every
// round.
import type { RunId, WorkflowId } from "@millrace/core/domain/Id"
import type { JsonObject } from "@millrace/core/domain/Json"
import { isTerminal } from "@millrace/core/domain/Run"
import { CurrentLimits, defaultLimits, triggersPerWorkflow } from "@millrace/core/domain/Limits"
import * as Engine from "@millrace/core/engine/Engine"
import { NodeTypes } from "@millrace/core/engine/NodeTypes"
import * as Schedules from "@millrace/core/engine/Schedules"
import { Signals } from "@millrace/core/engine/Signals"
import { Triggers } from "@millrace/core/engine/Triggers"
import { Runs } from "@millrace/core/engine/Runs"
import { constant } from "@millrace/nodes/Constant"
import { RunStore } from "@millrace/core/ports/RunStore"
import { Json } from "@millrace/core/domain/Json"
import { define } from "@millrace/core/engine/NodeDefinition"
import { Clock, Effect, Layer, References } from "effect"
import { SqlClient } from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"
import { forEach } from "../packages/nodes/src/internal/ForEach.ts"
import { request } from "../packages/nodes/src/internal/Request.ts"
import { subWorkflow } from "../packages/nodes/src/internal/SubWorkflow.ts"
import { waitSignal } from "../packages/nodes/src/internal/WaitSignal.ts"
import { payload } from "./contest/Contestant.ts"
import { postgres } from "./Durable.ts"
import { account, complete, finished, save, step } from "./Workloads.ts"

/** The same node as `step`, which a loop may compute. */
const computing = define({
  key: "computing",
  effects: "none",
  inputs: {},
  outputs: { output: Json },
  run: () => Effect.succeed({ output: payload }),
})

const count = 400
const atOnce = 50

const types = NodeTypes.layer(constant, computing, step, request, forEach, subWorkflow, waitSignal)

const engine = Schedules.layer.pipe(
  Layer.provideMerge(Engine.layerWithoutWebhooks),
  Layer.provide(types),
  Layer.provideMerge(postgres),
  Layer.provideMerge(Layer.succeed(CurrentLimits, { ...defaultLimits, runsAtOnce: 10_000 })),
  Layer.provideMerge(Layer.succeed(References.MinimumLogLevel, "Warn")),
)

const position = { x: 0, y: 0 }
const node = (id: string, type: string, inputs: JsonObject) => ({
  id,
  type,
  position,
  data: { inputs },
})
const alone = (type: string, inputs: JsonObject) => ({
  nodes: [node("a", type, inputs)],
  edges: [],
})

/** A loop with one node of this type in its body. */
const withBody = (type: string, inputs: JsonObject) => ({
  nodes: [node("each", "for_each", inputs), { ...node("body", type, {}), parentId: "each" }],
  edges: [],
})

const waiting = {
  nodes: [
    node("in", "request", { fields: [{ name: "order", type: "string" }] }),
    node("pay", "wait_signal", { name: "paid", correlation: "{{ input }}" }),
  ],
  edges: [{ id: "e", source: "in", target: "pay", sourceHandle: "order", targetHandle: "input" }],
}

const numbers = Array.from({ length: count }, (_, n) => n)
const each = <E, R>(act: (n: number) => Effect.Effect<unknown, E, R>) =>
  Effect.forEach(numbers, act, { concurrency: atOnce, discard: true })

/** So many per second. */
const rateOf = Effect.fnUntraced(function* <E, R>(work: Effect.Effect<unknown, E, R>) {
  const begin = performance.now()
  yield* work
  return count / ((performance.now() - begin) / 1_000)
})

const untilEnded = Effect.fnUntraced(function* (ids: ReadonlyArray<RunId>) {
  const store = yield* RunStore
  for (;;) {
    const found = yield* store.findMany(account, ids, 0)
    if (found.filter(({ run }) => isTerminal(run.status)).length === ids.length) return
    yield* Effect.sleep(10)
  }
})

/** Runs that wait are there before the clock begins to run; each gets one signal and ends. */
const signals = Effect.fnUntraced(function* (workflowId: WorkflowId, round: number) {
  const runs = yield* Runs
  const sender = yield* Signals
  const store = yield* RunStore
  const orderOf = (n: number) => `${round} ${n}`
  const started = yield* Effect.forEach(
    numbers,
    (n) => runs.start(account, { workflowId, values: { order: orderOf(n) } }),
    { concurrency: atOnce },
  )
  const ids = started.map(({ id }) => id)
  const isParked = Effect.map(store.findMany(account, ids, 0), (found) =>
    found.every(({ run }) => run.dueAt !== null),
  )
  while (!(yield* isParked)) yield* Effect.sleep(20)
  const send = (n: number) =>
    sender.send(account, workflowId, { name: "paid", correlation: orderOf(n), payload: n })
  return yield* rateOf(Effect.andThen(each(send), untilEnded(ids)))
})

/** Schedules that are all due at the same time; the clock runs from then on. */
const schedules = Effect.fnUntraced(function* (drawing: Parameters<typeof save>[0]) {
  const triggers = yield* Triggers
  const sql = yield* SqlClient
  let workflowId: WorkflowId | undefined
  const at = Math.ceil((yield* Clock.currentTimeMillis) / 1_000) * 1_000 + 20_000
  const workflows: Array<WorkflowId> = []
  for (const n of numbers) {
    if (n % triggersPerWorkflow === 0) workflows.push((workflowId = yield* save(drawing)))
    yield* triggers.create(account, workflowId!, {
      everySeconds: 3_600,
      startAt: at,
      endAt: at + 1_000,
    })
  }
  const ended = Effect.map(
    sql<{ readonly n: number }>`SELECT count(*)::int4 AS n FROM runs
      WHERE workflow_id IN ${sql.in(workflows)} AND status = 'COMPLETED'`,
    ([row]) => row!.n === count,
  )
  yield* Effect.sleep(at - (yield* Clock.currentTimeMillis))
  return yield* rateOf(
    Effect.gen(function* () {
      while (!(yield* ended)) yield* Effect.sleep(10)
    }),
  )
})

const body = JSON.stringify({ state: "x".repeat(300) })

const prepare = Effect.gen(function* () {
  const sql = yield* SqlClient
  yield* sql`CREATE TABLE IF NOT EXISTS bare_runs
    (id int8 GENERATED ALWAYS AS IDENTITY PRIMARY KEY, parent int8, revision int4, body text)`
  yield* sql`CREATE TABLE IF NOT EXISTS bare_rows
    (id int8 GENERATED ALWAYS AS IDENTITY PRIMARY KEY, run int8, body text)`
  yield* sql`CREATE TABLE IF NOT EXISTS bare_messages
    (id int8 GENERATED ALWAYS AS IDENTITY PRIMARY KEY, run int8, taken bool, body text)`
  yield* sql`CREATE TABLE IF NOT EXISTS bare_waits (run int8 PRIMARY KEY, body text)`
})

/** The rows of the bare transactions. */
const bareRows = Effect.map(SqlClient, (sql) => {
  const insert = (parent: number | null) =>
    Effect.map(
      sql<{ readonly id: number }>`INSERT INTO bare_runs (parent, revision, body)
        VALUES (${parent}::int8, 1, ${body}) RETURNING id::float8 AS id`,
      ([row]) => row!.id,
    )
  const advance = (id: number) =>
    sql`UPDATE bare_runs SET revision = revision + 1, body = ${body} WHERE id = ${id}`
  const row = (id: number) => sql`INSERT INTO bare_rows (run, body) VALUES (${id}, ${body})`
  const send = (id: number) =>
    sql`INSERT INTO bare_messages (run, taken, body) VALUES (${id}, false, ${body})`
  const take = (id: number) => sql`UPDATE bare_messages SET taken = true WHERE run = ${id}`
  const together = (...all: ReadonlyArray<Effect.Effect<unknown, SqlError>>) =>
    sql.withTransaction(Effect.all(all))
  return { sql, insert, advance, row, send, take, together }
})

/** A parent starts a child with its commit; the child's end is a message; the parent takes it. */
const bareChild = (withParent: boolean) =>
  Effect.gen(function* () {
    const { advance, insert, row, send, sql, take, together } = yield* bareRows
    const shared = yield* insert(null)
    return yield* rateOf(
      each(() =>
        Effect.gen(function* () {
          const parent = withParent ? yield* insert(null) : shared
          const child = yield* sql.withTransaction(
            withParent ? Effect.flatMap(advance(parent), () => insert(parent)) : insert(parent),
          )
          yield* together(advance(child), row(child), send(child))
          yield* together(take(child), ...(withParent ? [advance(parent), row(parent)] : []))
        }),
      ),
    )
  })

/** A parent stores a turn of items, each with two rows: those that it is given, and its own. */
const bareTurn = Effect.gen(function* () {
  const { advance, insert, sql, together } = yield* bareRows
  const parent = yield* insert(null)
  const items = sql`WITH items AS (
    INSERT INTO bare_runs (parent, revision, body)
      SELECT ${parent}::int8, 1, ${body} FROM generate_series(1, ${count}) RETURNING id)
    INSERT INTO bare_rows (run, body)
      SELECT id, ${body} FROM items CROSS JOIN generate_series(1, 2)`
  return yield* rateOf(together(advance(parent), items))
})

/** A signal finds a wait and is sent; the run takes it and ends. */
const bareSignals = Effect.gen(function* () {
  const { advance, insert, row, send, sql, take, together } = yield* bareRows
  const ids = yield* Effect.forEach(numbers, () => insert(null), { concurrency: atOnce })
  yield* Effect.forEach(ids, (id) => sql`INSERT INTO bare_waits VALUES (${id}, ${body})`, {
    concurrency: atOnce,
  })
  return yield* rateOf(
    each((n) => {
      const id = ids[n]!
      const found = sql`DELETE FROM bare_waits WHERE run = ${id}`
      const sent = together(found, send(id), advance(id))
      return Effect.andThen(sent, together(take(id), advance(id), row(id)))
    }),
  )
})

/** A time is claimed, its run is stored, and the schedule goes on. */
const bareSchedules = Effect.gen(function* () {
  const { advance, insert, row, together } = yield* bareRows
  const ids = yield* Effect.forEach(numbers, () => insert(null), { concurrency: atOnce })
  return yield* rateOf(each((n) => together(insert(ids[n]!), row(ids[n]!), advance(ids[n]!))))
})

/** The middle of the figures. */
const median = (values: ReadonlyArray<number>): number =>
  values.toSorted((left, right) => left - right)[Math.floor(values.length / 2)] ?? 0

/** Measures each beside its bare statements, so many times; the first round warms up. */
export const measure = async (rounds: number) => {
  const samples = new Map<string, Array<readonly [ours: number, bare: number]>>()
  const note = (name: string, ours: number, bare: number) =>
    samples.set(name, [...(samples.get(name) ?? []), [ours, bare]])
  await Effect.gen(function* () {
    yield* prepare
    const child = yield* save(alone("constant", { value: 1 }))
    const parent = yield* save(alone("sub_workflow", { workflowId: child }))
    const items = { workflowId: child, items: numbers, concurrency: atOnce }
    const loop = yield* save(alone("for_each", items))
    const drawing = { items: numbers, concurrency: atOnce }
    const drawn = yield* save(withBody("step", drawing))
    const computed = yield* save(withBody("computing", drawing))
    const wait = yield* save(waiting)
    const runs = yield* Runs
    const once = (workflowId: WorkflowId) =>
      Effect.flatMap(runs.start(account, { workflowId }), ({ id }) => finished(id))
    for (let round = -1; round < rounds; round++) {
      if (round === 0) samples.clear()
      note("children", yield* rateOf(complete(parent, count, atOnce)), yield* bareChild(true))
      note("items, child runs", yield* rateOf(once(loop)), yield* bareChild(false))
      note("items, loop body", yield* rateOf(once(drawn)), yield* bareChild(false))
      const rate = yield* rateOf(once(computed))
      note("items, body that computes", rate, yield* bareChild(false))
      note("the same, beside one turn", rate, yield* bareTurn)
      note("signals", yield* signals(wait, round), yield* bareSignals)
      const due = alone("constant", { value: 1 })
      note("schedules", yield* schedules(due), yield* bareSchedules)
      process.stderr.write(round < 0 ? "warmed up\n" : `round ${round + 1} of ${rounds}\n`)
    }
  }).pipe(Effect.provide(engine), Effect.scoped, Effect.runPromise)
  const rows = Array.from(samples, ([name, pairs]) => ({
    name,
    perSecond: Math.round(median(pairs.map(([ours]) => ours))),
    bare: Math.round(median(pairs.map(([, bare]) => bare))),
    ratio: Number(median(pairs.map(([ours, bare]) => ours / bare)).toFixed(2)),
  }))
  console.table(rows)
  return rows
}
