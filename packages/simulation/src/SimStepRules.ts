/**
 * What must hold after every commit of a run, whoever wrote it: nothing that was settled changes,
 * nothing starts too early or twice, nothing is forgotten, and all that is counted is counted
 * right.
 *
 * Leaves out: why a node came to its end (`SimNodeRules`) and the end of the run (`SimEndRules`).
 */
import { isCrowded } from "./SimScenario.ts"
import type { ActiveNode, RunRecord, WaitingNode } from "@millrace/core/domain/Run"
import { isTerminal } from "@millrace/core/domain/Run"
import { withInputs } from "@millrace/core/domain/ImpliedInput"
import { callKey, stageOf } from "./SimJournal.ts"
import { hasFlow } from "./SimFlow.ts"
import { isOver } from "./SimReference.ts"
import type { Bench, Turned } from "./SimWatched.ts"
import { isSame, rowsOf, shown } from "./SimWatched.ts"

const started = [
  "id",
  "accountId",
  "workflowId",
  "workflowName",
  "workflowRevision",
  "workflowVersion",
  "definitionId",
  "executionId",
  "mode",
  "source",
  "singleNodeId",
  "rerunOf",
  "parent",
  "after",
  "priority",
  "startAt",
  "concurrencyKey",
  "concurrency",
  "createdAt",
  "values",
  "inputOverrides",
  "viewport",
  "estimatedCredits",
  "fence",
] as const

/** What a run was started with stays; its revision moves by one, its status only forwards. */
export const checkIdentity = ({ report }: Bench, { after, before }: Turned): void => {
  const id = after.run.id
  for (const key of started) {
    if (isSame(before.run[key], after.run[key])) continue
    report("no commit changes what a run was started with", `${id}: ${key}`)
  }
  if (after.run.revision !== before.run.revision + 1) {
    report("each commit is one revision", `${id}: ${before.run.revision}, ${after.run.revision}`)
  }
  if (before.run.startedAt !== null && before.run.startedAt !== after.run.startedAt) {
    report("a run starts once", `${id} at ${shown([before.run.startedAt, after.run.startedAt])}`)
  }
  if (before.run.status === "RUNNING" && after.run.status === "QUEUED") {
    report("a run does not go back", id)
  }
}

/** A settled row stays as it is, and no row goes. */
export const checkRows = ({ report }: Bench, { after, before }: Turned): void => {
  const now = rowsOf(after)
  for (const row of before.nodeRuns) {
    const next = now.get(row.nodeId)
    if (next === undefined) report("no row is lost", `${after.run.id} ${row.nodeId}`)
    else if (isOver(row) && !isSame(row, next)) {
      report("a settled node never changes", `${after.run.id}: ${shown(row)} is ${shown(next)}`)
    }
  }
}

/** What a node was given can be restored from what is stored besides. */
export const checkInputs = (
  { report }: Bench,
  { after, before, implied, isCancel }: Turned,
): void => {
  const nodeRuns = after.nodeRuns.map((row) => ({ ...row, ports: implied?.get(row.nodeId) }))
  const known = rowsOf(before)
  for (const [place, row] of withInputs({ ...after, nodeRuns }).nodeRuns.entries()) {
    const given = after.nodeRuns[place]!
    const old = known.get(row.nodeId)
    if (isCancel || (old !== undefined && isSame(old, given))) continue
    if (!isSame(row, given)) {
      report("an implied input is what it was", `${shown(row)}, not ${shown(given)}`)
    }
    // Neither what an expression gave nor what stands beside the run follows from other rows.
    const isOwn = given.largeValues !== null || hasFlow(after.definition.nodes[given.ordinal]!)
    if (given.input !== null && nodeRuns[place]!.ports === undefined && !isOwn) {
      report("what a node was given is implied", `${after.run.id} ${shown(given)}`)
    }
  }
}

/** True for an attempt that its owner had computed, and that goes on. */
const isComputed = ({ computed, watched }: Turned, active: ActiveNode): boolean => {
  const call = computed.get(active.ordinal)
  if (call === undefined) return false
  return watched.keyOf(active) === callKey(call.runId, call.nodeId, call.attempt, call.stage)
}

