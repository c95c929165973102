/**
 * What `millrace quarantine` does, and what `millrace doctor` says of runs in quarantine.
 *
 * Guarantees: what was asked for is on standard output, alone; what is said about it is on standard
 * error.
 */
import type { QuarantinedRun } from "@millrace/api/AdminQuarantineWire"
import { EndedRun, QuarantinedRuns, ReleasedRun } from "@millrace/api/AdminQuarantineWire"
import { RunId } from "@millrace/core/domain/Id"
import { format } from "@millrace/core/domain/Timestamp"
import { Console, Effect, Schema } from "effect"
import type { Target } from "../config/ConfigTarget.ts"
import { open } from "./OpenAdminTasks.ts"
import type { AdminTasks } from "./AdminTasks.ts"
import { linesOf } from "../command/Table.ts"

const print = <A, I>(schema: Schema.Codec<A, I>, value: A) =>
  Console.log(JSON.stringify(Schema.encodeSync(schema)(value)))

const columns = ["run", "account", "workflow", "held by", "losses", "last", "nodes in progress"]

const rowOf = (run: QuarantinedRun): ReadonlyArray<string> => {
  const last = run.losses.at(-1)
  const cause =
    last === undefined || last.millis === null ? last?.cause : `blocked ${last.millis} ms`
  return [
    run.runId,
    run.accountId,
    JSON.stringify(run.workflowName),
    run.holder ?? "nobody",
    String(run.losses.length),
    last === undefined ? "" : `${cause} ${format(last.lostAt)}`,
    [...new Set(run.losses.flatMap(({ nodes }) => nodes))].join(" "),
  ]
}

/** `millrace quarantine list`: prints a table, or the runs as JSON. */
export const list = (target: Target, json: boolean) =>
  Effect.gen(function* () {
    const items = yield* (yield* open(target)).quarantine.list
    if (json) return yield* print(QuarantinedRuns, { items })
    if (items.length === 0) return yield* Console.error("No run is in quarantine")
    yield* Console.log(linesOf(columns, items.map(rowOf)).join("\n"))
  }).pipe(Effect.scoped)

/** `millrace quarantine release`: prints the run's identifier. */
export const release = (target: Target, id: string, json: boolean) =>
  Effect.gen(function* () {
    const runId = RunId.make(id)
    yield* (yield* open(target)).quarantine.release(runId)
    if (json) return yield* print(ReleasedRun, { runId })
    yield* Console.error(`Run ${runId} is executed like any other from now on`)
    yield* Console.log(runId)
  }).pipe(Effect.scoped)

/** `millrace quarantine end`: prints the run's identifier. */
export const end = (target: Target, id: string, json: boolean) =>
  Effect.gen(function* () {
    const ended = yield* (yield* open(target)).quarantine.end(RunId.make(id))
    if (json) return yield* print(EndedRun, ended)
    yield* Console.error(`Run ${ended.runId} is ${ended.status}: ${ended.error}`)
    yield* Console.log(ended.runId)
  }).pipe(Effect.scoped)

/** How many runs are named before the rest are counted. */
const named = 5

/** Says which runs are in quarantine, if any. */
export const tell = Effect.fnUntraced(function* ({ quarantine }: AdminTasks) {
  const items = yield* quarantine.list
  for (const run of items.slice(0, named)) {
    const { holder, losses, runId, workflowName } = run
    const owners = losses.length === 1 ? "one owner" : `${losses.length} owners`
    const where = holder === null ? "waits for a runner" : `is held by ${holder}`
    const what = `Run ${runId} of ${JSON.stringify(workflowName)}`
    yield* Console.error(`${what} is in quarantine: it has lost ${owners} and ${where}`)
  }
  const more = items.length - named
  if (more > 0) yield* Console.error(`${more} more are in quarantine: millrace quarantine list`)
})
