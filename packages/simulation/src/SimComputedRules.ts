/**
 * What must hold of nodes without effects that an owner computes before it commits: the commit has
 * all of them, each begins when what it depends on has ended, and none is computed that must not
 * begin.
 *
 * Leaves out: what their rows say, which is judged as that of every node (`SimNodeRules`).
 */
import type { NodeRun, WaitingNode } from "@millrace/core/domain/Run"
import { isTerminal } from "@millrace/core/domain/Run"
import type { Call } from "./SimJournal.ts"
import { callKey, stageOf } from "./SimJournal.ts"
import { isOver } from "./SimReference.ts"
import { checkWake, noteAttempt, noteBegin } from "./SimStepRules.ts"
import type { Machine } from "./SimTime.ts"
import type { Bench, Turned, Watched } from "./SimWatched.ts"
import { isSaid, rowsOf, shown } from "./SimWatched.ts"

const titleOf = ({ attempt, nodeId, runId, stage }: Call): string =>
  callKey(runId, nodeId, attempt, stage)

/**
 * What a machine has computed for the commit that has just landed, by ordinal, in order. A run may
 * be computed before its first commit, and once more if that was refused. If it does not end with
 * that, what was computed of it never was.
 */
export const computedOf = (
  { journal, report }: Bench,
  watched: Watched,
  machine: Machine,
  isFirst: boolean,
): ReadonlyMap<number, Call> => {
  const { fence, id, status } = watched.record.run
  const computed = new Map<number, Call>()
  const calls = journal.takeComputed(machine, id)
  if (isFirst && !isTerminal(status)) return computed
  const begun = isFirst ? calls.findLastIndex(({ nodeId }) => nodeId === calls[0]!.nodeId) : 0
  for (const call of calls.slice(Math.max(0, begun))) {
    // One that has lost the run may have computed what nobody stores.
    if (call.tenure !== fence) continue
    const ordinal = watched.reference.ordinals.get(call.nodeId)!
    if (computed.has(ordinal)) report("a commit computes a node once", titleOf(call))
    computed.set(ordinal, call)
  }
  return computed
}

const orderOf = ({ computed }: Turned, ordinal: number): number =>
  [...computed.keys()].indexOf(ordinal)

/** True where a node is computed after a failure that stops its run. */
const isAfterFailure = (turned: Turned, ordinal: number, row: NodeRun | undefined): boolean => {
  const { after, before } = turned
  if ((after.definition.settings.onFailure ?? "continue") === "continue") return false
  if (before.nodeRuns.some(({ status }) => status === "FAILED")) return true
  return after.nodeRuns.some((failure) => {
    if (failure.status !== "FAILED" || failure.ordinal === ordinal) return false
    if (row !== undefined && row.sequence !== null) return row.sequence > failure.sequence!
    if (turned.computed.has(failure.ordinal)) {
      return orderOf(turned, ordinal) > orderOf(turned, failure.ordinal)
    }
    return failure.attempt > 0
  })
}

/** What a computed node depends on has ended before it. */
const checkOrder = ({ report }: Bench, turned: Turned, call: Call, row: NodeRun): void => {
  const rows = rowsOf(turned.after)
  for (const { source } of turned.watched.reference.placeOf(call.nodeId)!.into) {
    const sequence = rows.get(source)?.sequence ?? 0
    const isRight = row.sequence === null || sequence < row.sequence
    if (!isRight) report("a node ends after what it depends on", `${titleOf(call)}: ${source}`)
  }
}

/** It is the attempt that comes next, and its time has come. */
const checkTurn = (bench: Bench, turned: Turned, ordinal: number, call: Call): void => {
  const { before } = turned
  const isOfNode = (each: { readonly ordinal: number }) => each.ordinal === ordinal
  const wait: WaitingNode | undefined = before.run.waiting.find(isOfNode)
  const isInProgress = before.run.active.some(isOfNode)
  const isNext = call.attempt === (wait?.attempt ?? 1) && wait?.state === undefined
  if (isInProgress || !isNext || isOver(rowsOf(before).get(call.nodeId))) {
    bench.report("attempts are counted on", `${titleOf(call)} is not what comes next`)
  }
  if (wait !== undefined) checkWake(bench, turned, wait, wait)
}

