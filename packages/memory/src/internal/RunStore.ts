/**
 * The run store in memory.
 *
 * Guarantees: every method is one synchronous step, so a commit is applied as a whole or not at
 * all; leases follow Effect's clock. Leaves out: durability.
 */
import type { AccountLoad, LoadQuery } from "@millrace/core/domain/AccountLoad"
import type { AccountId, RunId, RunnerId, WorkflowId } from "@millrace/core/domain/Id"
import { runsSearched } from "@millrace/core/domain/Limits"
import type { Blocked, Loss } from "@millrace/core/domain/Loss"
import type { Page } from "@millrace/core/domain/Page"
import type { Definition, Run, RunRecord } from "@millrace/core/domain/Run"
import { isPinned, isTerminal, needsKey } from "@millrace/core/domain/Run"
import type { RunEvent } from "@millrace/core/domain/RunEvent"
import { merged } from "@millrace/core/domain/RunEvent"
import { withinBytes } from "@millrace/core/domain/RunPayload"
import type { NewMessage } from "@millrace/core/domain/Message"
import { lineGate, lossesWith, lossesWithBlock, takenBack } from "@millrace/core/domain/Suspects"
import type { Timestamp } from "@millrace/core/domain/Timestamp"
import { type OldestVersions, type TypeUse, TypeUses } from "@millrace/core/domain/TypeUse"
import { byTurns } from "@millrace/core/domain/FairTurns"
import type { InsufficientCredits } from "@millrace/core/ports/LedgerStore"
import { LedgerStore } from "@millrace/core/ports/LedgerStore"
import type {
  ClaimRequest,
  Inbox,
  InboxRequest,
  LatestOutput,
  RunCommit,
  RunQuery,
  SendResult,
  StartedRun,
  Suspect,
} from "@millrace/core/ports/RunStore"
import { RunStore, StaleRun } from "@millrace/core/ports/RunStore"
import { Clock, Context, Effect, Layer, Option } from "effect"
import { Accounts } from "./Accounts.ts"
import { Children } from "./Children.ts"
import { Deliveries } from "./Deliveries.ts"
import { Inboxes } from "./Inboxes.ts"
import { gate } from "./CapGate.ts"
import { Books, make as makeLedger } from "./LedgerStore.ts"
import { advance } from "./NextRun.ts"
import { type Entry, Places } from "./Places.ts"
import { IdempotencyKeys } from "./IdempotencyKeys.ts"
import { activityOf } from "./RunActivity.ts"
import { runFilter } from "./RunFilter.ts"
import { type Send, Signals } from "./Signals.ts"
import * as Timeline from "./Timeline.ts"
import { StoredTriggers, type Triggers } from "./StoredTriggers.ts"
import { type Drawings, StoredWorkflows } from "./StoredWorkflows.ts"

const recordOf = (entry: Entry): RunRecord => ({
  run: entry.run,
  definition: entry.definition,
  nodeRuns: [...entry.nodeRuns.values()].toSorted((a, b) => a.ordinal - b.ordinal),
})

/** All runs of one store, and the leases of its runners. */
class Runs {
  readonly idempotencyKeys = new IdempotencyKeys()
  readonly entries = new Map<RunId, Entry>()
  readonly definitions = new Map<string, Definition>()
  readonly children = new Children<Entry>()
  readonly timelines = new Map<AccountId, Timeline.Timeline<Entry>>()
  readonly leases = new Map<RunnerId, Timestamp>()
  readonly places = new Places()
  readonly books = new Books()
  readonly inboxes = new Inboxes()
  readonly signals: Signals
  readonly #workflows: Drawings
  readonly #triggers: Triggers
  readonly #accounts: Accounts["Service"]

  constructor(workflows: Drawings, triggers: Triggers, accounts: Accounts["Service"]) {
    this.#workflows = workflows
    this.#triggers = triggers
    this.#accounts = accounts
    const send: Send = (account, run, message, now) => this.send(account, run, message, now, false)
    this.signals = new Signals(workflows, this.inboxes, send)
  }

  find(account: AccountId, id: RunId): Entry | undefined {
    const entry = this.entries.get(id)
    return entry?.run.accountId === account ? entry : undefined
  }

  timelineOf(account: AccountId): Timeline.Timeline<Entry> {
    return Timeline.of(this.timelines, account)
  }

  /** The copy of a definition that all its runs share. */
  shared(definition: Definition): Definition {
    const known = this.definitions.get(definition.id)
    if (known === undefined) this.definitions.set(definition.id, definition)
    return known ?? definition
  }

