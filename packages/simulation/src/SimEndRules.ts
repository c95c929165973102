/**
 * What must hold of the end of a run and of its events: both follow from its rows.
 */
import { isCrowded } from "./SimScenario.ts"
import type { NodeRun, Run } from "@millrace/core/domain/Run"
import { isPinned, isTerminal } from "@millrace/core/domain/Run"
import { lossesPerRun } from "@millrace/core/domain/Limits"
import { toNumber } from "@millrace/core/domain/Credits"
import { isOver } from "./SimReference.ts"
import type { Bench, Turned } from "./SimWatched.ts"
import { isSame, rowsOf, shown } from "./SimWatched.ts"

const countOf = (rows: ReadonlyArray<NodeRun>, status: NodeRun["status"]): number =>
  rows.filter((row) => row.status === status).length

const errorOf = (rows: ReadonlyArray<NodeRun>): string => {
  const failures = rows
    .filter(({ status }) => status === "FAILED")
    .toSorted((a, b) => (a.sequence ?? 0) - (b.sequence ?? 0))
  const more = failures.length - 1
  const rest = more === 0 ? "" : ` (and ${more} more ${more === 1 ? "node" : "nodes"})`
  return `Node "${failures[0]!.nodeId}" failed: ${failures[0]!.error}${rest}`
}

const hasExpired = ({ isSkewed, slackMillis }: Bench, { after, machine }: Turned): boolean => {
  const { timeoutMillis } = after.definition.settings
  const { startedAt } = after.run
  if (timeoutMillis === undefined || startedAt === null) return false
  return isSkewed || machine.now >= startedAt + timeoutMillis - slackMillis
}

/** True when the end of a run changed nothing of its nodes but what it broke off. */
const isLeftAlone = ({ after, before }: Turned): boolean => {
  const broken = new Set(
    after.nodeRuns.filter(({ status }) => status === "CANCELED").map(({ nodeId }) => nodeId),
  )
  const others = ({ nodeRuns }: Turned["after"]) =>
    nodeRuns.filter(({ nodeId }) => !broken.has(nodeId))
  return isSame(others(after), others(before))
}

/** Why this end is not the one that follows from what is on record. */
const problemOfEnd = (bench: Bench, turned: Turned): string | undefined => {
  const { after, before, isCancel, watched } = turned
  const { error, output, status } = after.run
  const rows = rowsOf(after)
  const failures = countOf(after.nodeRuns, "FAILED")
  // What the end has broken off is over by that, and had not ended before.
  const hasEnded = (row: NodeRun | undefined) => isOver(row) && row?.status !== "CANCELED"
  const isDone = after.definition.nodes.every(({ id }) => hasEnded(rows.get(id)))
  if (status === "CANCELED" || isCancel) {
    const isRight = status === "CANCELED" && error === null && isCancel
    return isRight && isLeftAlone(turned) ? undefined : "who canceled it?"
  }
  if (error?.startsWith("The run was given up") === true) {
    const { length } = before.run.losses
    return length === lossesPerRun ? undefined : `it was given up after ${length} losses`
  }
  if (!isSame(output, watched.reference.outputOf(rows))) return `it puts out ${shown(output)}`
  if (error?.startsWith("The run timed out after") === true) {
    return status === "FAILED" && hasExpired(bench, turned) && !isDone ? undefined : "in time"
  }
  if (failures === 0) {
    return status === "COMPLETED" && error === null && isDone ? undefined : `it is ${shown(error)}`
  }
  if (status !== "FAILED" || error !== errorOf(after.nodeRuns)) {
    return `it is ${status}, ${shown(error)}, not ${shown(errorOf(after.nodeRuns))}`
  }
  const { onFailure = "continue" } = after.definition.settings
  if (!isDone && onFailure === "continue") return "nodes have not ended"
  if (onFailure === "stop" && after.run.active.length > 0) return "nodes are in progress"
  return undefined
}

