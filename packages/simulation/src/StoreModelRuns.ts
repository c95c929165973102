/**
 * What a run store means, in the plainest way that is right: part of the model of the stores.
 *
 * Leaves out: speed. Runs, rows and events are flat lists that every method reads from the
 * beginning.
 */
import type { AccountId, RunId, RunnerId } from "@millrace/core/domain/Id"
import type { KnownStart } from "@millrace/core/domain/Idempotency"
import { idempotencyKeyMillis } from "@millrace/core/domain/Idempotency"
import { lossesPerRun } from "@millrace/core/domain/Limits"
import type { Blocked, Loss } from "@millrace/core/domain/Loss"
import type { Definition, NodeRun, Run, RunRecord } from "@millrace/core/domain/Run"
import { needsKey } from "@millrace/core/domain/Run"
import { withinBytes } from "@millrace/core/domain/RunPayload"
import type { RunEvent } from "@millrace/core/domain/RunEvent"
import type { NewMessage } from "@millrace/core/domain/Message"
import type { Timestamp } from "@millrace/core/domain/Timestamp"
import type { ClaimRequest, RunCommit, SendResult } from "@millrace/core/ports/RunStore"
import { RunStore, StaleRun } from "@millrace/core/ports/RunStore"
import type { SignalWait } from "@millrace/core/domain/WorkflowSignal"
import { messageOf } from "@millrace/core/domain/WorkflowSignal"
import { Clock, Effect, Option } from "effect"
import type { KeyModel } from "./StoreModelKeys.ts"
import type { LedgerModel } from "./StoreModelLedger.ts"
import type { WorkflowModel } from "./StoreModelWorkflows.ts"
import { Inboxes } from "./StoreModelInboxes.ts"
import { keptOf } from "./StoreModelKept.ts"
import { Signals } from "./StoreModelSignals.ts"
import { pageOf } from "./StoreModelPage.ts"
import { activityOf, childrenOf, isFound, latestOutputs, loadOf } from "./StoreModelReads.ts"
import { claimed, givenKeys } from "./StoreModelRounds.ts"
import { typesInUse } from "./StoreModelTypes.ts"

/** A run store, and what it holds. */
export interface RunModel {
  readonly store: RunStore["Service"]
  readonly runs: () => ReadonlyArray<Run>
  readonly nodeRuns: (id: RunId) => ReadonlyArray<NodeRun>
  /** The numbers of the messages that no node of a run has taken, kept or not. */
  readonly untaken: (id: RunId) => ReadonlyArray<number>
  /** What a run has last said that it waits for. */
  readonly waitsOf: (id: RunId) => ReadonlyArray<SignalWait>
  /**
   * Which runs a claim takes first of those that were created, or are due, at the same time: that
   * is a store's own choice.
   */
  readonly favor: (ids: ReadonlyArray<RunId>) => void
}

interface Start extends KnownStart {
  readonly account: AccountId
  readonly key: string
  readonly at: Timestamp
}

interface Row {
  readonly runId: RunId
  readonly nodeRun: NodeRun
}

/** True for a run that can still change. */
export const isOpen = ({ status }: Run): boolean => status === "QUEUED" || status === "RUNNING"

/** The event that the row of a node tells of, if it tells of one. */
const eventOf = ({ id, workflowId }: Run, row: NodeRun): ReadonlyArray<RunEvent> => {
  const { attempt, error, finishedAt, nodeId, nodeType, sequence, status } = row
  if (sequence === null || finishedAt === null) return []
  const type = status === "COMPLETED" ? "node.completed" : "node.failed"
  const data = { status, nodeId, nodeType, attempt, sequence }
  return [{ runId: id, workflowId, sequence, type, at: finishedAt, error, data }]
}

/** True for a suspect that somebody gave back, and that does not wait for a later time. */
const isLeft = ({ dueAt, losses, owner }: Run, now: Timestamp): boolean =>
  owner === null && (dueAt ?? 0) <= now && losses.length > 0

