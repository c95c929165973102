/**
 * What must hold of trees of runs once all of them have ended: each child is there once, a tree has
 * come to what it had to come to, nothing of it has gone on without its parent, and its costs add
 * up.
 */
import type { RunId } from "@millrace/core/domain/Id"
import type { Run } from "@millrace/core/domain/Run"
import { audit } from "@millrace/core/engine/Audit"
import { LedgerStore } from "@millrace/core/ports/LedgerStore"
import type { RunStore } from "@millrace/core/ports/RunStore"
import type { ValueStore } from "@millrace/core/ports/ValueStore"
import { Context, Effect } from "effect"
import { endOf, itemOf, type Planted } from "./TreeNodes.ts"
import type { TreeScenario } from "./TreeScenario.ts"

/** A root, as far as its start was answered for. */
export interface Root {
  readonly workflow: number
  readonly item: string
  id: RunId | undefined
  isCanceled: boolean
}

/** What is known of trees once all of their runs have ended. */
export interface Evidence {
  readonly roots: ReadonlyArray<Root>
  readonly runs: ReadonlyArray<Run>
  /** Children whose cancel was asked for. */
  readonly asked: ReadonlySet<RunId>
  /** Which children have begun, and which runs have ended, in order. */
  readonly history: ReadonlyArray<{ readonly id: RunId; readonly isEnd: boolean }>
  /** For each commit, the children that it has stored and that had ended before. */
  readonly turns: ReadonlyArray<ReadonlyArray<Run>>
  readonly stores: Context.Context<LedgerStore | RunStore | ValueStore>
}

type ById = ReadonlyMap<RunId, Run>

const itemIn = ({ values }: Run): string => values["item"] as string

const workflowOf = ({ workflowId }: Run): number => Number(workflowId.slice("wf_".length))

/** Each child stands where its parent has put it, and only once. */
const brokenPlace = (runs: ReadonlyArray<Run>, byId: ById): string | undefined => {
  const places = new Set<string>()
  for (const run of runs) {
    const { id, parent } = run
    if (parent === null) continue
    const { depth, index, nodeId, rootRunId, runId } = parent
    const place = `${runId} ${nodeId} ${index}`
    if (places.has(place)) return `a child is started once: ${place}`
    places.add(place)
    const above = byId.get(runId)
    if (above === undefined) return `a child has a parent: ${id}`
    const isRight =
      depth === (above.parent?.depth ?? 0) + 1 &&
      rootRunId === (above.parent?.rootRunId ?? above.id) &&
      itemIn(run) === itemOf(itemIn(above), nodeId, index)
    if (!isRight) return `a child stands where its parent put it: ${id} at ${place}`
  }
  return undefined
}

/** What a run has come to follows from its item, unless nobody waited for it any more. */
const brokenEnd = (
  planted: Planted,
  run: Run,
  root: Root | undefined,
  above: Run | undefined,
): string | undefined => {
  const { error, id, output, status } = run
  if (status === "CANCELED") {
    const isAsked = root?.isCanceled === true || planted.canceled.has(itemIn(run))
    const isFair = isAsked || (above !== undefined && above.status !== "COMPLETED")
    return isFair ? undefined : `only what nobody waits for is canceled: ${id}`
  }
  const expected = endOf(planted, workflowOf(run), itemIn(run))
  if (expected === "FAILED") {
    return status === "FAILED" ? undefined : `a run fails with what it needs: ${id} is ${status}`
  }
  const isRight =
    status === "COMPLETED" && JSON.stringify(output) === JSON.stringify(expected.output)
  const what = `${id} is ${status} ${error} ${JSON.stringify(output)}`
  return isRight ? undefined : `a run puts out what its children did: ${what}`
}

/** What goes on after its parent has ended is canceled with its next step. */
export const brokenOrder = (
  { id, status }: Run,
  above: Run | undefined,
  ends: ReadonlyArray<RunId>,
): string | undefined => {
  if (above === undefined || status === "CANCELED") return undefined
  const isInTime = ends.indexOf(id) < ends.indexOf(above.id)
  return isInTime ? undefined : `nothing goes on without its parent: ${id} is ${status}`
}

/** What its children have cost is known to a run that has heard of all of them. */
export const brokenCost = (run: Run, children: ReadonlyArray<Run>): string | undefined => {
  const sum = children.reduce((all, each) => all + each.actualCredits + each.childCredits, 0)
  const isRight = run.status === "COMPLETED" ? run.childCredits === sum : run.childCredits <= sum
  return isRight ? undefined : `costs add up: ${run.id} says ${run.childCredits}, not ${sum}`
}

/** What has ended, in order. */
export const endsOf = ({ history }: Evidence): ReadonlyArray<RunId> =>
  history.flatMap(({ id, isEnd }) => (isEnd ? [id] : []))

/** The ledger says what the runs say, and nothing of them stays reserved. */
export const brokenBooks = ({
  stores,
}: {
  readonly stores: Context.Context<LedgerStore>
}): string | undefined => {
  const ledger = Context.get(stores, LedgerStore)
  const { discrepancies } = Effect.runSync(Effect.provideService(audit, LedgerStore, ledger))
  if (discrepancies.length > 0) return `the books add up: ${discrepancies[0]!.message}`
  for (const each of Effect.runSync(ledger.accounts)) {
    const { reserved } = Effect.runSync(ledger.find(each)).account
    if (reserved !== 0) return `nothing stays reserved: ${reserved}`
  }
  return undefined
}

/** The first broken rule, with what breaks it. */
export const brokenRuleOf = (
  { branches, seed }: TreeScenario,
  evidence: Evidence,
): string | undefined => {
  const { asked, roots, runs } = evidence
  const byId = new Map(runs.map((run) => [run.id, run]))
  const misplaced = brokenPlace(runs, byId)
  if (misplaced !== undefined) return misplaced
  const started = runs.filter(({ parent }) => parent === null)
  if (started.length !== roots.length) return `a name starts one run: ${started.length}`
  const stopped = runs.filter(({ id, status }) => status === "CANCELED" && asked.has(id))
  const planted = { seed, branches, canceled: new Set(stopped.map(itemIn)) }
  const ends = endsOf(evidence)
  for (const run of runs) {
    const children = runs.filter(({ parent }) => parent?.runId === run.id)
    const root = roots.find(({ id }) => id === run.id)
    const above = run.parent === null ? undefined : byId.get(run.parent.runId)
    const broken =
      brokenEnd(planted, run, root, above) ??
      brokenOrder(run, above, ends) ??
      brokenCost(run, children)
    if (broken !== undefined) return broken
  }
  return brokenBooks(evidence)
}