  begin(run: Run, given: Definition): Entry {
    const { createdAt, id } = run
    const definition = this.shared(given)
    const rest = { definition, nodeRuns: new Map(), events: [], run }
    const entry: Entry = { id, createdAt, needsKey: needsKey(run), ...rest }
    this.entries.set(id, entry)
    this.timelineOf(run.accountId).add(entry)
    this.places.add(entry)
    this.children.add(entry)
    return entry
  }

  proceed({ clearsLosses = false, run }: RunCommit): Entry {
    const entry = this.entries.get(run.id)!
    this.places.update(entry, advance(entry.run, run, clearsLosses))
    return entry
  }

  /** True if a start would take what the run was started from. */
  isCurrent({ accountId, workflowId, workflowRevision, workflowVersion }: Run): boolean {
    const { revision, version = null } = this.#workflows.current(accountId, workflowId) ?? {}
    return version === workflowVersion && (version !== null || revision === workflowRevision)
  }

  /** False if the run is not in the state that the commit expects. */
  fits({ expected, run, seen = Infinity }: RunCommit, now: Timestamp): boolean {
    if (expected._tag === "New") {
      const { isCurrent, idempotencyKey, claimFence } = expected
      return (
        !this.entries.has(run.id) &&
        (claimFence === undefined || this.#triggers.isClaimed(run, claimFence)) &&
        (isCurrent !== true || this.isCurrent(run)) &&
        (idempotencyKey === undefined ||
          this.idempotencyKeys.find(run.accountId, idempotencyKey.key, now) === undefined)
      )
    }
    const present = this.find(run.accountId, run.id)?.run
    return (
      present?.fence === expected.fence &&
      present.revision === expected.revision &&
      present.messages <= seen &&
      !isTerminal(present.status)
    )
  }

  /** Applies a commit, or returns why not. */
  commit(commit: RunCommit, now: Timestamp): StaleRun | InsufficientCredits | undefined {
    const { credits = [], events, expected, messages = [], nodeRuns, rewritten, run } = commit
    const { signals, starts = [], taken = [] } = commit
    if (!this.fits(commit, now)) return new StaleRun({ runId: run.id })
    const known = starts.find((start) => this.entries.has(start.run.id))
    if (known !== undefined) return new StaleRun({ runId: known.run.id })
    const problem = this.books.problemOf(commit, now)
    if (problem !== undefined) return problem
    const entry =
      expected._tag === "New" ? this.begin(run, expected.definition) : this.proceed(commit)
    if (expected._tag === "New" && expected.idempotencyKey !== undefined) {
      this.idempotencyKeys.take(run, expected.idempotencyKey, now)
    }
    for (const row of [...nodeRuns, ...rewritten]) entry.nodeRuns.set(row.nodeId, row)
    for (const event of events) entry.events.push(event)
    this.books.move(run.accountId, run.id, credits)
    this.#triggers.addEnd(entry.run, now)
    this.inboxes.take(run.id, taken)
    for (const start of starts) this.start(start, now)
    for (const { message, runId } of messages) this.send(run.accountId, runId, message, now, false)
    if (signals !== undefined) this.signals.change(entry.run, signals, now)
    return undefined
  }

  start(started: StartedRun, now: Timestamp): void {
    const { credits = [], definition, events = [], nodeRuns = [], run } = started
    const entry = this.begin(run, definition)
    for (const nodeRun of nodeRuns) entry.nodeRuns.set(nodeRun.nodeId, nodeRun)
    entry.events.push(...events)
    this.books.move(run.accountId, run.id, credits)
    this.#triggers.addEnd(run, now)
  }

  /** Appends a message to a run's inbox, and wakes the run. */
  send(
    account: AccountId,
    id: RunId,
    message: NewMessage,
    now: Timestamp,
    isOutside: boolean,
  ): SendResult {
    const entry = this.find(account, id)
    if (entry === undefined) return { _tag: "NotFound" }
    const known = this.inboxes.numberOf(id, message.id)
    if (known !== undefined) return { _tag: "Sent", number: known, isReplay: true }
    const { dueAt, owner, status } = entry.run
    if (isTerminal(status)) return { _tag: "Ended", status }
    const number = this.inboxes.append(id, message, now, isOutside)
    if (number === undefined) return { _tag: "Full" }
    entry.run = { ...entry.run, messages: number }
    const isParked = status === "RUNNING" && owner === null && dueAt !== null && dueAt > now
    if (isParked) this.places.wake(entry, now)
    return { _tag: "Sent", number, isReplay: false }
  }

  inboxesOf(requests: ReadonlyArray<InboxRequest>, now: Timestamp): ReadonlyArray<Inbox> {
    return requests
      .map((request) => ({ runId: request.runId, messages: this.inboxes.read(request, now) }))
      .filter(({ messages }) => messages.length > 0)
  }

  take(entry: Entry, runner: RunnerId, change?: Pick<Run, "dueAt"> | Pick<Run, "losses">) {
    const { run } = entry
    this.places.update(entry, { ...run, ...change, fence: run.fence + 1, owner: runner })
    return recordOf(entry)
  }

  requeue(runner: RunnerId, ids: ReadonlyArray<RunId>): void {
    for (const id of ids) {
      const entry = this.places.owned.get(runner)?.get(id)
      if (entry === undefined) continue
      this.places.update(entry, { ...entry.run, fence: entry.run.fence + 1, owner: null })
    }
  }

  /** The losses of a run once this runner has claimed it. */
  lossesOf({ run }: Entry, claimer: RunnerId): ReadonlyArray<Loss> {
    return lossesWith(run, claimer, run.owner === null ? undefined : this.leases.get(run.owner))
  }

  /** The open runs with an expired lease, and the claimable suspects, oldest first. */
  *expired({ except, runner }: ClaimRequest, now: Timestamp): Iterable<Entry> {
    const { owned, suspects } = this.places
    const found = [...suspects].filter(({ run }) => run.owner === null && (run.dueAt ?? 0) <= now)
    for (const [owner, runs] of owned) {
      if ((this.leases.get(owner) ?? now) <= now) found.push(...runs.values())
    }
    const excepted = new Set(except)
    const isOpen = lineGate([...(owned.get(runner)?.values() ?? [])].map(({ run }) => run))
    for (const entry of found.toSorted(Timeline.compare)) {
      const { length } = this.lossesOf(entry, runner)
      const isFree = length === 0 || entry.run.owner === runner
      if (!excepted.has(entry.id) && (isFree || isOpen(length))) yield entry
    }
  }

  /** The queued runs in turn, as room and caps allow. Runs in `taken` count as owned. */
  queued(request: ClaimRequest, taken: ReadonlyArray<Entry>): Iterable<Entry> {
    const { after = "", except, roomPerAccount = Infinity } = request
    const { rooms, runsPerAccount, runsPerWorkflow } = request
    const excepted = new Set(except)
    const { places } = this
    const back = taken.filter(({ run }) => run.owner === null).map(({ run }) => run)
    const gateOf = (
      limit: number | undefined,
      kindOf: (run: Run) => string,
      ownLimitOf: (run: Run) => number | null = () => null,
    ) => {
      if (limit === undefined) return []
      const owned = [...places.ownedRuns(), ...back]
      return [gate((run) => ownLimitOf(run) ?? limit, kindOf, owned)]
    }
    const capOf = ({ accountId }: Run) => this.#accounts.get(accountId)?.runsAtOnce ?? null
    const gates = [
      ...gateOf(runsPerAccount, ({ accountId }) => accountId, capOf),
      ...gateOf(runsPerWorkflow, ({ accountId, workflowId }) => `${accountId} ${workflowId}`),
    ]
    const line = function* (account: AccountId): Iterable<Entry> {
      let room = rooms?.get(account) ?? roomPerAccount
      for (const { entry } of places.queued.get(account)!.items) {
        if (room <= 0) return
        if (excepted.has(entry.id) || !gates.every(({ isOpen }) => isOpen(entry.run))) continue
        for (const { add } of gates) add(entry.run)
        room -= 1
        yield entry
      }
    }
    const accounts = [...places.queued.keys()].toSorted()
    const behind = accounts.filter((account) => account > after)
    const before = accounts.slice(0, accounts.length - behind.length)
    return byTurns([...behind, ...before].map(line))
  }

  claim(request: ClaimRequest, now: Timestamp): ReadonlyArray<RunRecord> {
    const { except, leaseMillis, limit, runner } = request
    const excepted = new Set(except)
    const taken: Array<Entry> = []
    const take = (entries: Iterable<Entry>) => {
      for (const entry of entries) {
        if (taken.length >= limit) return
        if (!excepted.has(entry.id)) taken.push(entry)
      }
    }
    this.requeueWithoutKeys(now)
    this.places.queueDue(now)
    this.places.giveKeys()
    take(this.expired(request, now))
    take(this.queued(request, taken))
    const losses = taken.map((entry) => this.lossesOf(entry, runner))
    this.leases.set(runner, now + leaseMillis)
    return taken.map((entry, index) => this.take(entry, runner, { losses: losses[index]! }))
  }

  /** Runs that wait for their key do so again, if somebody took them over who has died. */
  requeueWithoutKeys(now: Timestamp): void {
    for (const [owner, entries] of this.places.owned) {
      if ((this.leases.get(owner) ?? now) > now) continue
      const keyless = [...entries.values()].flatMap(({ id, needsKey: waits }) => (waits ? id : []))
      this.requeue(owner, keyless)
    }
  }

  takeOver(account: AccountId, id: RunId, runner: RunnerId): RunRecord | undefined {
    const entry = this.find(account, id)
    if (entry === undefined) return undefined
    return isTerminal(entry.run.status)
      ? recordOf(entry)
      : this.take(entry, runner, { dueAt: null })
  }

  /** Removes the losses that were put down to the death of a runner that is alive. */
  takeBack(runner: RunnerId, blocked: Blocked | undefined): void {
    for (const entry of this.places.suspects) {
      const losses = takenBack(entry.run, runner, blocked)
      this.places.update(entry, { ...entry.run, losses })
    }
  }

  release(runner: RunnerId, blocked: Blocked | undefined, now: Timestamp): void {
    this.takeBack(runner, blocked)
    this.leases.delete(runner)
    const entry = blocked && this.places.owned.get(runner)?.get(blocked.run)
    if (entry === undefined || blocked === undefined) return
    const losses = lossesWithBlock(entry.run, runner, blocked, now)
    this.places.update(entry, { ...entry.run, losses })
  }

  cappedAccounts(limit: number): ReadonlySet<AccountId> {
    const capped = [...this.#accounts.values()].filter(({ runsAtOnce }) => runsAtOnce !== null)
    return new Set(capped.slice(0, limit).map(({ id }) => id))
  }

  load(query: LoadQuery): AccountLoad {
    const runsAtOnce = this.#accounts.get(query.account)?.runsAtOnce ?? null
    return { ...this.places.load(query), runsAtOnce }
  }

  suspects(limit: number, now: Timestamp): ReadonlyArray<Suspect> {
    const oldest = [...this.places.suspects].toSorted(Timeline.compare).slice(0, limit)
    return oldest.map((entry) => {
      const { owner } = entry.run
      const isHeld = owner !== null && (this.leases.get(owner) ?? now) > now
      return { record: recordOf(entry), holder: isHeld ? owner : null }
    })
  }

  typesInUse(oldest: OldestVersions): ReadonlyArray<TypeUse> {
    const uses = new TypeUses(oldest)
    for (const each of this.#workflows.entries()) uses.addWorkflow(each.workflow, each.versions)
    for (const { definition, run } of this.entries.values()) {
      if (!isTerminal(run.status)) uses.addRuns(definition, 1)
    }
    return uses.all()
  }

  clearLosses(id: RunId): boolean {
    const entry = this.entries.get(id)
    if (entry === undefined || !this.places.suspects.has(entry)) return false
    this.places.update(entry, { ...entry.run, losses: [] })
    return true
  }

  heartbeat(
    runner: RunnerId,
    until: Timestamp,
    blocked: Blocked | undefined,
  ): ReadonlyMap<RunId, number> {
    this.takeBack(runner, blocked)
    this.leases.set(runner, until)
    const fences = new Map<RunId, number>()
    const owned = this.places.owned.get(runner)?.values() ?? []
    for (const { run } of owned) fences.set(run.id, run.fence)
    return fences
  }

  findMany(account: AccountId, ids: ReadonlyArray<RunId>): ReadonlyArray<RunRecord> {
    return [...new Set(ids)].flatMap((id) => {
      const entry = this.find(account, id)
      return entry === undefined ? [] : [recordOf(entry)]
    })
  }

  latestOutputs(
    account: AccountId,
    workflowId: WorkflowId,
    nodeIds: ReadonlyArray<string>,
  ): ReadonlyMap<string, LatestOutput> {
    const runs = this.timelineOf(account).items.filter(
      ({ run }) => run.workflowId === workflowId && run.mode !== "item",
    )
    const outputs = new Map<string, LatestOutput>()
    for (const entry of runs.slice(-runsSearched).toReversed()) {
      for (const id of nodeIds) {
        const row = entry.nodeRuns.get(id)
        if (outputs.has(id) || row?.status !== "COMPLETED" || isPinned(row)) continue
        if (row.output === null) continue
        const { largeValues, output } = row
        outputs.set(id, { runId: entry.run.id, output, largeValues })
      }
    }
    return outputs
  }

  events(account: AccountId, id: RunId, after: number): ReadonlyArray<RunEvent> {
    const entry = this.find(account, id)
    if (entry === undefined || entry.run.sequence <= after) return []
    return merged(entry.run, entry.events, entry.nodeRuns.values(), after)
  }

  list(query: RunQuery): Page<Run> {
    const matches = runFilter(query)
    return this.timelineOf(query.account).page(query, ({ run }) => (matches(run) ? run : undefined))
  }
}

const makeRuns = (runs: Runs, outbox: Deliveries["Service"]) => {
  const now = Clock.currentTimeMillis
  outbox.workflowOf = (id) => runs.entries.get(id)?.run.workflowId
  return RunStore.of({
    commit: (commit) =>
      Effect.flatMap(now, (millis): Effect.Effect<void, StaleRun | InsufficientCredits> => {
        const refusal = runs.commit(commit, millis)
        if (refusal !== undefined) return refusal
        outbox.insert(commit.deliveries, millis)
        for (const { deliveries = [] } of commit.starts ?? []) outbox.insert(deliveries, millis)
        return Effect.void
      }),
    claim: (request) => Effect.map(now, (millis) => runs.claim(request, millis)),
    takeOver: (account, id, runner) =>
      Effect.sync(() => Option.fromUndefinedOr(runs.takeOver(account, id, runner))),
    heartbeat: (runner, leaseMillis, blocked) =>
      Effect.map(now, (millis) => runs.heartbeat(runner, millis + leaseMillis, blocked)),
    requeue: (runner, ids) => Effect.sync(() => runs.requeue(runner, ids)),
    send: (account, id, message) =>
      Effect.map(now, (millis) => runs.send(account, id, message, millis, true)),
    signal: (account, workflowId, signal) =>
      Effect.map(now, (millis) => runs.signals.send(account, workflowId, signal, millis)),
    inboxes: (requests) => Effect.map(now, (millis) => runs.inboxesOf(requests, millis)),
    now,
    endLease: (runner, blocked) => Effect.map(now, (at) => runs.release(runner, blocked, at)),
    cappedAccounts: (limit) => Effect.sync(() => runs.cappedAccounts(limit)),
    load: (query) => Effect.sync(() => runs.load(query)),
    queueLength: (limit) => Effect.map(now, (at) => Math.min(limit, runs.places.queueLength(at))),
    suspects: (limit) => Effect.map(now, (millis) => runs.suspects(limit, millis)),
    clearLosses: (id) => Effect.sync(() => runs.clearLosses(id)),
    typesInUse: (oldest) => Effect.sync(() => runs.typesInUse(oldest)),
    find: (account, id) =>
      Effect.sync(() => Option.map(Option.fromUndefinedOr(runs.find(account, id)), recordOf)),
    findMany: (account, ids, mostBytes = Number.POSITIVE_INFINITY) =>
      Effect.sync(() => {
        const found = runs.findMany(account, ids)
        return mostBytes === Number.POSITIVE_INFINITY ? found : withinBytes(found, mostBytes)
      }),
    latestOutputs: (account, workflowId, nodeIds) =>
      Effect.sync(() => runs.latestOutputs(account, workflowId, nodeIds)),
    findStart: (account, key) =>
      Effect.map(now, (millis) =>
        Option.fromUndefinedOr(runs.idempotencyKeys.find(account, key, millis)),
      ),
    list: (query) => Effect.sync(() => runs.list(query)),
    children: (query) => Effect.sync(() => runs.children.find(query)),
    activity: (query) => Effect.sync(() => activityOf(runs.timelineOf(query.account).items, query)),
    events: (account, id, after) => Effect.sync(() => runs.events(account, id, after)),
    eventsOfMany: (requests) =>
      Effect.sync(() =>
        requests.flatMap(({ account, after, revision: known, runId }) => {
          const record = runs.find(account, runId)
          if (record === undefined) return []
          const { revision } = record.run
          const events = runs.events(account, runId, after)
          const hasMoved = known !== undefined && known !== revision
          return hasMoved || events.length > 0 ? [{ runId, revision, events }] : []
        }),
      ),
  })
}

const make = Effect.gen(function* () {
  const runs = new Runs(yield* StoredWorkflows, yield* StoredTriggers, yield* Accounts)
  const ledger = makeLedger(runs.books, {
    ofAccount: (account) => runs.timelineOf(account).items.map(({ run }) => run),
    all: () => [...runs.entries.values()].map(({ run }) => run),
  })
  const store = makeRuns(runs, yield* Deliveries)
  return Context.add(Context.make(RunStore, store), LedgerStore, ledger)
})

/**
 * An empty run store, and the ledger in which its commits move credits. The workflow store and the
 * webhook store share its workflows and deliveries.
 */
export const layer: Layer.Layer<
  RunStore | LedgerStore,
  never,
  Accounts | Deliveries | StoredWorkflows | StoredTriggers
> = Layer.effectContext(make)
