/**
 * What must hold of trials whatever was killed when: nothing is lost or recorded twice, an attempt
 * follows another one only where it may and not before its time, what may happen once happens once,
 * and what is recorded of a node is what its last attempt did.
 *
 * Guarantees: pure functions over what was read. Leaves out: how late something may be.
 */
import type { NodeRun } from "@millrace/core/domain/Run"
import { isNodeTerminal, isTerminal, nodeRunsOf } from "@millrace/core/domain/Run"
import type { Story } from "./Evidence.ts"
import type { Act, Entry } from "./Trial.ts"
import { actOf, laterMillis } from "./Trial.ts"
import type { TrialDrawing, TrialNode } from "./TrialDrawing.ts"

/** Everything that is known besides what is stored. */
export interface Witness {
  readonly drawings: ReadonlyMap<string, TrialDrawing>
  /** Runs whose start was answered for. */
  readonly acknowledged: ReadonlyArray<string>
  /** The answers to cancels, by run: 200, or 409 where the run had ended. */
  readonly cancels: ReadonlyMap<string, number>
  readonly entries: ReadonlyArray<Entry>
  /** When each of the processes was killed, by its number. */
  readonly kills: ReadonlyMap<number, number>
}

/** What handlers wrote down of one node, by attempt. */
type Attempts = ReadonlyMap<number, ReadonlyArray<Entry>>

interface Case {
  readonly story: Story
  readonly drawing: TrialDrawing
  readonly rows: ReadonlyMap<string, NodeRun>
  readonly attempts: ReadonlyMap<string, Attempts>
  readonly kills: ReadonlyMap<number, number>
}

const hasTimedOut = ({ run }: Story): boolean => run.error?.startsWith("The run timed out") === true
const isGivenUp = ({ run }: Story): boolean =>
  run.error?.startsWith("The run was given up") === true

/**
 * What a time may be early by. Each server estimates the store's time, by round trips that take
 * longer on a busy machine; and timers and clocks count whole milliseconds, each its own.
 */
const estimateMillis = 25

/** True where nodes may be left that never settled. */
const isCutShort = ({ drawing, rows, story }: Case): boolean =>
  story.run.status === "CANCELED" ||
  hasTimedOut(story) ||
  isGivenUp(story) ||
  (drawing.onFailure !== "continue" && [...rows.values()].some((row) => row.status === "FAILED"))

const statusOf = ({ rows, story }: Case): string => {
  if (story.run.status === "CANCELED") return "CANCELED"
  const isFailed = [...rows.values()].some(({ status }) => status === "FAILED")
  return isFailed || hasTimedOut(story) || isGivenUp(story) ? "FAILED" : "COMPLETED"
}

/** What is wrong with the row of a run, and with which of its nodes have settled. */
const problemsOfRun = (each: Case): ReadonlyArray<string> => {
  const { drawing, kills, rows, story } = each
  const { run } = story
  const limit = drawing.timeoutMillis ?? Number.POSITIVE_INFINITY
  const took = (run.finishedAt ?? 0) - (run.startedAt ?? 0)
  const sum = (of: (row: NodeRun) => number) =>
    [...rows.values()].reduce((all, row) => all + of(row), 0)
  const open = [...rows.values()].filter(
    ({ status }) => !isNodeTerminal(status) || status === "CANCELED",
  )
  const facts: ReadonlyArray<readonly [boolean, string]> = [
    [isTerminal(run.status), `is ${run.status}`],
    [run.status === statusOf(each), `is ${run.status}, not ${statusOf(each)}: ${run.error}`],
    [(run.error === null) === (run.status !== "FAILED"), `is ${run.status} with ${run.error}`],
    [run.dueAt === null, "is parked although it has ended"],
    [run.attempts === sum(({ attempt }) => attempt), `counts ${run.attempts} attempts`],
    [run.nodeRunCount === sum(({ attempt }) => Math.min(1, attempt)), "counts its nodes wrong"],
    [
      !hasTimedOut(story) || took >= limit - estimateMillis,
      `timed out after ${took} ms of ${limit}`,
    ],
    [!isGivenUp(story) || kills.size >= 5, "was given up without five kills"],
    [
      open.length === 0 || isCutShort(each),
      `ended without ${open.map((row) => row.nodeId).join()}`,
    ],
  ]
  return facts.filter(([holds]) => !holds).map(([, sentence]) => sentence)
}

