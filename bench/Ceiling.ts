// What the machine allows: a bare loop over the same driver that writes the same rows as the
// engine, in groups, and does nothing else. No graph, no handlers, no fence, no outcomes to tell
// apart.
//
// What a node was given and put out is the same text for each, so it is sent once with a statement;
// "sent" it is encoded and sent for each node, as whoever does not know it beforehand has to.
//
// It schedules in memory. Whatever is due while a statement is on its way goes out as the next one,
// and what follows from a row is due only once the statement that holds it is durable.
import { PgTypes } from "@effect/sql-pg"
import { Effect, Result } from "effect"
import { SqlClient } from "effect/sql/SqlClient"
import { payload } from "./contest/Contestant.ts"

/** A workflow of layers: a chain of ten is ten times 1, a fan of 50 is 1, 50, 1. */
export type Layers = ReadonlyArray<number>

interface RunInProgress {
  readonly number: number
  readonly id: string
  revision: number
  layer: number
  /** Nodes of the current layer that are still to be written. */
  left: number
  ordinal: number
}

/** One write: a run's newRun, or that so many of its nodes have settled. */
interface Write {
  readonly course: RunInProgress
  readonly settled: number
  readonly isNew: boolean
  readonly isEnd: boolean
}

const text = JSON.stringify({ output: payload })
// What follows from the output before it is stored as its size and its port.
const input = JSON.stringify([Buffer.byteLength(JSON.stringify({ input: payload })), "input"])
const nodesAtOnce = 10

const statementWith = (values: string) => `
WITH created AS (
  INSERT INTO runs (number, id, account_id, workflow_id, workflow_name, workflow_name_folded,
    workflow_revision, definition_id, execution_id, mode, source, created_at, estimated_credits,
    input_values, input_overrides, owner, fencing_token, started_at, status, claims, node_run_count,
    attempts, sequence, revision, held_credits, actual_credits, active, waiting)
  OVERRIDING SYSTEM VALUE
  SELECT number, id, 'acc_bench', 'wf_0198f2c0-7d4e-7c3a-9a51-3f6f0f4b2a11', 'Bench', 'bench', 1,
    'wf_0198f2c0-7d4e-7c3a-9a51-3f6f0f4b2a11@1', id, 'full', 'api', 1, 0, '{}', '{}',
    'exe_0198f2c0-7d4e-7c3a-9a51-3f6f0f4b2a11', 1, 1, 'RUNNING', 0, 1, 1, 1, 1, 0, 0,
    '[{"ordinal":0,"attempt":1,"startedAt":1790000000000}]', '[]'
  FROM unnest($1::int8[], $2::text[]) AS b (number, id)
), opened AS (
  INSERT INTO open_runs (run, owner, created_at)
  SELECT number, 'exe_0198f2c0-7d4e-7c3a-9a51-3f6f0f4b2a11', 1 FROM unnest($1::int8[]) AS b (number)
), advanced AS (
  UPDATE runs r SET revision = s.revision, sequence = s.revision, node_run_count = s.revision,
    attempts = s.revision, held_credits = 0, actual_credits = 0, waiting = '[]'::json,
    active = '[{"ordinal":1,"attempt":1,"startedAt":1790000000000}]'::json,
    status = CASE WHEN s.is_end THEN 'COMPLETED' ELSE 'RUNNING' END,
    finished_at = CASE WHEN s.is_end THEN 1 END
  FROM unnest($3::int8[], $4::int4[], $5::bool[]) AS s (number, revision, is_end)
  WHERE r.number = s.number AND r.mode = 'full'
), closed AS (
  DELETE FROM open_runs o USING unnest($3::int8[], $5::bool[]) AS s (number, is_end)
  WHERE o.run = s.number AND s.is_end
), noted AS (
  INSERT INTO node_runs (run, ordinal, attempt, sequence, credits, started_at, finished_at, node_id,
    node_type, status, input_or_ports, output)
  SELECT run, ordinal, 1, ordinal, 0, 1, 1, 'n' || ordinal, 'step', 'COMPLETED', ${values}
)
INSERT INTO run_events (run, sequence, at, type, data)
SELECT run, sequence, 1, type, '{"status":"RUNNING","sequence":1}'
FROM unnest($10::int8[], $11::int4[], $12::text[]) AS e (run, sequence, type)`

const statements = {
  known: statementWith(
    "$8::json, $9::json FROM unnest($6::int8[], $7::int4[]) AS n (run, ordinal)",
  ),
  sent: statementWith(
    `input::json, output::json
  FROM unnest($6::int8[], $7::int4[], $8::text[], $9::text[]) AS n (run, ordinal, input, output)`,
  ),
}

/** How a statement comes to what nodes were given and put out. */
export type Values = keyof typeof statements

const array = (values: ReadonlyArray<unknown>, type: number) =>
  Result.getOrThrow(PgTypes.array(values, type))

