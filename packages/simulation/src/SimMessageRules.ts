/**
 * What must hold of messages: one id makes one message, each is taken at most once and by a node
 * that waited for its name, none that was accepted is lost, and no wait goes on or ends by its time
 * while its message is there.
 *
 * Leaves out: when a message expires, because no simulation goes on for so long.
 */
import { messagesPerRun } from "@millrace/core/domain/Limits"
import type { Message, NewMessage } from "@millrace/core/domain/Message"
import type { ActiveNode, Run, WaitingNode } from "@millrace/core/domain/Run"
import { isTerminal } from "@millrace/core/domain/Run"
import type { Inbox, InboxRequest, SendResult } from "@millrace/core/ports/RunStore"
import { stageOf } from "./SimJournal.ts"
import type { Bench, Turned, Watched } from "./SimWatched.ts"
import { isSame, shown } from "./SimWatched.ts"

/** What a node waits for, as its wait is on record or as its handler asked for it. */
type Asked = Pick<WaitingNode, "due" | "for">

/** A node in progress or waiting. */
type Open = ActiveNode & Partial<WaitingNode>

const openOf = ({ active, waiting }: Run): ReadonlyArray<Open> => [...active, ...waiting]

/** What must become of a message, and takes note of it. */
export const answerOf = (
  watched: Watched | undefined,
  { id, name, payload }: NewMessage,
  now: number,
): SendResult => {
  if (watched === undefined) return { _tag: "NotFound" }
  const { inbox, record } = watched
  const known = inbox.find((each) => each.id === id)
  if (known !== undefined) {
    return { _tag: "Sent", number: known.message.number, isReplay: true }
  }
  if (isTerminal(record.run.status)) return { _tag: "Ended", status: record.run.status }
  const left = inbox.filter(({ takenBy }) => takenBy === undefined).length
  if (left >= messagesPerRun) return { _tag: "Full" }
  const number = inbox.length + 1
  inbox.push({ id, message: { number, name, payload, at: now }, takenBy: undefined })
  return { _tag: "Sent", number, isReplay: false }
}

/** True for a message that ends a wait like this one, unless somebody has taken it. */
const isEndedBy = ({ due, for: name }: Asked, { at, name: own }: Message): boolean =>
  own === name && at <= due

/** A message that nobody has taken and that a wait was for. */
const untakenFor = ({ inbox }: Watched, asked: Asked): Message | undefined =>
  inbox.find(({ message, takenBy }) => takenBy === undefined && isEndedBy(asked, message))?.message

const checkTake = (bench: Bench, { watched }: Turned, node: Open, asked: Asked): void => {
  const what = `${watched.keyOf(node)} takes ${node.message}, having waited for ${shown(asked)}`
  const entry = watched.inbox.find(({ message }) => message.number === node.message)
  if (entry === undefined) return bench.report("a node takes a message that came", what)
  if (entry.takenBy !== undefined) {
    return bench.report("a message is taken once", `${what}: ${entry.takenBy} has it`)
  }
  if (!isEndedBy(asked, entry.message)) {
    return bench.report("a message is taken by who waited for it", `${what}: ${shown(entry)}`)
  }
  const first = untakenFor(watched, asked)
  if (first !== entry.message) {
    bench.report("the first message is taken first", `${what}: ${first?.number}`)
  }
  entry.takenBy = watched.record.definition.nodes[node.ordinal]!.id
}

/** What the handler of an attempt asked for when it suspended itself. */
const askedBy = (
  { journal }: Bench,
  { computed, machine, watched }: Turned,
  active: Open,
): Asked => {
  const call = computed.get(active.ordinal) ?? journal.by(machine, watched.keyOf(active))
  return { due: call?.suspendedUntil ?? 0, for: call?.behavior.waitsFor ?? "" }
}

const isHalted = ({ definition, nodeRuns }: Turned["after"]): boolean =>
  (definition.settings.onFailure ?? "continue") !== "continue" &&
  nodeRuns.some(({ status }) => status === "FAILED")

/** Notes which messages were taken; gives the waits that have ended without one. */
const checkTakes = (bench: Bench, turned: Turned): ReadonlyArray<WaitingNode> => {
  const { after, before, watched } = turned
  const ended: Array<WaitingNode> = []
  const next = new Map(openOf(after.run).map((each) => [each.ordinal, each]))
  const taking: Array<{ readonly node: Open; readonly asked: Asked }> = []
  for (const earlier of openOf(before.run)) {
    const node = next.get(earlier.ordinal)
    next.delete(earlier.ordinal)
    if (node === undefined) continue
    const isSuspended = stageOf(node.state) > stageOf(earlier.state)
    if (!isSuspended && earlier.message !== undefined) {
      if (node.message !== earlier.message) {
        bench.report("a node keeps its message", `${watched.keyOf(node)}: ${shown(node)}`)
      }
    } else if (node.message !== undefined) {
      const isWaiting = earlier.due !== undefined && !turned.computed.has(earlier.ordinal)
      const asked = { due: earlier.due ?? 0, for: earlier.for ?? "" }
      taking.push({ node, asked: isWaiting ? asked : askedBy(bench, turned, earlier) })
    } else if (earlier.due !== undefined && earlier.for !== undefined && node.for === undefined) {
      ended.push({ ...earlier, due: earlier.due })
    }
  }
  for (const node of next.values()) {
    if (node.message !== undefined) taking.push({ node, asked: askedBy(bench, turned, node) })
  }
  if (taking.length > 0 && isHalted(after)) {
    bench.report("a run that starts nothing more takes no message", after.run.id)
  }
  // In the order in which they came, whichever node has taken which.
  for (const { asked, node } of taking.toSorted((a, b) => a.node.message! - b.node.message!)) {
    checkTake(bench, turned, node, asked)
  }
  return ended
}

/** After a commit: who took which message, and that no wait has missed one. */
export const checkMessages = (bench: Bench, turned: Turned): void => {
  const { after, watched } = turned
  if (isTerminal(after.run.status)) return
  const ended = checkTakes(bench, turned)
  // A run that starts nothing more gives nothing to anybody.
  if (isHalted(after)) return
  for (const wait of ended) {
    const missed = untakenFor(watched, wait)
    if (missed === undefined) continue
    const what = `${watched.keyOf(wait)}: ${shown(missed)}`
    bench.report("no wait ends by its time though its message is there", what)
  }
  for (const wait of after.run.waiting) {
    const missed = wait.for === undefined ? undefined : untakenFor(watched, wait)
    if (missed === undefined) continue
    const what = `${watched.keyOf(wait)}: ${shown(missed)}`
    bench.report("no wait goes on while its message is there", what)
  }
}

/** What an open run must find in its inbox: what nobody has taken, and what its nodes hold. */
export const checkInbox = (
  bench: Bench,
  { inbox, record: { run } }: Watched,
  read: (request: InboxRequest) => ReadonlyArray<Inbox>,
): void => {
  if (isTerminal(run.status) || (inbox.length === 0 && run.messages === 0)) return
  const held = openOf(run).flatMap(({ message }) => message ?? [])
  const found = read({ runId: run.id, after: 0, held })[0]?.messages ?? []
  const expected = inbox
    .filter(({ message, takenBy }) => takenBy === undefined || held.includes(message.number))
    .map(({ message }) => message)
  if (isSame(found, expected) && run.messages === inbox.length) return
  const what = `${run.id}, ${run.messages}: ${shown(found)}, not ${shown(expected)}`
  bench.report("no message that was accepted is lost, and none is invented", what)
}