/** What is wrong with the events of a run: one for each end, without a gap. */
const problemsOfEvents = ({ rows, story: { events, run } }: Case): ReadonlyArray<string> => {
  const told = events.flatMap(({ data, type }) =>
    type.startsWith("node.") ? [`${type} ${String(data["nodeId"])}`] : [],
  )
  const names: Partial<Record<string, string>> = { COMPLETED: "completed", FAILED: "failed" }
  const ends = [...rows.values()].flatMap(({ nodeId, status }) =>
    names[status] === undefined ? [] : [`node.${names[status]} ${nodeId}`],
  )
  const outer = events.map(({ type }) => type).filter((type) => type.startsWith("run."))
  const begin = run.startedAt === null ? [] : ["run.started"]
  const expected = [...begin, `run.${run.status.toLowerCase()}`]
  const numbers = events.map(({ sequence }) => sequence)
  const facts: ReadonlyArray<readonly [boolean, string]> = [
    [numbers.every((number, index) => number === index + 1), `events are ${numbers.join(" ")}`],
    [run.sequence === events.length, `counts ${run.sequence} of ${events.length} events`],
    [outer.join() === expected.join(), `tells ${outer.join()}, not ${expected.join()}`],
    [told.toSorted().join() === ends.toSorted().join(), `tells ${told.join()}, not ${ends.join()}`],
    [events.at(-1)?.type === expected.at(-1), `ends with ${events.at(-1)?.type}`],
  ]
  return facts.filter(([holds]) => !holds).map(([, sentence]) => sentence)
}

const canFail = (act: Act): boolean => act !== "ok"

const isTimeout = (row: NodeRun): boolean =>
  (row.error ?? JSON.stringify(row.output)).includes("timed out after")

const isUnknown = (row: NodeRun): boolean =>
  (row.error ?? JSON.stringify(row.output)).includes("outcome of attempt")

/** What a node that ended in spite of its failure puts out. */
const hasHandled = ({ onError }: TrialNode, { output, status }: NodeRun): boolean => {
  if (onError === "fail") return status === "FAILED"
  if (status !== "COMPLETED") return false
  return onError === "route" ? output?.["error"] !== undefined : output?.["output"] === 0
}

/** What is wrong with what is recorded of a node that ran, given what its last attempt did. */
const problemsOfEnd = (node: TrialNode, row: NodeRun, isHalted: boolean): ReadonlyArray<string> => {
  const act = actOf(node.acts, row.attempt)
  if (row.status === "COMPLETED" && row.output?.["output"] === 1) {
    return canFail(act) && act !== "hang" && act !== "deaf"
      ? [`is done though it had to ${act}`]
      : []
  }
  if (!hasHandled(node, row))
    return [`${node.onError}: ${row.status} ${JSON.stringify(row.output)}`]
  // Its logs tell why a failure was handled, in every case.
  const text = `${row.error ?? ""} ${JSON.stringify(row.output)} ${JSON.stringify(row.logs)}`
  const why = { ...row, error: text }
  const isLimited = node.timeout !== undefined && isTimeout(why)
  if (node.type === "once" && isUnknown(why)) return []
  if (!canFail(act) && !isLimited) return [`failed though attempt ${row.attempt} was to succeed`]
  const mayGoOn = act !== "final" && row.attempt < node.attempts && !isHalted
  return mayGoOn ? [`ended with attempt ${row.attempt} of ${node.attempts}`] : []
}

/** True when the process of an attempt was killed before another one could follow by the rules. */
const isCutOff = (
  kills: ReadonlyMap<number, number>,
  entries: ReadonlyArray<Entry> | undefined,
  before: number,
): boolean => {
  // An attempt that was granted and never began was cut off, too.
  if (entries === undefined) return true
  return (kills.get(entries[0]!.pid) ?? Number.POSITIVE_INFINITY) <= before
}

