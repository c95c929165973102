// A store as it is after a long time: by SQL, out of two runs that the engine has executed.
//
// Half of the runs belong to one account and half to all others. They are spread over 60 days, one
// in ten has failed, each with an error of its own, and every fifth has told a webhook.
import { RunId } from "@millrace/core/domain/Id"
import { CurrentLimits, defaultLimits } from "@millrace/core/domain/Limits"
import * as Engine from "@millrace/core/engine/Engine"
import { define } from "@millrace/core/engine/NodeDefinition"
import { NodeTypes } from "@millrace/core/engine/NodeTypes"
import { Runs } from "@millrace/core/engine/Runs"
import { Effect, Layer, Schema } from "effect"
import { SqlClient } from "effect/sql/SqlClient"
import * as Workloads from "./Workloads.ts"

/** How much there is of everything. */
export interface Size {
  readonly runs: number
  readonly accounts: number
  /** Of the account with half of the runs. Not a divisor of 20, so that each has failed runs. */
  readonly workflows: number
}

export const days = 60
const span = days * 86_400_000

/** The number before that of the first copy. */
const first = 1_000

/** A node that fails. */
const breaks = define({
  key: "breaks",
  inputs: { input: Schema.optionalKey(Schema.Json) },
  outputs: { output: Schema.Json },
  credits: 1,
  run: () => Effect.fail(new Error("The server of a customer answered 503")),
})

const engine = Engine.layerWithoutWebhooks.pipe(
  Layer.provide(NodeTypes.layer(Workloads.paid, breaks)),
  Layer.provide(Layer.succeed(CurrentLimits, defaultLimits)),
)

/** One run of five nodes that completes, and one whose last node fails. */
const execute = Effect.gen(function* () {
  const runs = yield* Runs
  const good = Workloads.chain(5, "paid")
  const last = good.nodes.at(-1)!
  const bad = { ...good, nodes: [...good.nodes.slice(0, -1), { ...last, type: "breaks" }] }
  for (const drawing of [good, bad]) {
    const workflowId = yield* Workloads.save(drawing)
    const { id } = yield* runs.start(Workloads.account, { workflowId })
    yield* runs.wait(Workloads.account, id)
  }
}).pipe(Effect.provide(engine))

const account = ({ accounts }: Size) => `CASE WHEN i % 2 = 0 THEN 'acc_bench'
  ELSE 'acc_' || lpad((i / 2 % ${accounts - 1})::text, 5, '0') END`

/** The other accounts have one workflow each. */
const workflow = ({ accounts, workflows }: Size) =>
  `CASE WHEN i % 2 = 0 THEN i % ${workflows} ELSE i / 2 % ${accounts - 1} % ${workflows} END`

const errorOf = ({ workflows }: Size) =>
  `'The server of customer ' || i % ${workflows} || ' answered 503 to request ' || i`

/** A row for each copy: what of it is not as in the run that it is a copy of. */
const plan = (size: Size) => `CREATE UNLOGGED TABLE plan AS
  SELECT i, ${first} + i AS number, ${account(size)} AS account,
    'run_' || lpad(to_hex(at), 12, '0') || '-7c3a-9a51-' || lpad(to_hex(i), 12, '0') AS id,
    'wf_' || lpad(w::text, 4, '0') AS workflow, 'Orders of customer ' || w AS name,
    'key_' || i % 3 AS key, at, CASE WHEN i % 20 IN (7, 8) THEN 'FAILED' ELSE 'COMPLETED' END AS st
  FROM (
    SELECT i, ${workflow(size)} AS w,
      (extract(epoch FROM now()) * 1000)::int8 - ${span} + (i * ${span / size.runs})::int8 AS at
    FROM generate_series(1::int8, ${size.runs}) i
  ) g`

const ofRun = (error: string): Record<string, string> => ({
  number: "g.number",
  id: "g.id",
  account_id: "g.account",
  workflow_id: "g.workflow",
  workflow_name: "g.name",
  workflow_name_folded: "lower(g.name)",
  key_id: "g.key",
  created_at: "g.at",
  started_at: "g.at",
  finished_at: "g.at + 40",
  error: `CASE WHEN t.error IS NOT NULL THEN to_json(${error}) END`,
  error_folded: `CASE WHEN t.error IS NOT NULL THEN lower(${error}) END`,
})

const copied = ["runs", "node_runs", "run_events"] as const
type Copied = (typeof copied)[number]

const columnsOf = (sql: SqlClient, table: string) =>
  Effect.map(
    sql<{ readonly name: string }>`SELECT attname AS name FROM pg_attribute
      WHERE attrelid = ${table}::regclass AND attnum > 0 AND NOT attisdropped
        AND attgenerated = '' ORDER BY attnum`,
    (rows) => rows.map(({ name }) => name),
  )

