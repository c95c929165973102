/**
 * The work of `millrace quarantine`, and the lines of `millrace doctor` about quarantine.
 */
import type { QuarantinedRun } from "@millrace/api/AdminQuarantineWire"
import { EndedRun, QuarantinedRuns, ReleasedRun } from "@millrace/api/AdminQuarantineWire"
import { namesShown } from "@millrace/core/domain/Limits"
import { format } from "@millrace/core/domain/Timestamp"
import { Console, Effect } from "effect"
import type { Admin, Session } from "./AdminSession.ts"
import { print, table } from "./AdminSession.ts"

const lastLossOf = ({ losses }: QuarantinedRun): string => {
  const last = losses.at(-1)
  if (last === undefined) return ""
  const cause = last.millis === null ? last.cause : `blocked ${last.millis} ms`
  return `${cause} ${format(last.lostAt)}`
}

const columns = {
  run: ({ runId }: QuarantinedRun) => runId,
  account: ({ accountId }: QuarantinedRun) => accountId,
  workflow: ({ workflowName }: QuarantinedRun) => JSON.stringify(workflowName),
  "held by": ({ holder }: QuarantinedRun) => holder ?? "nobody",
  losses: ({ losses }: QuarantinedRun) => String(losses.length),
  last: lastLossOf,
  "nodes in progress": ({ losses }: QuarantinedRun) =>
    [...new Set(losses.flatMap(({ nodes }) => nodes))].join(" "),
}

/** `millrace quarantine list`: prints a table, or the runs as JSON. */
export const list = Effect.fnUntraced(function* (session: Session) {
  const { items } = yield* (yield* session.open).quarantine.list()
  const shown = table(columns, items, "No run is in quarantine")
  yield* print(session, QuarantinedRuns, { items }, shown)
})

/** `millrace quarantine release`: prints the run's identifier. */
export const release = Effect.fnUntraced(function* (session: Session, id: string) {
  const released = yield* (yield* session.open).quarantine.release({ params: { id } })
  yield* print(session, ReleasedRun, released, {
    said: `Run ${released.runId} is executed like any other from now on`,
    lines: [released.runId],
  })
})

/** `millrace quarantine end`: prints the run's identifier. */
export const end = Effect.fnUntraced(function* (session: Session, id: string) {
  const ended = yield* (yield* session.open).quarantine.end({ params: { id } })
  yield* print(session, EndedRun, ended, {
    said: `Run ${ended.runId} is ${ended.status}: ${ended.error}`,
    lines: [ended.runId],
  })
})

/** Prints which runs are in quarantine, if any. */
export const tell = Effect.fnUntraced(function* ({ quarantine }: Admin) {
  const { items } = yield* quarantine.list()
  for (const run of items.slice(0, namesShown)) {
    const { holder, losses, runId, workflowName } = run
    const owners = losses.length === 1 ? "one owner" : `${losses.length} owners`
    const where = holder === null ? "waits for a runner" : `is held by ${holder}`
    const what = `Run ${runId} of ${JSON.stringify(workflowName)}`
    yield* Console.error(`${what} is in quarantine: it has lost ${owners} and ${where}`)
  }
  const more = items.length - namesShown
  if (more > 0) yield* Console.error(`${more} more are in quarantine: millrace quarantine list`)
})