/** How late an end by the time limit may be. */
const isLate = (bench: Bench, { after }: Turned): boolean => {
  const { timeoutMillis } = after.definition.settings
  const { startedAt } = after.run
  const quiet = bench.quietSince()
  const { setup, time } = bench
  if (timeoutMillis === undefined || startedAt === null || quiet === undefined) return false
  if (bench.isSkewed || isCrowded(setup)) return false
  const slack = setup.leaseMillis + 2 * setup.pollMillis + 8 * setup.latencyMillis + 1_500
  const latest = Math.max(startedAt + timeoutMillis, bench.byStore(quiet)) + slack
  return bench.byStore(time.now) > latest
}

/** A run ends as what its nodes have come to, and in time. */
export const checkEnd = (bench: Bench, turned: Turned): void => {
  const { after } = turned
  const { finishedAt, id, status } = after.run
  if (!isTerminal(status)) {
    if (finishedAt !== null) bench.report("an open run has no end", id)
    const rows = rowsOf(after)
    const hasBegun = status === "RUNNING"
    if (hasBegun && after.definition.nodes.every((node) => isOver(rows.get(node.id)))) {
      bench.report("a run ends with its last node", id)
    }
    const isAborted = after.definition.settings.onFailure === "abort"
    if (isAborted && countOf(after.nodeRuns, "FAILED") > 0) {
      bench.report("a run that aborts ends with its first failure", id)
    }
    return
  }
  if (isLate(bench, turned)) bench.report("a run ends at its time limit", id)
  if (finishedAt === null) bench.report("a run that has ended says when", id)
  const problem = problemOfEnd(bench, turned)
  if (problem !== undefined) bench.report("a run ends as its nodes did", `${id}: ${problem}`)
}

const ends: ReadonlySet<string> = new Set(["run.completed", "run.failed", "run.canceled"])

const isTypeOf = (type: string, { status }: Run): boolean => type === `run.${status.toLowerCase()}`

/** Events are numbered without gaps, only ever appended, and exactly those that the rows tell. */
export const checkEvents = ({ report }: Bench, { after, before, events }: Turned): void => {
  const { run } = after
  const numbers = events.map(({ sequence }) => sequence)
  if (!numbers.every((number, index) => number === index + 1) || numbers.length !== run.sequence) {
    report("events have no gaps", `${run.id}, ${run.sequence}: ${numbers.join(", ")}`)
  }
  if (before.run.sequence > run.sequence) report("events are only appended", run.id)
  const own = events.filter(({ type }) => type.startsWith("run."))
  const expected = [
    ...(run.startedAt === null ? [] : ["run.started"]),
    ...(isTerminal(run.status) ? [`run.${run.status.toLowerCase()}`] : []),
  ]
  const types = own.map(({ type }) => type)
  if (!isSame(types, expected)) report("events tell what the run went through", types.join(", "))
  const told = after.nodeRuns.filter(
    (row) => (row.status === "COMPLETED" || row.status === "FAILED") && !isPinned(row),
  )
  for (const row of told) {
    const found = events.filter(({ data }) => data["nodeId"] === row.nodeId)
    const type = `node.${row.status.toLowerCase()}`
    const isRight = found.length === 1 && found[0]!.type === type && found[0]!.error === row.error
    if (!isRight) report("each node's end is told once", `${run.id} ${row.nodeId}`)
  }
  if (events.length !== own.length + told.length) report("no event is invented", run.id)
  const last = events.at(-1)
  if (last === undefined || !ends.has(last.type)) return
  const { completedNodes, failedNodes, actualCredits } = last.data
  const counts = [completedNodes, failedNodes, actualCredits]
  const right = [
    countOf(after.nodeRuns, "COMPLETED"),
    countOf(after.nodeRuns, "FAILED"),
    toNumber(run.actualCredits),
  ]
  if (!isSame(counts, right) || !isTypeOf(last.type, run)) {
    report("the end of a run is told with its counts", `${shown(counts)}, not ${shown(right)}`)
  }
}