/** True when the time of an attempt was over before its process was killed. */
const hasRunOut = (
  kills: ReadonlyMap<number, number>,
  { timeout = Number.POSITIVE_INFINITY }: TrialNode,
  entries: ReadonlyArray<Entry> | undefined,
  before: number,
): boolean => {
  const begin = entries?.[0]
  if (begin === undefined) return false
  return Math.min(kills.get(begin.pid) ?? before, before) >= begin.at + timeout
}

/** Why an attempt may not follow the one before it, that was not cut off. */
const problemsOfPause = (
  node: TrialNode,
  last: ReadonlyArray<Entry>,
  next: Entry,
): ReadonlyArray<string> => {
  const number = next.attempt - 1
  const act = actOf(node.acts, number)
  const end = last.find(({ what }) => what === "fail")
  if (number >= node.attempts) return [`attempt ${next.attempt} of ${node.attempts}`]
  if (act === "final") return [`attempt ${next.attempt} after it failed for good`]
  if (last.some(({ what }) => what === "ok") && node.timeout === undefined) {
    return [`attempt ${next.attempt} after it was done`]
  }
  if (end === undefined) return node.timeout === undefined ? ["is tried again without an end"] : []
  const backoff = Math.min(60_000, node.initial * 2 ** (number - 1)) * (1 - node.jitter)
  const least = act === "later" ? laterMillis : backoff
  const pause = next.at - end.at
  return pause < Math.floor(least) - estimateMillis ? [`waited ${pause} ms, not ${least}`] : []
}

/** What is wrong with how the attempts of a node followed each other. */
const problemsOfAttempts = (
  { kills }: Case,
  node: TrialNode,
  row: NodeRun,
  attempts: Attempts,
): ReadonlyArray<string> => {
  const problems: Array<string> = []
  for (const [attempt, entries] of attempts) {
    const [next, ...more] = entries.filter(({ what }) => what === "begin")
    if (more.length > 0) problems.push(`attempt ${attempt} began ${more.length + 1} times`)
    if (attempt > row.attempt)
      problems.push(`attempt ${attempt} follows the recorded ${row.attempt}`)
    if (attempt === 1 || next === undefined) continue
    const last = attempts.get(attempt - 1)
    const cutOff = isCutOff(kills, last, next.at)
    if (cutOff && last === undefined && kills.size === 0) problems.push("left an attempt out")
    if (!cutOff) problems.push(...problemsOfPause(node, last!, next))
    const isDone = last?.some(({ what }) => what === "fail") === true
    const hasEnded = isDone || hasRunOut(kills, node, last, next.at)
    if (node.type === "once" && !hasEnded) problems.push(`attempt ${attempt} of what may be once`)
  }
  return problems
}

/** A delay is over at its time at the earliest, and what follows begins after that. */
const problemsOfDelay = (each: Case, node: TrialNode, row: NodeRun): ReadonlyArray<string> => {
  const due = (row.startedAt ?? 0) + node.millis
  const after = each.drawing.edges.filter(({ source }) => source === node.id)
  const early = after.filter(({ target }) => {
    const first = each.attempts.get(target)?.get(1)?.[0]
    return first !== undefined && isOnly(each, target) && first.at < due - estimateMillis
  })
  return [
    ...(row.status === "COMPLETED" && (row.finishedAt ?? 0) < due - estimateMillis
      ? ["fired before its time"]
      : []),
    ...early.map(({ target }) => `was not over when ${target} began`),
  ]
}

const isOnly = ({ drawing }: Case, target: string): boolean =>
  drawing.edges.filter((edge) => edge.target === target).length === 1