/** All lists of the model, and the questions and changes that its methods are made of. */
class Lists {
  runs: ReadonlyArray<Run> = []
  definitions: ReadonlyArray<Definition> = []
  rows: ReadonlyArray<Row> = []
  events: ReadonlyArray<RunEvent> = []
  favorites: ReadonlyArray<RunId> = []
  starts: ReadonlyArray<Start> = []
  readonly inboxes = new Inboxes()
  readonly signals: Signals
  /** Runs that have been given the key that they had to wait for. */
  readonly given = new Set<RunId>()
  /** Since when runs that were woken may be taken. */
  readonly readyAt = new Map<RunId, Timestamp>()
  readonly leases = new Map<RunnerId, Timestamp>()
  readonly current: WorkflowModel["current"]
  readonly keys: KeyModel

  constructor({ current, onRemove, workflows }: WorkflowModel, keys: KeyModel) {
    this.current = current
    this.keys = keys
    this.signals = new Signals({
      hasWorkflow: (account, id) =>
        workflows().some((each) => each.accountId === account && each.id === id),
      giveOf: (account, now) => (run, signal) =>
        this.send(account, run, messageOf(signal), false, now)._tag === "Sent",
      takeOut: (run) => this.inboxes.takeOut(run),
    })
    onRemove((id) => this.signals.forget(id))
  }

  /** The events of a run after one of them, in order. */
  eventsOf(account: AccountId, id: RunId, after: number): ReadonlyArray<RunEvent> {
    const run = this.find(account, id)
    if (run === undefined) return []
    const own = this.events.filter(({ runId }) => runId === id)
    const ofNodes = this.nodeRuns(id).flatMap((row) => eventOf(run, row))
    return [...own, ...ofNodes]
      .filter(({ sequence }) => sequence > after)
      .toSorted((a, b) => a.sequence - b.sequence)
  }

  find(account: AccountId, id: RunId): Run | undefined {
    return this.runs.find((run) => run.accountId === account && run.id === id)
  }

  nodeRuns(id: RunId): ReadonlyArray<NodeRun> {
    const own = this.rows.filter(({ runId }) => runId === id).map(({ nodeRun }) => nodeRun)
    return own.toSorted((a, b) => a.ordinal - b.ordinal)
  }

  record(run: Run): RunRecord {
    const definition = this.definitions.find(({ id }) => id === run.definitionId)!
    return { run, definition, nodeRuns: this.nodeRuns(run.id) }
  }

  /** Gives a run its next row, and returns that. */
  set(next: Run): Run {
    this.runs = [...this.runs.filter(({ id }) => id !== next.id), next]
    return next
  }

  start(account: AccountId, key: string, now: Timestamp): KnownStart | undefined {
    const found = this.starts.findLast((each) => each.account === account && each.key === key)
    if (found === undefined || found.at + idempotencyKeyMillis <= now) return undefined
    return { runId: found.runId, bodyHash: found.bodyHash }
  }

  /** True when a start would take what a run was started from. */
  hasWorkflowOf({ accountId, workflowId, workflowRevision, workflowVersion }: Run): boolean {
    const current = this.current(accountId, workflowId)
    return current?.version === undefined
      ? workflowVersion === null && current?.revision === workflowRevision
      : workflowVersion === current.version
  }

  fits({ expected, run, seen }: RunCommit, now: Timestamp): boolean {
    if (expected._tag === "New") {
      const { isCurrent, idempotencyKey } = expected
      const isTaken =
        idempotencyKey !== undefined &&
        this.start(run.accountId, idempotencyKey.key, now) !== undefined
      const isOutdated = isCurrent === true && !this.hasWorkflowOf(run)
      return !isTaken && !isOutdated && this.runs.every(({ id }) => id !== run.id)
    }
    const present = this.find(run.accountId, run.id)
    return (
      present !== undefined &&
      isOpen(present) &&
      present.fence === expected.fence &&
      present.revision === expected.revision &&
      (seen === undefined || present.messages <= seen)
    )
  }

