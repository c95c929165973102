/**
 * What a node's row must say, given what its handler really did: the other half of the reference.
 *
 * An attempt ends as its handler ended, by its time limit, or, where its process is gone, unknown.
 * From there the node's policy says whether it waits, is done in spite of it, or has failed.
 */
import { toNumber } from "@millrace/core/domain/Credits"
import type { JsonObject } from "@millrace/core/domain/Json"
import type { ActiveNode, NodeRun } from "@millrace/core/domain/Run"
import { isTerminal } from "@millrace/core/domain/Run"
import { largeBytes, mapTexts, recorded, withoutToken } from "./SimFlow.ts"
import type { Call } from "./SimJournal.ts"
import { lineOf, messageOf, stageOf } from "./SimJournal.ts"
import { isOver, type Place } from "./SimReference.ts"
import type { Bench, Turned } from "./SimWatched.ts"
import { isSaid, isSame, rowsOf, shown } from "./SimWatched.ts"

/** How an attempt may have ended. */
type Ending =
  | { readonly _tag: "Returned"; readonly call: Call }
  | { readonly _tag: "Suspended"; readonly call: Call }
  | {
      readonly _tag: "Failed"
      readonly call: Call | undefined
      readonly message: string
      /** True where the message only begins like this. */
      readonly isBeginning: boolean
      readonly retryable: boolean
      readonly retryAfterMillis: number | undefined
      /** When, by the wall clock; not before, if it says `isAfter`. */
      readonly at: number
      readonly isAfter: boolean
      /** True where its machine may have been asleep before its handler had said anything. */
      readonly isCutShort: boolean
    }

const failed = (
  call: Call | undefined,
  message: string,
  at: number,
  more: Partial<Extract<Ending, { _tag: "Failed" }>>,
): Ending => ({
  _tag: "Failed",
  call,
  message,
  isBeginning: false,
  retryable: true,
  retryAfterMillis: undefined,
  at,
  isAfter: false,
  isCutShort: false,
  ...more,
})

const ownEnding = (call: Call): Ending => {
  const { behavior, endedLocally } = call
  switch (behavior.end) {
    case "suspend":
      return { _tag: "Suspended", call }
    case "fail": {
      const { retryAfterMillis, retryable } = behavior
      const message = recorded(messageOf(call), call.inputs)
      return failed(call, message, endedLocally, { retryAfterMillis, retryable })
    }
    case "die":
      return failed(call, recorded(messageOf(call), call.inputs), endedLocally, {})
    case "garbage": {
      const message = 'the handler returned output "nowhere"'
      return failed(call, message, endedLocally, { isBeginning: true, retryable: false })
    }
    default:
      return { _tag: "Returned", call }
  }
}

/** The attempt that a row is about: one that was in progress, or one that was computed. */
const attemptIn = (
  { before, computed, watched }: Turned,
  nodeId: string,
): ActiveNode | undefined => {
  const ordinal = watched.reference.ordinals.get(nodeId)!
  const call = computed.get(ordinal)
  return call === undefined
    ? before.run.active.find((each) => each.ordinal === ordinal)
    : { ordinal, attempt: call.attempt, startedAt: watched.first.get(ordinal)! }
}

const putsOutLarge = ({ behavior: { end, output } }: Call): boolean =>
  end === "return" && Object.values(output).some((json) => JSON.stringify(json).length > largeBytes)

/** Every way in which the attempt may have ended, as far as anybody knows. */
const endingsOf = (
  { byStore, journal, quietSince, time }: Bench,
  turned: Turned,
  place: Place,
): ReadonlyArray<Ending> => {
  const { before, machine, watched } = turned
  const active = attemptIn(turned, place.node.id)
  if (active === undefined) return []
  const key = watched.keyOf(active)
  if (watched.fences.get(key) !== before.run.fence) {
    if (place.type.delivery === "at-least-once") return []
    const message = `the outcome of attempt ${active.attempt} is unknown: its process stopped`
    return [failed(undefined, message, 0, { retryable: false, isAfter: true })]
  }
  const endings: Array<Ending> = []
  const limit = place.policy.timeoutMillis
  const call = journal.by(machine, key)
  // The time of an attempt runs from before its handler is there.
  const limited = journal.permittedAt(key) + (limit ?? Infinity)
  // So does the time in which what it puts out is stored.
  const isOpen = call?.endedAt === undefined || call.endedAt >= limited || putsOutLarge(call)
  if (time.now >= limited && isOpen) {
    const isCutShort = Math.max(machine.wokenAt, time.leaptAt) >= journal.permittedAt(key)
    const more = { isBeginning: true, isAfter: true, isCutShort }
    endings.push(failed(call, "timed out after ", byStore(limited), more))
  }
  if (call === undefined) return endings
  const { endedAt, startedAt } = call
  const since = quietSince()
  const isTooLate =
    limit !== undefined && since !== undefined && since <= startedAt && endedAt! > startedAt + limit
  const hasEnded = endedAt !== undefined && !call.wasInterrupted
  if (hasEnded && !isTooLate) endings.push(ownEnding(call))
  return endings
}

