/**
 * A run as lines on a screen: one per node when it finishes, and one for the end.
 *
 * Guarantees: shows what is stored, in the order in which it happened. Leaves out: drawing over
 * what was shown before; a line stays.
 */
import type { NodeRun, NodeRunStatus, Run, RunRecord } from "@millrace/core/domain/Run"
import { isNodeTerminal, isTerminal } from "@millrace/core/domain/Run"
import { RunStore } from "@millrace/core/ports/RunStore"
import type { StorageError } from "@millrace/core/ports/StorageError"
import { Console, Effect, Option } from "effect"
import type { Colors } from "./Colors.ts"

/** How long to wait between two reads of the run. */
const lookAgain = "20 millis"

const signs: { readonly [S in NodeRunStatus]: readonly [string, keyof Colors] } = {
  COMPLETED: ["✔", "green"],
  FAILED: ["✘", "red"],
  SKIPPED: ["–", "dim"],
  CANCELED: ["–", "yellow"],
  PENDING: [" ", "dim"],
  RUNNING: [" ", "dim"],
  WAITING: [" ", "dim"],
}

/** Milliseconds below a second, seconds above. */
export const timeText = (millis: number): string =>
  millis < 1_000 ? `${millis} ms` : `${(millis / 1_000).toFixed(1)} s`

const took = ({ finishedAt, startedAt }: Pick<NodeRun, "startedAt" | "finishedAt">): string =>
  startedAt === null || finishedAt === null ? "" : timeText(finishedAt - startedAt)

/** Widths of the columns, from the longest entries. */
export interface Widths {
  readonly id: number
  readonly type: number
}

/** The widths that suit a run's nodes. */
export const widthsOf = ({ definition }: RunRecord): Widths => ({
  id: Math.max(...definition.nodes.map((each) => each.id.length)),
  type: Math.max(...definition.nodes.map((each) => each.type.length)),
})

/** Why a node failed or was skipped, without the word "Skipped", which its line has already. */
const remarkOf = ({ error, logs, status }: NodeRun): string =>
  error ?? (status === "SKIPPED" ? (logs?.at(-1)?.message ?? "").replace(/^Skipped: /, "") : "")

/** The line of a node that has finished. */
export const nodeLine = (row: NodeRun, widths: Widths, colors: Colors): string => {
  const [sign, colour] = signs[row.status]
  const id = row.nodeId.padEnd(widths.id)
  const type = colors.dim(row.nodeType.padEnd(widths.type))
  const status = colors[colour](`${sign} ${row.status.padEnd(9)}`)
  const remark = colors.dim(remarkOf(row))
  return `  ${id}  ${type}  ${status} ${took(row).padStart(7)}  ${remark}`.trimEnd()
}

/** The line at the end of a run. */
export const endLine = (run: Run, colors: Colors): string => {
  const word = run.status === "COMPLETED" ? colors.green(run.status) : colors.red(run.status)
  const reason = run.error === null ? "" : `: ${run.error}`
  return `  ${run.workflowName}: ${word} in ${took(run)}${reason}`
}

/** Finished node runs that were not shown yet, in the order in which they finished. */
const newlyFinished = (record: RunRecord, shown: ReadonlySet<string>): ReadonlyArray<NodeRun> =>
  record.nodeRuns
    .filter((row) => isNodeTerminal(row.status) && !shown.has(row.nodeId))
    .toSorted((a, b) => (a.finishedAt ?? 0) - (b.finishedAt ?? 0) || a.ordinal - b.ordinal)

/** Prints a run while it happens, and returns it when it has ended. */
export const follow: (
  run: Run,
  colors: Colors,
) => Effect.Effect<RunRecord, StorageError, RunStore> = Effect.fnUntraced(function* (run, colors) {
  const store = yield* RunStore
  const shown = new Set<string>()
  while (true) {
    const found = yield* store.find(run.accountId, run.id)
    if (Option.isNone(found)) return yield* Effect.die(new Error(`Run ${run.id} is not stored`))
    const record = found.value
    const widths = widthsOf(record)
    for (const row of newlyFinished(record, shown)) {
      shown.add(row.nodeId)
      yield* Console.log(nodeLine(row, widths, colors))
    }
    if (isTerminal(record.run.status)) {
      yield* Console.log(endLine(record.run, colors))
      return record
    }
    yield* Effect.sleep(lookAgain)
  }
})
