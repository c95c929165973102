/**
 * What must hold of a whole play once it is over: which starts have made runs, and what all runs
 * have cost.
 */
import { audit } from "@millrace/core/engine/Audit"
import { LedgerStore } from "@millrace/core/ports/LedgerStore"
import { Effect } from "effect"
import type { World } from "./SimWorld.ts"

/** No name has started two runs. */
export const checkNames = (world: World, isNamed: (run: number) => boolean): void => {
  const numbers = Array.from(world.witness.runs.values(), ({ record }) => record.run)
    .filter(({ rerunOf }) => rerunOf === null)
    .map(({ values }) => Number(values["run"]))
  const twice = numbers.find((run, at) => isNamed(run) && numbers.indexOf(run) < at)
  if (twice !== undefined) world.report("a name starts one run", `start ${twice}`)
}

/** What the runs have cost is on the books, and nothing is set aside any more. */
export const checkBooks = (world: World): void => {
  const { ledger } = world
  const { discrepancies } = Effect.runSync(Effect.provideService(audit, LedgerStore, ledger))
  for (const { message } of discrepancies) world.report("the books add up", message)
  for (const account of Effect.runSync(ledger.accounts)) {
    const { reserved } = Effect.runSync(ledger.find(account)).account
    if (reserved !== 0) world.report("nothing stays reserved", `${account}: ${reserved}`)
  }
}