type Clause = string | undefined

const all = (...clauses: ReadonlyArray<Clause>): Clause =>
  clauses.find((clause) => clause !== undefined)

const expect = (what: string, actual: unknown, expected: unknown): Clause =>
  isSame(actual, expected) ? undefined : `${what} is ${shown(actual)}, not ${shown(expected)}`

const oneOf = (what: string, actual: number, expected: ReadonlyArray<number>): Clause =>
  expected.includes(actual) ? undefined : `${what} is ${actual}, not ${expected.join(" or ")}`

/** What the attempt adds to what its node has cost; a handler may have charged on meanwhile. */
const checkCredits = (ending: Ending, row: NodeRun, earlier: NodeRun | undefined, place: Place) => {
  const before = earlier?.credits ?? 0
  const { call } = ending
  const first = (call?.behavior.chargedBefore ?? 0) * 1_000_000
  const charges = [call?.charged ?? null]
  if (ending._tag === "Failed" && ending.isAfter) charges.push(first === 0 ? null : first)
  if (ending._tag === "Failed" && ending.isCutShort) charges.push(null)
  // Work that failed is not paid for unless it was charged, whatever its node made of that.
  const isDone = row.status === "COMPLETED" && ending._tag !== "Failed"
  const free = isDone && before === 0 ? place.estimate : 0
  return oneOf(
    "its price",
    toNumber(row.credits),
    charges.map((charged) => toNumber(before + (charged ?? free))),
  )
}

const checkLogs = (ending: Ending, row: NodeRun, earlier: NodeRun | undefined): Clause => {
  const { call } = ending
  const own = Array.from({ length: call?.behavior.lines ?? 0 }, (_, at) =>
    recorded(lineOf(call!, at + 1), call!.inputs),
  )
  const logs = row.logs ?? []
  const before = earlier?.logs ?? []
  const lines = logs.slice(before.length).map(({ message }) => message)
  const isHandled = ending._tag === "Failed" && row.status === "COMPLETED"
  const said = isHandled ? lines.slice(0, -1) : lines
  const isCutShort = ending._tag === "Failed" && ending.isCutShort
  return all(
    expect("the earlier log", logs.slice(0, before.length), before),
    expect("its log", said, isCutShort ? own.slice(0, said.length) : own),
    isHandled && ending._tag === "Failed" ? checkMessage(ending, lines.at(-1) ?? "") : undefined,
    (row.logs?.length ?? 1) === 0 ? "its log is empty, not null" : undefined,
  )
}

const checkMessage = (ending: Extract<Ending, { _tag: "Failed" }>, message: string): Clause => {
  const cut = message.replace(/ \(not tried again: the run has made \d+ .*\)$/, "")
  const isRight = ending.isBeginning ? cut.startsWith(ending.message) : cut === ending.message
  return isRight ? undefined : `it says ${shown(message)}, not ${shown(ending.message)}`
}

const waitOf = ({ after, watched }: Turned, place: Place) => {
  const ordinal = watched.reference.ordinals.get(place.node.id)!
  return after.run.waiting.find((each) => each.ordinal === ordinal)
}

/** A suspended node waits for what it asked for, or goes on with a message that was there. */
const checkSuspended = (
  turned: Turned,
  place: Place,
  { behavior, stage, suspendedUntil }: Call,
  row: NodeRun,
): Clause => {
  const { active } = turned.after.run
  const ordinal = turned.watched.reference.ordinals.get(place.node.id)!
  const wait = waitOf(turned, place)
  const next = wait ?? active.find((each) => each.ordinal === ordinal)
  const isWaiting = next?.message === undefined || behavior.waitsFor === undefined
  return all(
    expect("it", row.status, "WAITING"),
    expect("its attempt", next?.attempt, row.attempt),
    expect("what it left behind", next?.state, { stage: stage + 1 }),
    isWaiting ? expect("its time", wait?.due, suspendedUntil) : undefined,
    isWaiting ? expect("what it waits for", wait?.for, behavior.waitsFor) : undefined,
  )
}