const find = <A extends { readonly ordinal: number }>(
  items: ReadonlyArray<A>,
  ordinal: number,
): A | undefined => items.find((each) => each.ordinal === ordinal)

const isSameCall = (a: ActiveNode, b: ActiveNode): boolean =>
  a.attempt === b.attempt && stageOf(a.state) === stageOf(b.state)

/** True when an attempt is the one that follows another one whose process did not survive. */
const isRepeated = (lost: ActiveNode, next: ActiveNode): boolean =>
  next.attempt === lost.attempt + 1 && stageOf(next.state) === stageOf(lost.state)

/** True when a node has suspended itself and goes on at once, because its message was there. */
const isResumed = (suspended: ActiveNode, next: ActiveNode): boolean =>
  next.message !== undefined &&
  next.attempt === suspended.attempt &&
  stageOf(next.state) === stageOf(suspended.state) + 1

/** An attempt is new, of a node whose time has come, and its process is not about to stop. */
export const noteAttempt = (bench: Bench, turned: Turned, active: ActiveNode): void => {
  const { after, machine, watched } = turned
  const { ordinal } = active
  const key = watched.keyOf(active)
  if (watched.fences.has(key)) bench.report("no attempt starts twice", key)
  watched.fences.set(key, after.run.fence)
  watched.started.add(`${ordinal}/${active.attempt}`)
  watched.overdue.delete(ordinal)
  const fate = watched.reference.fateOf(ordinal, rowsOf(after))
  if (fate._tag !== "Run") bench.report("no node starts before its turn", `${key}: ${fate._tag}`)
  // A second, because its claims come to rest before it looks; longer where a store is slow.
  const stoppingAt = Math.max(
    machine.drainedAt ?? Infinity,
    bench.byStore(Math.max(machine.wokenAt, bench.time.leaptAt)),
  )
  if (turned.firstDecidedAt > stoppingAt + 1_000 + bench.slackMillis && !bench.isSkewed) {
    bench.report("a server that stops starts nothing", `${machine.name}: ${key}`)
  }
}

/** A start is new, of a node whose time has come, and of the attempt that comes next. */
const checkStart = (bench: Bench, turned: Turned, active: ActiveNode): void => {
  const { journal, report } = bench
  const { after, before, machine, watched } = turned
  const { ordinal } = active
  const key = watched.keyOf(active)
  noteAttempt(bench, turned, active)
  journal.permit(machine, key, watched.messageOf(active))
  if (isOver(rowsOf(after).get(after.definition.nodes[ordinal]!.id))) {
    report("no settled node starts", key)
  }
  const lost = find(before.run.active, ordinal)
  const waited = find(before.run.waiting, ordinal)
  if (lost === undefined && waited === undefined) {
    const isFirst = active.attempt === 1 && active.state === undefined
    const call = turned.computed.get(ordinal)
    const isNext =
      call === undefined
        ? isFirst && !watched.first.has(ordinal)
        : isResumed({ ...active, attempt: call.attempt, state: { stage: call.stage } }, active)
    if (!isNext) {
      report("attempts are counted on", `${key} is not what comes next`)
    }
  }
  noteBegin(bench, turned, active)
}

/** A node begins once, however many attempts it makes. */
export const noteBegin = ({ report }: Bench, { watched }: Turned, active: ActiveNode): void => {
  const { ordinal, startedAt } = active
  const key = watched.keyOf(active)
  const first = watched.first.get(ordinal)
  watched.first.set(ordinal, first ?? startedAt)
  if (first !== undefined && first !== startedAt) {
    report("a node started when its first attempt did", `${key}: ${first}, ${startedAt}`)
  }
}

/** What was in progress still is, or has come to something, or is begun anew by a new owner. */
const checkLost = ({ report }: Bench, { after, before, watched }: Turned): void => {
  const rows = rowsOf(after)
  for (const active of before.run.active) {
    const { ordinal } = active
    const { id } = after.definition.nodes[ordinal]!
    const key = watched.keyOf(active)
    const isTaken = watched.fences.get(key) !== after.run.fence
    const wait = find(after.run.waiting, ordinal)
    // What an attempt of this owner has come to is judged with its row.
    if (isOver(rows.get(id)) || (wait !== undefined && !isTaken)) continue
    if (isTaken && watched.reference.places[ordinal]!.type.delivery === "at-most-once") {
      report("what may be called only once is not called again", key)
    }
    const next = find(after.run.active, ordinal) ?? wait
    // Its message was there already: what it has taken and what it left behind is judged elsewhere.
    if (!isTaken && next !== undefined && isResumed(active, next)) continue
    const goesOn = next !== undefined && (isTaken ? isRepeated : isSameCall)(active, next)
    if (!goesOn) report("no attempt is forgotten", `${key} is followed by ${shown(next)}`)
  }
}

