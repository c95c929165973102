/**
 * The run store in memory.
 *
 * Guarantees: every method is one synchronous step, so a commit is applied as a whole or not at
 * all; leases follow Effect's clock. Leaves out: durability; what it holds ends with the process.
 */
import type { AccountId, RunId, RunnerId } from "@millrace/core/domain/Id"
import type { StartKey } from "@millrace/core/domain/Idempotency"
import type { Page } from "@millrace/core/domain/Page"
import type { Definition, NodeRun, Run, RunRecord } from "@millrace/core/domain/Run"
import { isTerminal } from "@millrace/core/domain/Run"
import type { RunEvent } from "@millrace/core/domain/RunEvent"
import { merged } from "@millrace/core/domain/RunEvent"
import type { Timestamp } from "@millrace/core/domain/Timestamp"
import type { ClaimRequest, RunCommit, RunQuery } from "@millrace/core/ports/RunStore"
import { RunStore, StaleRun } from "@millrace/core/ports/RunStore"
import { Clock, Effect, Layer, Option } from "effect"
import { StartKeys } from "./StartKeys.ts"
import * as Timeline from "./Timeline.ts"

interface Entry {
  readonly id: RunId
  readonly createdAt: Timestamp
  readonly definition: Definition
  readonly nodeRuns: Map<string, NodeRun>
  readonly events: Array<RunEvent>
  run: Run
}

/** What a commit changes of a run; the rest is as the run was born. */
const advance = (run: Run, next: Run): Run => ({
  ...run,
  status: next.status,
  startedAt: next.startedAt,
  finishedAt: next.finishedAt,
  error: next.error,
  output: next.output,
  actualCredits: next.actualCredits,
  nodeRunCount: next.nodeRunCount,
  active: next.active,
  claims: next.claims,
  sequence: next.sequence,
  revision: next.revision,
})

const recordOf = (entry: Entry): RunRecord => ({
  run: entry.run,
  definition: entry.definition,
  nodeRuns: [...entry.nodeRuns.values()].toSorted((a, b) => a.ordinal - b.ordinal),
})

const matcher = (query: RunQuery): ((run: Run) => boolean) => {
  const search = query.search
  const part = search?.toLowerCase() ?? ""
  const found = (run: Run): boolean =>
    search === undefined ||
    run.workflowName.toLowerCase().includes(part) ||
    (run.error !== null && run.error.toLowerCase().includes(part)) ||
    run.id.startsWith(search)
  return (run) =>
    (query.workflowId === undefined || run.workflowId === query.workflowId) &&
    (query.status === undefined || run.status === query.status) &&
    found(run)
}

/**
 * The open runs by who is to work on them: per owner, and in one line those without any. A run is
 * in exactly one place, and in none once it is terminal.
 */
class Places {
  readonly unowned = Timeline.make<Entry>()
  readonly owned = new Map<RunnerId, Map<RunId, Entry>>()

  add(entry: Entry): void {
    const { id, owner, status } = entry.run
    if (isTerminal(status)) return
    if (owner === null) return this.unowned.add(entry)
    const entries = this.owned.get(owner)
    if (entries === undefined) this.owned.set(owner, new Map([[id, entry]]))
    else entries.set(id, entry)
  }

  remove(entry: Entry): void {
    const { id, owner } = entry.run
    if (owner === null) return this.unowned.remove(entry)
    const entries = this.owned.get(owner)
    entries?.delete(id)
    if (entries?.size === 0) this.owned.delete(owner)
  }

  /** Gives an entry its next run, and its place where that moves it. */
  update(entry: Entry, run: Run): void {
    const moves = run.owner !== entry.run.owner || isTerminal(run.status)
    if (moves) this.remove(entry)
    entry.run = run
    if (moves) this.add(entry)
  }
}

/** All runs of one store, and the leases of its runners. */
class Runs {
  readonly startKeys = new StartKeys()
  readonly entries = new Map<RunId, Entry>()
  readonly definitions = new Map<string, Definition>()
  readonly timelines = new Map<AccountId, Timeline.Timeline<Entry>>()
  readonly leases = new Map<RunnerId, Timestamp>()
  readonly places = new Places()

  find(account: AccountId, id: RunId): Entry | undefined {
    const entry = this.entries.get(id)
    return entry?.run.accountId === account ? entry : undefined
  }

  timelineOf(account: AccountId): Timeline.Timeline<Entry> {
    const known = this.timelines.get(account)
    if (known !== undefined) return known
    const timeline = Timeline.make<Entry>()
    this.timelines.set(account, timeline)
    return timeline
  }

  /** The one copy of a definition that all its runs share. */
  shared(definition: Definition): Definition {
    const known = this.definitions.get(definition.id)
    if (known === undefined) this.definitions.set(definition.id, definition)
    return known ?? definition
  }