const parametersOf = (writes: ReadonlyArray<Write>, values: Values) => {
  const { bool, float8, int4, text: string } = PgTypes.OID
  const newRuns = writes.filter(({ isNew }) => isNew)
  const steps = writes.filter(({ isNew }) => !isNew)
  const rows = steps.flatMap(({ course, settled }) =>
    Array.from({ length: settled }, () => ({ run: course.number, ordinal: course.ordinal++ })),
  )
  const events = writes.filter(({ isNew, isEnd }) => isNew || isEnd)
  return [
    array(
      newRuns.map(({ course }) => course.number),
      float8,
    ),
    array(
      newRuns.map(({ course }) => course.id),
      string,
    ),
    array(
      steps.map(({ course }) => course.number),
      float8,
    ),
    array(
      steps.map(({ course }) => (course.revision += 1)),
      int4,
    ),
    array(
      steps.map(({ isEnd }) => isEnd),
      bool,
    ),
    array(
      rows.map(({ run }) => run),
      float8,
    ),
    array(
      rows.map(({ ordinal }) => ordinal),
      int4,
    ),
    ...(values === "known"
      ? [input, text]
      : [
          array(
            rows.map(() => input),
            string,
          ),
          array(
            rows.map(() => JSON.stringify({ output: payload })),
            string,
          ),
        ]),
    array(
      events.map(({ course }) => course.number),
      float8,
    ),
    array(
      events.map(({ course }) => course.revision),
      int4,
    ),
    array(
      events.map(({ isEnd }) => (isEnd ? "run.completed" : "run.started")),
      string,
    ),
  ]
}

/** What follows from a durable write: the next nodes of the run, or nothing. */
const nextOf = ({ course }: Write, layers: Layers): Write | undefined => {
  if (course.left === 0) {
    course.layer += 1
    course.left = layers[course.layer] ?? 0
  }
  if (course.left === 0) return undefined
  const settled = Math.min(course.left, nodesAtOnce)
  course.left -= settled
  const isEnd = course.left === 0 && course.layer === layers.length - 1
  return { course, settled, isNew: false, isEnd }
}

// So that no engine takes the loop's runs for orphans.
const lease = `
INSERT INTO runners (id, lease_until)
VALUES ('exe_0198f2c0-7d4e-7c3a-9a51-3f6f0f4b2a11', 9000000000000)
ON CONFLICT (id) DO NOTHING`

let numbers = 1_000_000_000

const newRun = (): Write => {
  const number = (numbers += 1)
  const id = `run_0198f2c0-7d4e-7c3a-9a51-${String(number).padStart(12, "0")}`
  const course = { number, id, revision: 1, layer: -1, left: 0, ordinal: 0 }
  return { course, settled: 0, isNew: true, isEnd: false }
}

/** Begins runs as long as there are more. The answer is how many it has begun. */
const course = (layers: Layers, hasMore: () => boolean, atOnce: number, values: Values) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient
    let started = 0
    let due: Array<Write> = []
    const begin = () => {
      if (!hasMore()) return
      started += 1
      due.push(newRun())
    }
    for (let index = 0; index < atOnce; index++) begin()
    while (due.length > 0) {
      const group = due
      due = []
      yield* sql.unsafe(statements[values], parametersOf(group, values))
      for (const write of group) {
        const next = nextOf(write, layers)
        if (next === undefined) begin()
        else due.push(next)
      }
    }
    return started
  })

/** True so many times. */
const upTo = (count: number): (() => boolean) => {
  let left = count
  return () => (left -= 1) >= 0
}

/** Runs `count` workflows of these layers, `atOnce` at a time, and writes what the engine would. */
export const complete = (layers: Layers, count: number, atOnce: number, values: Values = "known") =>
  completeWhile(layers, upTo(count), { atOnce, values, flushes: 1 })

/** How {@link completeWhile} goes about it. */
export interface Course {
  readonly atOnce: number
  readonly values: Values
  /** Statements that are on their way at the same time, each with its share of the runs. */
  readonly flushes: number
}

/** The same as long as there are more; the answer is how many runs there were. */
export const completeWhile = (
  layers: Layers,
  hasMore: () => boolean,
  { atOnce, flushes, values }: Course,
) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient
    yield* sql.unsafe(lease)
    const one = course(layers, hasMore, atOnce / flushes, values)
    const all = Array.from({ length: flushes }, () => one)
    const counts = yield* Effect.all(all, { concurrency: "unbounded" })
    return counts.reduce((sum, count) => sum + count, 0)
  })

/** Milliseconds of one insert and one end, each committed on its own, `count` times. */
export const latencies = (count: number) =>
  Effect.gen(function* () {
    const times: Array<number> = []
    for (let index = 0; index < count; index++) {
      const begin = performance.now()
      yield* course([1], upTo(1), 1, "known")
      times.push(performance.now() - begin)
    }
    return times
  })