const boundOf = ({ setup }: Bench): number =>
  setup.leaseMillis + 2 * setup.pollMillis + 8 * setup.latencyMillis + 1_500

/** A wait is over at its time, or when its message comes: not before, and soon after. */
export const checkWake = (
  bench: Bench,
  { machine, watched }: Turned,
  wait: WaitingNode,
  active: ActiveNode,
): void => {
  const { byStore, isSkewed, report, setup, slackMillis, time } = bench
  if (isSkewed) return
  const key = watched.keyOf(wait)
  const now = machine.now
  const message = wait.for === undefined ? undefined : watched.messageOf(active)
  const due = Math.min(wait.due, message?.at ?? wait.due)
  if (now < due - slackMillis) report("no wait is over before its time", `${key}: ${due - now} ms`)
  const quiet = bench.quietSince()
  if (quiet === undefined || isCrowded(setup)) return
  const from = Math.max(due, byStore(Math.max(quiet, watched.crowdedAt)))
  if (byStore(time.now) > from + boundOf(bench)) {
    report("a wait is over within lease and poll of its time", `${key}: ${now - due} ms late`)
  }
  // Whoever goes on with a run asks for its messages whenever it looks for runs.
  const pause = setup.pollMillis + 8 * setup.latencyMillis + 500
  const asked = Math.max(from, byStore(watched.takenOverAt)) + pause
  if (message !== undefined && byStore(time.now) > asked) {
    report("an owner asks for messages", `${key}: ${now - due} ms late`)
  }
}

/** Whatever waits still does, or starts as it was announced. */
const checkWaits = (bench: Bench, turned: Turned): void => {
  const { after, before, watched } = turned
  const rows = rowsOf(after)
  for (const wait of before.run.waiting) {
    if (turned.computed.has(wait.ordinal)) continue
    if (isOver(rows.get(after.definition.nodes[wait.ordinal]!.id))) continue
    const still = find(after.run.waiting, wait.ordinal)
    const active = find(after.run.active, wait.ordinal)
    if (active !== undefined) checkWake(bench, turned, wait, active)
    const next = still ?? active
    if (next === undefined || !isSameCall(wait, next)) {
      const key = watched.keyOf(wait)
      bench.report("no wait is forgotten", `${key} is followed by ${shown(next)}`)
    }
  }
}

/**
 * True for a node that may still wait, as far as this commit could know. A turn that follows at
 * once does not know yet that a wait is over, the one after it does.
 */
const mayWait = (bench: Bench, turned: Turned, ordinal: number): boolean => {
  const { after, before, decidedAt, machine, watched } = turned
  const wait = find(after.run.waiting, ordinal)
  if (wait === undefined) return false
  const isNew = find(before.run.waiting, ordinal)?.attempt !== wait.attempt
  const isKnown = watched.overdue.has(ordinal)
  // The first step of an owner is decided by the time before its inbox was read.
  const isFirst = watched.tenures.get(machine) !== after.run.fence
  if (isNew || isFirst || wait.due >= decidedAt) watched.overdue.delete(ordinal)
  else watched.overdue.add(ordinal)
  if (isNew || !isKnown || after.run.dueAt !== null || bench.isSkewed) return true
  const quiet = bench.quietSince()
  return quiet === undefined || bench.byStore(quiet) > wait.due
}