const checkCall = (bench: Bench, turned: Turned, ordinal: number, call: Call): void => {
  const { journal, report } = bench
  const { after, decidedAt, watched } = turned
  const { attempt, inputs, nodeId, startedLocally } = call
  const title = titleOf(call)
  const first = watched.first.get(ordinal)
  const begun = { ordinal, attempt, startedAt: first ?? startedLocally }
  checkTurn(bench, turned, ordinal, call)
  noteAttempt(bench, turned, begun)
  noteBegin(bench, turned, begun)
  journal.accept(call)
  if (startedLocally > decidedAt && !bench.isSkewed) {
    report("nothing is computed while a step is being stored", title)
  }
  const fate = watched.reference.fateOf(ordinal, rowsOf(after))
  if (fate._tag === "Run" && !isSaid(inputs, fate.inputs)) {
    report("a node is computed from its inputs", `${title}: ${shown(inputs)}`)
  }
  const row = rowsOf(after).get(nodeId)
  const own = row?.attempt === attempt ? row : undefined
  const isActive = after.run.active.some((each) => each.ordinal === ordinal)
  const isBrokenOff =
    isTerminal(after.run.status) && (call.endedAt === undefined || call.wasInterrupted)
  if (own === undefined && !isActive && !isBrokenOff) report("what was computed is stored", title)
  if (isAfterFailure(turned, ordinal, own)) report("nothing is computed after a failure", title)
  if (own !== undefined) checkOrder(bench, turned, call, own)
}

/** What an attempt of a node is expected to cost yet, and what it has cost with a commit. */
const costsOf = ({ after, before, watched }: Turned, ordinal: number) => {
  const { id } = after.definition.nodes[ordinal]!
  const earlier = rowsOf(before).get(id)?.credits ?? 0
  const row = rowsOf(after).get(id)
  const { estimate } = watched.reference.places[ordinal]!
  return {
    expected: before.run.estimatedCredits === 0 ? 0 : Math.max(0, estimate - earlier),
    // What the end of its run breaks off was in progress until then.
    cost: row === undefined || row.status === "CANCELED" ? 0 : row.credits - earlier,
  }
}

/** Each node is computed out of what its run had set aside. */
const checkCovered = ({ report }: Bench, turned: Turned): void => {
  const { after, before, computed } = turned
  let needed = 0
  // One that was suspended in between had cost what it had, although it goes on.
  const add = (ordinal: number, stage: number): void => {
    const { cost, expected } = costsOf(turned, ordinal)
    const active = after.run.active.find((each) => each.ordinal === ordinal)
    needed += active !== undefined && stageOf(active.state) === stage ? expected : cost
  }
  for (const { ordinal, state } of before.run.active) add(ordinal, stageOf(state))
  for (const [ordinal, call] of computed) {
    const { expected } = costsOf(turned, ordinal)
    if (needed + expected > before.run.heldCredits) {
      const what = `${titleOf(call)}: ${needed + expected} of ${before.run.heldCredits}`
      report("a node is computed out of what is set aside", what)
    }
    add(ordinal, call.stage)
  }
}

/** All that an owner has computed for a commit. */
export const checkComputed = (bench: Bench, turned: Turned): void => {
  const { after, computed } = turned
  if (computed.size > bench.setup.nodesPerStep) {
    bench.report(
      "a commit computes no more nodes than allowed",
      `${after.run.id}: ${computed.size}`,
    )
  }
  if (computed.size > 0 && after.run.error?.startsWith("The run timed out") === true) {
    bench.report("nothing is computed when time is up", after.run.id)
  }
  if (computed.size > 0) checkCovered(bench, turned)
  for (const [ordinal, call] of computed) checkCall(bench, turned, ordinal, call)
}
