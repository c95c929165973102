/**
 * The work of `millrace doctor`.
 */
import { AuditReport } from "@millrace/api/AdminCreditsWire"
import { Console, Effect } from "effect"
import { tell } from "./QuarantineTasks.ts"
import type { Session } from "./AdminSession.ts"
import { print, refuse } from "./AdminSession.ts"

/** Checks the clock, the runs in quarantine and all ledgers. Fails if a ledger does not add up. */
export const check = Effect.fnUntraced(function* (session: Session) {
  const admin = yield* session.open
  const clock = yield* admin.clockProblem
  if (clock !== undefined) yield* Console.error(clock)
  yield* tell(admin)
  const report = yield* admin.audit.audit()
  const { accounts, discrepancies } = report
  const lines = discrepancies.map(({ accountId, message }) => `${accountId}: ${message}`)
  yield* print(session, AuditReport, report, { lines })
  const read = `read the credits of ${accounts} ${accounts === 1 ? "account" : "accounts"}`
  if (lines.length === 0) return yield* Console.error(`All credits add up: ${read}`)
  const found = lines.length === 1 ? "one thing that does" : `${lines.length} things that do`
  return yield* refuse(`Found ${found} not add up: ${read}`)
})