  /** Appends a message to a run's inbox, and wakes the run. */
  send(
    account: AccountId,
    runId: RunId,
    message: NewMessage,
    isOutside: boolean,
    now: Timestamp,
  ): SendResult {
    const run = this.find(account, runId)
    if (run === undefined) return { _tag: "NotFound" }
    const known = this.inboxes.numberOf(runId, message.id)
    if (known !== undefined) return { _tag: "Sent", number: known, isReplay: true }
    if (!isOpen(run)) return { _tag: "Ended", status: run.status }
    if (isOutside && this.inboxes.isFull(runId, now)) return { _tag: "Full" }
    const number = this.inboxes.append(runId, message, isOutside, now)
    const isParked = run.status === "RUNNING" && run.owner === null
    const wakes = isParked && run.dueAt !== null && run.dueAt > now
    this.set({ ...run, messages: number, dueAt: wakes ? null : run.dueAt })
    if (wakes) this.readyAt.set(runId, now)
    return { _tag: "Sent", number, isReplay: false }
  }

  /** What a commit takes, starts and sends beside its run. */
  carry(commit: RunCommit, now: Timestamp): void {
    const { messages = [], run, signals, starts = [], taken = [] } = commit
    this.inboxes.take(run.id, taken)
    for (const start of starts) {
      this.set(start.run)
      if (!needsKey(start.run)) this.given.add(start.run.id)
      this.definitions = [...this.definitions, start.definition]
      const given = start.nodeRuns ?? []
      this.rows = [...this.rows, ...given.map((nodeRun) => ({ runId: start.run.id, nodeRun }))]
      this.events = [...this.events, ...(start.events ?? [])]
    }
    for (const { message, runId } of messages) this.send(run.accountId, runId, message, false, now)
    if (signals !== undefined) {
      this.signals.say(this.find(run.accountId, run.id)!, signals.waits, now)
    }
  }

  apply(commit: RunCommit, now: Timestamp): void {
    const { clearsLosses, events, expected, nodeRuns, rewritten, run } = commit
    if (expected._tag === "New" && expected.idempotencyKey !== undefined) {
      const account = run.accountId
      this.starts = [
        ...this.starts,
        { account, ...expected.idempotencyKey, runId: run.id, at: now },
      ]
    }
    const present = this.find(run.accountId, run.id)
    const owner = run.dueAt === null ? (present?.owner ?? null) : null
    this.readyAt.delete(run.id)
    if (present === undefined && !needsKey(run)) this.given.add(run.id)
    const losses = clearsLosses === true ? [] : (present?.losses ?? run.losses)
    this.set(present === undefined ? run : { ...run, ...keptOf(present), owner, losses })
    if (expected._tag === "New") this.definitions = [...this.definitions, expected.definition]
    const replaced = new Set(rewritten.map(({ nodeId }) => nodeId))
    this.rows = [
      ...this.rows.filter(
        ({ nodeRun, runId }) => runId !== run.id || !replaced.has(nodeRun.nodeId),
      ),
      ...[...nodeRuns, ...rewritten].map((nodeRun) => ({ runId: run.id, nodeRun })),
    ]
    this.events = [...this.events, ...events]
  }

  hasRunOut(owner: RunnerId, now: Timestamp): boolean {
    const until = this.leases.get(owner)
    return until === undefined || until <= now
  }

  /** Open runs by a time of theirs. */
  openBy(timeOf: (run: Run) => Timestamp): ReadonlyArray<Run> {
    const places = [...this.favorites, ...this.runs.map(({ id }) => id)]
    return this.runs
      .filter(isOpen)
      .toSorted((a, b) => timeOf(a) - timeOf(b) || places.indexOf(a.id) - places.indexOf(b.id))
  }