const checkRetry = (
  { byStore, isSkewed, slackMillis, time }: Bench,
  turned: Turned,
  place: Place,
  ending: Extract<Ending, { _tag: "Failed" }>,
  row: NodeRun,
): Clause => {
  const wait = waitOf(turned, place)
  if (wait === undefined) return "it waits for nothing"
  const { factor, initialMillis, jitter, maxMillis } = place.policy
  const backoff = Math.min(initialMillis * factor ** (row.attempt - 1), maxMillis)
  const asked = ending.retryAfterMillis
  const least = asked === undefined ? Math.round(backoff * (1 - jitter)) : Math.ceil(asked)
  const most = asked === undefined ? Math.round(Math.min(backoff * (1 + jitter), maxMillis)) : least
  const latest = ending.isAfter ? byStore(time.now) : Math.max(ending.at, turned.decidedAt)
  const slack = ending.isAfter ? slackMillis : 0
  const isTimely = wait.due >= ending.at + least - slack && wait.due <= latest + most + slack
  // Who has taken a message keeps it, and goes on from there.
  const active = attemptIn(turned, place.node.id)
  const stage = active?.message === undefined ? 0 : stageOf(active.state)
  return all(
    expect("the next attempt", wait.attempt, row.attempt + 1),
    expect("what it goes on with", stageOf(wait.state), stage),
    expect("its message", wait.message, active?.message),
    expect("what it waits for", wait.for, undefined),
    isTimely || (isSkewed && ending.isAfter)
      ? undefined
      : `it waits ${wait.due - ending.at} ms, not ${least} to ${most}`,
    checkMessage(ending, row.error ?? ""),
  )
}

const checkEnd = (
  place: Place,
  ending: Extract<Ending, { _tag: "Failed" }>,
  row: NodeRun,
): Clause => {
  const { fallback, onError } = place.policy
  if (onError === "fail") {
    return all(
      expect("it", row.status, "FAILED"),
      expect("its output", row.output, null),
      checkMessage(ending, row.error ?? ""),
    )
  }
  const clause = all(expect("it", row.status, "COMPLETED"), expect("its error", row.error, null))
  if (clause !== undefined) return clause
  if (onError === "default") return expect("its output", row.output, fallback)
  const error = row.output?.["error"] as { readonly message: string } | undefined
  const { attempt, nodeId } = row
  return all(
    expect("its output", row.output, { error: { message: error?.message, nodeId, attempt } }),
    checkMessage(ending, error?.message ?? ""),
  )
}

/** Whether a failure may, or must, be followed by another attempt. */
const retriesOf = (
  { setup }: Bench,
  { after, before }: Turned,
  place: Place,
  ending: Extract<Ending, { _tag: "Failed" }>,
  { attempt, nodeId }: NodeRun,
): ReadonlyArray<boolean> => {
  const isSpent = before.run.attempts >= setup.attemptsPerRun
  if (!ending.retryable || attempt >= place.policy.attempts || isSpent) return [false]
  if ((after.definition.settings.onFailure ?? "continue") === "continue") return [true]
  if (before.nodeRuns.some(({ status }) => status === "FAILED")) return [false]
  const others = after.nodeRuns.some((row) => row.status === "FAILED" && row.nodeId !== nodeId)
  return others ? [true, false] : [true]
}

/** Its end is when its handler ended, or as soon as its machine came to notice. */
const checkTime = ({ isSkewed }: Bench, { decidedAt }: Turned, ending: Ending, row: NodeRun) => {
  if (!isOver(row) || isSkewed || ending._tag === "Failed") return undefined
  const { endedLocally } = ending.call
  const isRight = row.finishedAt! >= endedLocally && row.finishedAt! <= decidedAt
  return isRight ? undefined : `its end is ${row.finishedAt}, not ${endedLocally}`
}

const checkEnding = (
  bench: Bench,
  turned: Turned,
  place: Place,
  ending: Ending,
  row: NodeRun,
): Clause => {
  const earlier = rowsOf(turned.before).get(row.nodeId)
  const common = all(checkCredits(ending, row, earlier, place), checkLogs(ending, row, earlier))
  const time = checkTime(bench, turned, ending, row)
  switch (ending._tag) {
    case "Returned": {
      const { behavior, inputs } = ending.call
      const output = mapTexts(behavior.output, (text) => recorded(text, inputs))
      const [got, had] = [inputs, row.input ?? {}].map(withoutToken)
      return all(
        expect("it", row.status, "COMPLETED"),
        expect("its output", row.output, output),
        expect("its error", row.error, null),
        isSaid(got, had) ? undefined : `its handler got ${shown(got)}`,
        time,
        common,
      )
    }
    case "Suspended":
      return all(checkSuspended(turned, place, ending.call, row), common)
    case "Failed": {
      const isWaiting = row.status === "WAITING"
      if (!retriesOf(bench, turned, place, ending, row).includes(isWaiting)) {
        return `it ${isWaiting ? "is" : "is not"} tried again`
      }
      const rest = isWaiting
        ? checkRetry(bench, turned, place, ending, row)
        : checkEnd(place, ending, row)
      return all(rest, common)
    }
  }
}