/** Nothing is left lying that could be decided, skipped or started now. */
const checkIdle = (bench: Bench, turned: Turned): void => {
  const { report, setup } = bench
  const { after, machine, watched } = turned
  const rows = rowsOf(after)
  const { active } = after.run
  const { onFailure = "continue" } = after.definition.settings
  const isHalted =
    onFailure !== "continue" && after.nodeRuns.some(({ status }) => status === "FAILED")
  const hasSlot = active.length < setup.nodesAtOnce && !isHalted && !machine.isDraining
  for (const { node } of watched.reference.places) {
    if (isOver(rows.get(node.id))) continue
    const ordinal = watched.reference.ordinals.get(node.id)!
    const fate = watched.reference.fateOf(ordinal, rows)
    if (fate._tag === "Open") continue
    if (fate._tag !== "Run") report("whatever can be decided is", `${node.id}: ${fate._tag}`)
    else if (find(active, ordinal) === undefined && hasSlot && !mayWait(bench, turned, ordinal)) {
      report("no slot is free while a node is ready", node.id)
    }
  }
}

/** Attempts, waits and slots of a run that goes on. */
export const checkWork = (bench: Bench, turned: Turned): void => {
  const { report, setup, time } = bench
  const { after, before, watched } = turned
  const { active, waiting } = after.run
  const rows = rowsOf(after)
  for (const each of active) {
    const known = find(before.run.active, each.ordinal)
    const isNew = known === undefined || !isSameCall(known, each)
    if (isNew && !isComputed(turned, each)) checkStart(bench, turned, each)
  }
  if (active.length > setup.nodesAtOnce) report("no more nodes at once than allowed", shown(active))
  if (active.length >= setup.nodesAtOnce) watched.crowdedAt = time.now
  if (isTerminal(after.run.status) || after.run.status === "QUEUED") return
  checkLost(bench, turned)
  checkWaits(bench, turned)
  checkIdle(bench, turned)
  for (const { ordinal } of [...active, ...waiting]) {
    const row = rows.get(after.definition.nodes[ordinal]!.id)
    const isBoth = find(active, ordinal) !== undefined && find(waiting, ordinal) !== undefined
    if (isBoth || isOver(row)) report("a node is in one state", `${after.run.id}: ${ordinal}`)
  }
}

/** A parked run has nothing to do, an owner who goes on with it has. */
export const checkOwner = (bench: Bench, { after, before, machine }: Turned): void => {
  const { active, dueAt, owner, waiting } = after.run
  if (isTerminal(after.run.status) || after.run.status === "QUEUED") return
  if (dueAt === null) {
    if (owner !== before.run.owner) bench.report("a commit keeps the owner", after.run.id)
    if (active.length === 0 && waiting.length === 0 && !machine.isDraining) {
      bench.report("an open run has something to do", after.run.id)
    }
    return
  }
  const dues = waiting.map(({ due }) => due)
  const { timeoutMillis } = after.definition.settings
  if (timeoutMillis !== undefined) dues.push(after.run.startedAt! + timeoutMillis)
  if (active.length > 0 || owner !== null || dueAt !== Math.min(...dues)) {
    bench.report(
      "a parked run waits for its first due time",
      `${after.run.id}: ${shown(after.run)}`,
    )
  }
}

/** What the run says of itself follows from its rows. */
export const checkCounts = ({ report }: Bench, { after, before, watched }: Turned): void => {
  const { actualCredits, attempts, estimatedCredits, id, losses, nodeRunCount } = after.run
  const spent = after.nodeRuns.reduce((sum, { credits }) => sum + credits, 0)
  if (actualCredits !== spent) {
    report("a run costs what its nodes cost", `${id}: ${actualCredits}, not ${spent}`)
  }
  if (attempts !== watched.started.size) {
    report("attempts are counted", `${id}: ${attempts}, not ${watched.started.size}`)
  }
  if (nodeRunCount !== watched.first.size) {
    report("node runs are counted", `${id}: ${nodeRunCount}, not ${watched.first.size}`)
  }
  const ended = (rows: RunRecord["nodeRuns"]) => rows.filter(({ sequence }) => sequence !== null)
  const goesOn =
    after.run.dueAt !== null || ended(after.nodeRuns).length > ended(before.nodeRuns).length
  if (!isSame(losses, goesOn ? [] : before.run.losses)) {
    report("losses are forgotten with progress", `${id}: ${shown(before.run.losses)}`)
  }
  if (estimatedCredits !== watched.reference.estimate) {
    report("a run is estimated", `${id}: ${estimatedCredits}, not ${watched.reference.estimate}`)
  }
}