  /** The losses of a run once this runner has claimed it. */
  lossesOf(run: Run, claimer: RunnerId): ReadonlyArray<Loss> {
    const { active, losses, owner } = run
    const lostAt = owner === null ? undefined : this.leases.get(owner)
    if (owner === null || owner === claimer || lostAt === undefined) return losses
    if (active.length === 0 || losses.length >= lossesPerRun) return losses
    const nodes = active.map(({ ordinal }) => ordinal)
    return [...losses, { runner: owner, lostAt, nodes, cause: "died" }]
  }

  /** True for a run that still waits for its key. */
  readonly waitsForKey = (run: Run) => run.concurrencyKey !== null && !this.given.has(run.id)

  /** What a claim does first: keys are given in the order of the queue. */
  giveKeys(now: Timestamp): void {
    for (const run of this.runs.filter((each) => isOpen(each) && this.waitsForKey(each))) {
      const isLeftBehind = run.owner !== null && this.hasRunOut(run.owner, now)
      if (isLeftBehind) this.set({ ...run, fence: run.fence + 1, owner: null })
    }
    const waiting = this.queuedBy(now).filter((run) => this.waitsForKey(run))
    const holders = this.runs.filter((run) => isOpen(run) && this.given.has(run.id))
    for (const run of givenKeys(waiting, holders)) this.given.add(run.id)
  }

  /** The queue, and the parked runs that are due, by the time since which they may be claimed. */
  queuedBy(now: Timestamp): ReadonlyArray<Run> {
    const readyAt = (run: Run) => this.readyAt.get(run.id) ?? run.dueAt ?? run.createdAt
    return this.openBy((run) => readyAt(run) - run.priority * 60_000).filter(
      ({ dueAt, losses, owner }) => owner === null && (dueAt ?? 0) <= now && losses.length === 0,
    )
  }

  /** The runs that a claim takes, in its order. */
  claim(request: ClaimRequest, now: Timestamp): ReadonlyArray<Run> {
    this.giveKeys(now)
    const open = this.openBy(({ createdAt }) => createdAt)
    const expired = open.filter((run) =>
      run.owner === null ? isLeft(run, now) : this.hasRunOut(run.owner, now),
    )
    const capOf = (account: AccountId) =>
      this.keys.accounts().find(({ id }) => id === account)?.runsAtOnce ?? null
    return claimed(request, {
      capOf,
      expired: expired.map((run) => ({ run, losses: this.lossesOf(run, request.runner) })),
      queued: this.queuedBy(now).filter((run) => !this.waitsForKey(run)),
      owned: open.filter(({ owner }) => owner !== null),
    })
  }

  /** A runner that lives has not died. */
  takeBack(runner: RunnerId, blocked: Blocked | undefined): void {
    for (const run of this.runs.filter(isOpen)) {
      const losses = run.losses.flatMap((loss): ReadonlyArray<Loss> => {
        if (loss.runner !== runner || loss.cause === "blocked") return [loss]
        if (run.id !== blocked?.run) return []
        return [{ ...loss, cause: "blocked", millis: blocked.millis }]
      })
      if (losses.length > 0 || run.losses.length > 0) this.set({ ...run, losses })
    }
  }

  ownedBy(runner: RunnerId): ReadonlyArray<Run> {
    return this.runs.filter((run) => isOpen(run) && run.owner === runner)
  }
}

type Store = RunStore["Service"]