/** Copies the rows of a table: each run of the plan gets those of the run with its status. */
const copy = Effect.fnUntraced(function* (table: Copied, changes: Record<string, string>) {
  const sql = yield* SqlClient
  const columns = yield* columnsOf(sql, table)
  const values = columns.map((name) => changes[name] ?? `t.${name}`)
  const [key, order] = table === "runs" ? ["number", "g.i"] : ["run", "g.i, t.sequence"]
  // Where the server keeps a minimal log, it does not log rows of a file that is new.
  const insert = Effect.andThen(
    sql.unsafe(`TRUNCATE ${table}`),
    sql.unsafe(`INSERT INTO ${table} (${columns.join()}) OVERRIDING SYSTEM VALUE
      SELECT ${values.join()} FROM plan g JOIN (
        SELECT t.*, r.status AS st FROM seed_${table} t JOIN seed_runs r ON r.number = t.${key}
      ) t ON t.st = g.st ORDER BY ${order}`),
  )
  yield* sql.withTransaction(insert)
})

/** The sums of usage by one thing, and the names of workflows, as commits would have made them. */
const sumsOf = (part: "workflow" | "key") => `
  INSERT INTO usage_sums (account_id, part, day, id, runs, estimated_credits, actual_credits)
  SELECT account_id, '${part}', created_at / 86400000, ${part}_id, count(*),
    sum(estimated_credits), sum(actual_credits)
  FROM runs GROUP BY account_id, created_at / 86400000, ${part}_id ORDER BY 1, 3, 4`

/** What else there is; each group of statements in turn, beside the others. */
const others = ({ accounts }: Size): ReadonlyArray<ReadonlyArray<string>> => [
  [
    `INSERT INTO accounts (id, name, created_at)
      SELECT 'acc_' || lpad(i::text, 5, '0'), 'Account ' || i, 1
      FROM generate_series(0, ${accounts - 2}) i UNION ALL SELECT 'acc_bench', 'Bench', 1`,
    `INSERT INTO workflows (id, account_id, name, name_folded, nodes, edges, settings, node_count,
        revision, created_at, updated_at)
      SELECT DISTINCT ON (g.account, g.workflow) g.workflow || '_' || g.account, g.account,
        g.name, lower(g.name), t.nodes, t.edges, t.settings, 5, 1, g.at, g.at
      FROM plan g CROSS JOIN (SELECT * FROM workflows LIMIT 1) t
      WHERE g.i <= ${20 * accounts} ORDER BY g.account, g.workflow, g.at`,
    `INSERT INTO deliveries (id, account_id, run_id, sequence, type, url, origin, created_at, body,
        begun, trouble, settled_at)
      SELECT 'msg_' || g.id, g.account, g.id, 7, 'run.completed', 'https://example.com/hook',
        'https://example.com', g.at + 40, repeat('x', 600),
        CASE WHEN g.i % 100 = 0 THEN 6 ELSE 0 END, CASE WHEN g.i % 100 = 0 THEN 'FAILED' END,
        CASE WHEN g.i % 100 = 0 THEN g.at + 99 END
      FROM plan g WHERE g.i % 10 IN (0, 5) ORDER BY g.i`,
    `INSERT INTO delivery_attempts
        (delivery, number, at, duration_millis, status, delivered_at, fence)
      SELECT number, 1, created_at, 20, 200, created_at + 20, 1 FROM deliveries
      WHERE trouble IS NULL ORDER BY number`,
  ],
  [sumsOf("workflow")],
  [
    sumsOf("key"),
    `INSERT INTO run_names
      SELECT account_id, workflow_id, workflow_name_folded, min(created_at) / 86400000,
        max(created_at) / 86400000
      FROM runs GROUP BY 1, 2, 3 ORDER BY 1, 2, 3`,
  ],
]

/** Fills the store of the ambient client, which must be empty. */
export const fill = Effect.fnUntraced(function* (size: Size) {
  const sql = yield* SqlClient
  yield* execute
  yield* sql.unsafe(plan(size))
  for (const table of copied) {
    yield* sql.unsafe(`CREATE UNLOGGED TABLE seed_${table} AS SELECT * FROM ${table}`)
  }
  // One after the other would take longer; a table has a writer of its own.
  yield* Effect.all(
    [
      copy("runs", ofRun(errorOf(size))),
      copy("node_runs", { run: "g.number", started_at: "g.at", finished_at: "g.at + 8" }),
      copy("run_events", { run: "g.number", at: "g.at" }),
    ],
    { concurrency: "unbounded" },
  )
  yield* sql`SELECT setval(pg_get_serial_sequence('runs', 'number'), 10000000)`
  yield* sql`TRUNCATE usage_changes, usage_sums, run_names`
  const inTurn = (statements: ReadonlyArray<string>) =>
    Effect.forEach(statements, (statement) => sql.unsafe(statement))
  yield* Effect.forEach(others(size), inTurn, { concurrency: "unbounded" })
  yield* sql`VACUUM ANALYZE`
})

/** Some runs of an account, spread evenly. */
export const runIds = Effect.fnUntraced(function* (of: string, count: number) {
  const sql = yield* SqlClient
  const rows = yield* sql<{ readonly id: string }>`
    SELECT id FROM (
      SELECT id, ntile(${count}) OVER (ORDER BY i) AS part FROM plan WHERE account = ${of}
    ) p GROUP BY part, id ORDER BY part, id`
  const step = Math.max(1, Math.floor(rows.length / count))
  return rows.filter((_, index) => index % step === 0).map(({ id }) => RunId.make(id))
})