  begin(
    run: Run,
    given: Definition,
    startKey: StartKey | undefined,
    now: Timestamp,
  ): Entry | undefined {
    if (this.entries.has(run.id)) return undefined
    if (startKey !== undefined && !this.startKeys.take(run, startKey, now)) return undefined
    const { createdAt, id } = run
    const definition = this.shared(given)
    const entry: Entry = { id, createdAt, definition, nodeRuns: new Map(), events: [], run }
    this.entries.set(id, entry)
    this.timelineOf(run.accountId).add(entry)
    this.places.add(entry)
    return entry
  }

  proceed(next: Run, fence: number, revision: number): Entry | undefined {
    const entry = this.find(next.accountId, next.id)
    if (entry === undefined) return undefined
    const { run } = entry
    if (run.fence !== fence || run.revision !== revision || isTerminal(run.status)) return undefined
    this.places.update(entry, advance(run, next))
    return entry
  }

  /** False when the run is not as the commit expects it. */
  commit({ events, expected, nodeRuns, run }: RunCommit, now: Timestamp): boolean {
    const entry =
      expected._tag === "New"
        ? this.begin(run, expected.definition, expected.startKey, now)
        : this.proceed(run, expected.fence, expected.revision)
    if (entry === undefined) return false
    for (const nodeRun of nodeRuns) entry.nodeRuns.set(nodeRun.nodeId, nodeRun)
    for (const event of events) entry.events.push(event)
    return true
  }

  take(entry: Entry, runner: RunnerId, claims: number): RunRecord {
    const { run } = entry
    const next = { ...run, fence: run.fence + 1, claims: run.claims + claims, owner: runner }
    this.places.update(entry, next)
    return recordOf(entry)
  }

  abandon(runner: RunnerId, ids: ReadonlyArray<RunId>): void {
    for (const id of ids) {
      const entry = this.places.owned.get(runner)?.get(id)
      if (entry === undefined) continue
      this.places.update(entry, { ...entry.run, fence: entry.run.fence + 1, owner: null })
    }
  }

  /** Open runs whose owner's lease has run out, oldest first. */
  expired(now: Timestamp): ReadonlyArray<Entry> {
    const found: Array<Entry> = []
    for (const [runner, runs] of this.places.owned) {
      if ((this.leases.get(runner) ?? now) <= now) found.push(...runs.values())
    }
    return found.toSorted(Timeline.compare)
  }

  claim({ leaseMillis, limit, runner }: ClaimRequest, now: Timestamp): ReadonlyArray<RunRecord> {
    const expired = this.expired(now).slice(0, limit)
    const unowned = this.places.unowned.items.slice(0, limit - expired.length)
    this.leases.set(runner, now + leaseMillis)
    return [...expired, ...unowned].map((entry) => this.take(entry, runner, 1))
  }

  seize(account: AccountId, id: RunId, runner: RunnerId): RunRecord | undefined {
    const entry = this.find(account, id)
    if (entry === undefined) return undefined
    return isTerminal(entry.run.status) ? recordOf(entry) : this.take(entry, runner, 0)
  }

  heartbeat(runner: RunnerId, until: Timestamp): ReadonlyMap<RunId, number> {
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

  list(query: RunQuery): Page<Run> {
    const matches = matcher(query)
    return this.timelineOf(query.account).page(query, ({ run }) => (matches(run) ? run : undefined))
  }
}

const make = () => {
  const runs = new Runs()
  const now = Clock.currentTimeMillis
  return RunStore.of({
    commit: (commit) =>
      Effect.flatMap(now, (millis) =>
        runs.commit(commit, millis) ? Effect.void : new StaleRun({ runId: commit.run.id }),
      ),
    claim: (request) => Effect.map(now, (millis) => runs.claim(request, millis)),
    seize: (account, id, runner) =>
      Effect.sync(() => Option.fromUndefinedOr(runs.seize(account, id, runner))),
    heartbeat: (runner, leaseMillis) =>
      Effect.map(now, (millis) => runs.heartbeat(runner, millis + leaseMillis)),
    abandon: (runner, ids) => Effect.sync(() => runs.abandon(runner, ids)),
    release: (runner) => Effect.sync(() => void runs.leases.delete(runner)),
    find: (account, id) =>
      Effect.sync(() => Option.map(Option.fromUndefinedOr(runs.find(account, id)), recordOf)),
    findMany: (account, ids) => Effect.sync(() => runs.findMany(account, ids)),
    findStart: (account, key) =>
      Effect.map(now, (millis) =>
        Option.fromUndefinedOr(runs.startKeys.find(account, key, millis)),
      ),
    list: (query) => Effect.sync(() => runs.list(query)),
    events: (account, id, after) =>
      Effect.sync(() => {
        const entry = runs.find(account, id)
        if (entry === undefined) return []
        return merged(entry.run, entry.events, entry.nodeRuns.values(), after)
      }),
  })
}

/** An empty run store. */
export const layer: Layer.Layer<RunStore> = Layer.sync(RunStore, make)