/** What moves runs from hand to hand. */
const handing = (lists: Lists): Pick<Store, "claim" | "takeOver" | "requeue"> => ({
  claim: (request) =>
    Effect.map(Clock.currentTimeMillis, (now) => {
      const { leaseMillis, runner } = request
      const taken = lists.claim(request, now).map((run) => {
        const losses = lists.lossesOf(run, runner)
        return lists.set({ ...run, fence: run.fence + 1, losses, owner: runner })
      })
      lists.leases.set(runner, now + leaseMillis)
      return taken.map((run) => lists.record(run))
    }),
  takeOver: (account, id, runner) =>
    Effect.sync(() => {
      const run = lists.find(account, id)
      if (run === undefined) return Option.none()
      if (isOpen(run)) lists.set({ ...run, fence: run.fence + 1, owner: runner, dueAt: null })
      return Option.some(lists.record(lists.find(account, id)!))
    }),
  requeue: (runner, ids) =>
    Effect.sync(() => {
      for (const run of lists.ownedBy(runner)) {
        if (!ids.includes(run.id)) continue
        lists.set({ ...run, fence: run.fence + 1, owner: null })
        lists.readyAt.delete(run.id)
      }
    }),
})

/** What keeps and ends leases, and what becomes of losses. */
const leasing = (
  lists: Lists,
): Pick<Store, "heartbeat" | "endLease" | "suspects" | "clearLosses"> => ({
  heartbeat: (runner, leaseMillis, blocked) =>
    Effect.map(Clock.currentTimeMillis, (now) => {
      lists.takeBack(runner, blocked)
      lists.leases.set(runner, now + leaseMillis)
      return new Map(lists.ownedBy(runner).map(({ fence, id }) => [id, fence]))
    }),
  endLease: (runner, blocked) =>
    Effect.map(Clock.currentTimeMillis, (now) => {
      lists.takeBack(runner, blocked)
      lists.leases.delete(runner)
      const run = lists.ownedBy(runner).find(({ id }) => id === blocked?.run)
      if (run === undefined || blocked === undefined || run.active.length === 0) return
      if (run.losses.length >= lossesPerRun) return
      const nodes = run.active.map(({ ordinal }) => ordinal)
      const { millis } = blocked
      const loss = { runner, lostAt: now, nodes, cause: "blocked" as const, millis }
      lists.set({ ...run, losses: [...run.losses, loss] })
    }),
  suspects: (limit) =>
    Effect.map(Clock.currentTimeMillis, (now) =>
      lists
        .openBy(({ createdAt }) => createdAt)
        .filter(({ losses }) => losses.length > 0)
        .slice(0, limit)
        .map((run) => ({
          record: lists.record(run),
          holder: run.owner === null || lists.hasRunOut(run.owner, now) ? null : run.owner,
        })),
    ),
  clearLosses: (id) =>
    Effect.sync(() => {
      const run = lists.runs.find((each) => each.id === id)
      if (run === undefined || !isOpen(run) || run.losses.length === 0) return false
      lists.set({ ...run, losses: [] })
      return true
    }),
})

/** What is told of the time and of caps. */
const telling = (lists: Lists): Pick<Store, "now" | "cappedAccounts" | "queueLength" | "load"> => ({
  now: Clock.currentTimeMillis,
  queueLength: (limit) =>
    Effect.map(Clock.currentTimeMillis, (now) => {
      const claimable = lists.queuedBy(now).filter((run) => !lists.waitsForKey(run))
      return Math.min(limit, claimable.length)
    }),
  load: (query) =>
    Effect.sync(() => loadOf(lists.runs.filter(isOpen), lists.keys, lists.waitsForKey, query)),
  cappedAccounts: (limit) =>
    Effect.sync(() => {
      const capped = lists.keys.accounts().filter(({ runsAtOnce }) => runsAtOnce !== null)
      return new Set(capped.map(({ id }) => id).slice(0, limit))
    }),
})