/** A row of a node whose output the start gave. */
const checkPinned = (row: NodeRun, output: JsonObject): Clause =>
  all(
    expect("it", row.status, "COMPLETED"),
    expect("its attempts", row.attempt, 0),
    expect("its output", row.output, output),
    expect("its price", row.credits, 0),
    expect("its event", row.sequence, null),
  )

/** A row that came to be without an attempt: skipped, passed on, or two values for one input. */
const checkUnattempted = (row: NodeRun, turned: Turned, place: Place): Clause => {
  const { reference } = turned.watched
  const fate = reference.fateOf(reference.ordinals.get(place.node.id)!, rowsOf(turned.after))
  switch (fate._tag) {
    case "Skip":
      return all(expect("it", row.status, "SKIPPED"), expect("its output", row.output, null))
    case "Pass":
      return all(expect("it", row.status, "SKIPPED"), expect("its output", row.output, fate.output))
    case "Conflict":
      return all(expect("it", row.status, "FAILED"), expect("its output", row.output, null))
    default:
      return `nobody has decided it yet (${fate._tag})`
  }
}

/** A row of an attempt that the end of its run breaks off: it pays for what was charged so far. */
const checkBroken = ({ journal }: Bench, turned: Turned, row: NodeRun): Clause => {
  const { after, before, machine, watched } = turned
  const active = attemptIn(turned, row.nodeId)
  const call = active === undefined ? undefined : journal.by(machine, watched.keyOf(active))
  if (call === undefined) return "nothing of it was in progress"
  const earlier = rowsOf(before).get(row.nodeId)?.credits ?? 0
  const charges = [call.behavior.chargedBefore * 1_000_000, call.charged ?? 0]
  const paid = charges.filter((charged) => charged > 0)
  return all(
    isTerminal(after.run.status) ? undefined : "its run goes on",
    expect("its attempt", row.attempt, active?.attempt),
    expect("its output", row.output, null),
    expect("its error", row.error, null),
    oneOf(
      "its price",
      toNumber(row.credits),
      paid.map((charged) => toNumber(earlier + charged)),
    ),
  )
}

const checkRow = (bench: Bench, turned: Turned, place: Place, row: NodeRun): Clause => {
  const pinned = turned.watched.reference.pinned[row.nodeId]
  if (pinned !== undefined) return checkPinned(row, pinned)
  if (row.status === "CANCELED") return checkBroken(bench, turned, row)
  if (row.attempt === 0) return checkUnattempted(row, turned, place)
  const { after, watched } = turned
  const ordinal = watched.reference.ordinals.get(row.nodeId)!
  const active = attemptIn(turned, row.nodeId)
  const fate = watched.reference.fateOf(ordinal, rowsOf(after))
  const endings = endingsOf(bench, turned, place)
  if (endings.length === 0) return "nothing that happened explains it"
  const clauses = endings.map((ending) => checkEnding(bench, turned, place, ending, row))
  return all(
    clauses.includes(undefined) ? undefined : clauses.join("; or "),
    expect("its attempt", row.attempt, active?.attempt),
    expect("its ordinal", row.ordinal, ordinal),
    expect("its input", row.input, fate._tag === "Run" ? fate.inputs : fate._tag),
    expect("its start", row.startedAt, watched.first.get(ordinal)),
    row.status === "WAITING" ? expect("its event", row.sequence, null) : undefined,
  )
}

/** Ordinals of nodes whose attempt in progress has come to a wait, which may be over already. */
const newlyWaiting = ({ after, before, watched }: Turned): ReadonlySet<number> => {
  const began = before.run.active.filter(
    (active) => watched.fences.get(watched.keyOf(active)) === after.run.fence,
  )
  const resumed = after.run.active.filter((next) =>
    began.some(({ ordinal, state }) => {
      return ordinal === next.ordinal && stageOf(next.state) > stageOf(state)
    }),
  )
  const waiting = new Set([...after.run.waiting, ...resumed].map(({ ordinal }) => ordinal))
  return new Set(began.map(({ ordinal }) => ordinal).filter((ordinal) => waiting.has(ordinal)))
}

/** Every row that this commit wrote says what happened. */
export const checkNodes = (bench: Bench, turned: Turned): void => {
  const known = rowsOf(turned.before)
  const waiting = newlyWaiting(turned)
  for (const row of turned.after.nodeRuns) {
    if (isSame(row, known.get(row.nodeId)) && !waiting.has(row.ordinal)) continue
    const place = turned.watched.reference.places.find(({ node }) => node.id === row.nodeId)
    if (place === undefined) {
      bench.report("every row is of a node", row.nodeId)
      continue
    }
    const clause = checkRow(bench, turned, place, row)
    if (clause === undefined) continue
    const title = `${turned.after.run.id} ${row.nodeId} #${row.attempt}`
    bench.report("a row says what happened", `${title}: ${clause}; ${shown(row)}`)
  }
}
