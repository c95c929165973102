/**
 * What a run's commits do to the credits of its account.
 *
 * A run reserves its estimate with its insert; one with `startAt`, with the commit that starts it.
 * The commit that records a node posts the node's cost out of that. Before nodes start, their
 * expected cost must be reserved. If other nodes have cost more than expected, the commit reserves
 * more. The end of the run gives the rest back.
 *
 * Guarantees: pure; one reservation at the insert, one settlement at the end, and entries that add
 * up to what the run says it has cost. Leaves out: whether an account can bear it.
 */
import type { MicroCredits } from "../../domain/Credits.ts"
import { toNumber } from "../../domain/Credits.ts"
import type { RunEntry } from "../../domain/Ledger.ts"
import * as Ledger from "../../domain/Ledger.ts"
import { estimateOf } from "../../domain/NodeType.ts"
import { priceOf } from "../../domain/Prices.ts"
import type { Run } from "../../domain/Run.ts"
import type { Timestamp } from "../../domain/Timestamp.ts"
import type { RunState } from "./RunState.ts"

/** What one node has cost since the last commit. */
export interface Charge {
  readonly nodeId: string
  readonly credits: MicroCredits
}

/** What a commit has to move. */
export interface Bill {
  /** True if the commit reserves the estimate; see {@link reservesEstimate}. */
  readonly isFirst: boolean
  readonly charges: ReadonlyArray<Charge>
  /** What is to be set aside beyond what was. */
  readonly extra: MicroCredits
  /** True for the last commit of the run. */
  readonly isLast: boolean
}

/** The entries of a commit, and what the run still has set aside with it. */
export interface Billed {
  readonly entries: ReadonlyArray<RunEntry>
  readonly held: MicroCredits
}

/** True if the commit between these two states reserves the run's estimate. */
export const reservesEstimate = (before: Run, { startedAt }: Run): boolean =>
  before.startAt === null ? before.revision === 0 : before.startedAt === null && startedAt !== null

/** What a run has set aside before its next commit; with its first one, its estimate. */
export const heldBefore = (run: Run, isFirst: boolean): MicroCredits =>
  isFirst ? run.estimatedCredits : run.heldCredits

const taken = (before: Run, { extra, isFirst }: Bill, now: Timestamp): ReadonlyArray<RunEntry> => {
  const { estimatedCredits, revision } = before
  return [
    ...(isFirst && estimatedCredits > 0 ? [Ledger.reserve(estimatedCredits, now)] : []),
    ...(extra > 0 ? [Ledger.extend(extra, revision + 1, now)] : []),
  ]
}

const nothing: Billed = { entries: [], held: 0 }

/** Puts together what the next commit of a run moves. */
export const billOf = (before: Run, bill: Bill, now: Timestamp): Billed => {
  const { charges, extra, isFirst, isLast } = bill
  const { actualCredits, estimatedCredits, startAt, startedAt } = before
  let held = heldBefore(before, isFirst) + extra
  const isUnreserved = startAt !== null && startedAt === null && !isFirst
  if (isUnreserved || held + actualCredits + estimatedCredits + charges.length === 0) return nothing
  const entries = [...taken(before, bill, now)]
  for (const { credits, nodeId } of charges) {
    const entry = Ledger.post(held, nodeId, before.revision + 1, credits, now)
    held += entry.reserved
    entries.push(entry)
  }
  if (!isLast) return { entries, held }
  return { entries: [...entries, Ledger.voidRest(held, now)], held: 0 }
}

/** What a run has cost, with its children that have ended. */
export const costOf = ({ actualCredits, childCredits }: Run): MicroCredits =>
  actualCredits + childCredits

/** What the nodes in progress are expected to cost yet. */
export const expectedOf = ({
  definition,
  graph,
  priorAttempts,
  run,
  running,
}: RunState): MicroCredits => {
  // Where no node of the run has a price, nobody needs to be asked for it.
  if (run.estimatedCredits === 0) return 0
  let sum = 0
  for (const index of running.keys()) {
    const { settings, type } = graph.nodes[index]!
    const listed = priceOf(definition.settings.prices, type, settings)
    const estimate = estimateOf(type, settings, listed) ?? 0
    sum += Math.max(0, estimate - (priorAttempts.get(index)?.credits ?? 0))
  }
  return sum
}

/**
 * How a run reads that was stopped because its account cannot bear more. Those who see the run may
 * not know what the account has.
 */
export const sentenceOfRefusal = (required: MicroCredits): string =>
  `The credits ran out: the run needed ${toNumber(required)} more, and fewer were available`

/** How a run reads that was to start later, and whose credits were not covered then. */
export const sentenceOfLateRefusal = (required: MicroCredits): string =>
  `The run was due to start, and its credits were not covered: it required ${toNumber(required)}`

/** How a run reads that was stopped because its start allowed no more. */
export const sentenceOfLimit = (cost: MicroCredits, limit: MicroCredits): string =>
  `The run needed ${toNumber(cost)} credits, and its start allowed ${toNumber(limit)}`