/** What brings messages, and what reads them. */
const messaging = (lists: Lists): Pick<Store, "send" | "signal" | "inboxes"> => ({
  signal: (account, workflowId, signal) =>
    Effect.map(Clock.currentTimeMillis, (now) =>
      lists.signals.send(account, workflowId, signal, now),
    ),
  send: (account, id, message) =>
    Effect.map(Clock.currentTimeMillis, (now) => lists.send(account, id, message, true, now)),
  inboxes: (requests) =>
    Effect.map(Clock.currentTimeMillis, (now) =>
      requests
        .map((request) => ({ runId: request.runId, messages: lists.inboxes.read(request, now) }))
        .filter(({ messages }) => messages.length > 0),
    ),
})

const summing = (lists: Lists): Pick<Store, "latestOutputs" | "children" | "activity"> => ({
  latestOutputs: (...asked) =>
    Effect.sync(() => latestOutputs(lists.runs, ({ id }) => lists.nodeRuns(id), ...asked)),
  children: (query) => Effect.sync(() => childrenOf(lists.runs, query)),
  activity: (query) => Effect.sync(() => activityOf(lists.runs, query)),
})

/** An empty run store, whose commits move credits in a ledger and see these workflows. */
export const make = (ledger: LedgerModel, workflows: WorkflowModel, keys: KeyModel): RunModel => {
  const lists = new Lists(workflows, keys)
  const store = RunStore.of({
    ...handing(lists),
    ...leasing(lists),
    ...telling(lists),
    ...messaging(lists),
    ...summing(lists),
    typesInUse: (oldest) =>
      Effect.sync(() => {
        const open = lists.runs.filter(isOpen).map((run) => lists.record(run).definition)
        return typesInUse(workflows, open, oldest)
      }),
    commit: (commit) =>
      Effect.flatMap(Clock.currentTimeMillis, (now): ReturnType<RunStore["Service"]["commit"]> => {
        const { credits = [], run, starts = [] } = commit
        if (!lists.fits(commit, now)) return new StaleRun({ runId: run.id })
        const known = starts.find((start) => lists.runs.some(({ id }) => id === start.run.id))
        if (known !== undefined) return new StaleRun({ runId: known.run.id })
        const problem = ledger.problemOf(commit, now)
        if (problem !== undefined) return problem
        lists.apply(commit, now)
        ledger.move(run.accountId, run.id, credits)
        for (const start of starts) ledger.move(run.accountId, start.run.id, start.credits ?? [])
        lists.carry(commit, now)
        return Effect.void
      }),
    find: (account, id) =>
      Effect.sync(() => {
        const run = lists.find(account, id)
        return run === undefined ? Option.none() : Option.some(lists.record(run))
      }),
    findMany: (account, ids, mostBytes) =>
      Effect.sync(() => {
        const found = [...new Set(ids)].flatMap((id) => {
          const run = lists.find(account, id)
          return run === undefined ? [] : [lists.record(run)]
        })
        return mostBytes === undefined ? found : withinBytes(found, mostBytes)
      }),
    findStart: (account, key) =>
      Effect.map(Clock.currentTimeMillis, (now) =>
        Option.fromUndefinedOr(lists.start(account, key, now)),
      ),
    list: (query) =>
      Effect.sync(() => {
        const found = lists.runs.filter((run) => isFound(run, query))
        return pageOf(found, query)
      }),
    events: (account, id, after) => Effect.sync(() => lists.eventsOf(account, id, after)),
    eventsOfMany: (requests) =>
      Effect.sync(() =>
        requests.flatMap(({ account, after, revision: known, runId }) => {
          const revision = lists.find(account, runId)?.revision
          if (revision === undefined) return []
          const events = lists.eventsOf(account, runId, after)
          const hasMoved = known !== undefined && known !== revision
          return hasMoved || events.length > 0 ? [{ runId, revision, events }] : []
        }),
      ),
  })
  return {
    store,
    runs: () => lists.runs,
    nodeRuns: (id) => lists.nodeRuns(id),
    untaken: (id) => lists.inboxes.untaken(id),
    waitsOf: (id) => lists.signals.saidOf(id),
    favor: (ids) => void (lists.favorites = ids),
  }
}