/** A join waits for all that may still come, and runs if anything came. */
const problemsOfJoin = (each: Case, node: TrialNode, row: NodeRun): ReadonlyArray<string> => {
  const edges = each.drawing.edges.filter(({ target }) => target === node.id)
  const sources = edges.map(({ port, source }) => ({ port, row: each.rows.get(source)! }))
  const live = sources.filter(({ port, row: { output } }) => output?.[port] !== undefined)
  const began = each.attempts.get(node.id)?.get(1)?.[0]?.at
  const hasRun = row.attempt > 0
  const early = sources.filter(
    ({ row: source }) => began !== undefined && (source.finishedAt ?? Infinity) > began,
  )
  const isDead = edges.length > 0 && live.length === 0
  return [
    ...(hasRun && isDead ? ["ran though nothing came"] : []),
    ...(row.status === "SKIPPED" && !isDead ? ["was skipped though something came"] : []),
    ...(hasRun ? early.map(({ row: { nodeId } }) => `began before ${nodeId} had ended`) : []),
  ]
}

const problemsOfNodes = (each: Case): ReadonlyArray<string> => {
  const { drawing, rows } = each
  const isHalted = isCutShort(each)
  return drawing.nodes.flatMap((node) => {
    const row = rows.get(node.id)
    if (row === undefined) return [`${node.id} is not recorded`]
    const hasEnded = row.status === "COMPLETED" || row.status === "FAILED"
    const isDelay = node.type === "delay"
    const rules = [
      ...(isDelay ? problemsOfDelay(each, node, row) : []),
      ...(hasEnded && !isDelay ? problemsOfEnd(node, row, isHalted) : []),
      ...(isDelay && row.status === "FAILED" ? [`failed: ${row.error}`] : []),
      ...problemsOfAttempts(each, node, row, each.attempts.get(node.id) ?? new Map()),
      ...problemsOfJoin(each, node, row),
    ]
    return rules.map((problem) => `${node.id} ${problem}`)
  })
}

/** What is wrong with rows that are there more than once. */
const problemsOfRows = ({ story: { nodeRuns } }: Case): ReadonlyArray<string> => {
  const ids = nodeRuns.map(({ nodeId }) => nodeId)
  return ids.filter((id, index) => ids.indexOf(id) !== index).map((id) => `${id} is recorded twice`)
}

const problemsOfCancel = ({ story: { run } }: Case, answer: number | undefined) => {
  const isRight = answer === undefined || (answer === 200) === (run.status === "CANCELED")
  return isRight ? [] : [`is ${run.status} though its cancel was answered with ${answer}`]
}

const gather = (
  entries: ReadonlyArray<Entry>,
): Map<string, Map<string, Map<number, Array<Entry>>>> => {
  const all = new Map<string, Map<string, Map<number, Array<Entry>>>>()
  for (const entry of entries) {
    const nodes = all.get(entry.runId) ?? new Map<string, Map<number, Array<Entry>>>()
    const attempts = nodes.get(entry.nodeId) ?? new Map<number, Array<Entry>>()
    attempts.set(entry.attempt, [...(attempts.get(entry.attempt) ?? []), entry])
    all.set(entry.runId, nodes.set(entry.nodeId, attempts))
  }
  return all
}

/** Everything that is wrong, run by run, with the name of its workflow. */
export const problemsOfTrials = (
  stories: ReadonlyArray<Story>,
  { acknowledged, cancels, drawings, entries, kills }: Witness,
): ReadonlyArray<string> => {
  const attempts = gather(entries)
  const stored = new Set<string>(stories.map(({ run }) => run.id))
  const rules = [problemsOfRun, problemsOfRows, problemsOfEvents, problemsOfNodes]
  return [
    ...acknowledged
      .filter((id) => !stored.has(id))
      .map((id) => `${id} was answered for and is lost`),
    ...[...attempts.keys()].filter((id) => !stored.has(id)).map((id) => `${id} ran and is lost`),
    ...stories.flatMap((story) => {
      const { run } = story
      const drawing = drawings.get(run.workflowName)
      if (drawing === undefined) return [`${run.id} is a run of nothing`]
      const rows = new Map(nodeRunsOf(story).map((row) => [row.nodeId, row]))
      const each = { story, drawing, rows, attempts: attempts.get(run.id) ?? new Map(), kills }
      const problems = rules.flatMap((rule) => rule(each))
      return [...problems, ...problemsOfCancel(each, cancels.get(run.id))].map(
        (problem) => `${run.workflowName}, ${run.id}: ${problem}`,
      )
    }),
  ]
}
