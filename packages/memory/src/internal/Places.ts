/**
 * The open runs of the run store in memory: owned, parked or queued.
 *
 * Guarantees: an open run is in one place, an ended run in none. Leaves out: whose turn it is.
 */
import type { AccountLoad, LoadQuery } from "@millrace/core/domain/AccountLoad"
import type { AccountId, RunId, RunnerId } from "@millrace/core/domain/Id"
import type { PagePosition } from "@millrace/core/domain/Page"
import type { Definition, NodeRun, Run } from "@millrace/core/domain/Run"
import { placeOf } from "@millrace/core/domain/Priority"
import { isTerminal } from "@millrace/core/domain/Run"
import type { RunEvent } from "@millrace/core/domain/RunEvent"
import type { Timestamp } from "@millrace/core/domain/Timestamp"
import * as Timeline from "./Timeline.ts"

/** A run with its definition, node runs and events. */
export interface Entry {
  readonly id: RunId
  readonly createdAt: Timestamp
  readonly definition: Definition
  readonly nodeRuns: Map<string, NodeRun>
  readonly events: Array<RunEvent>
  run: Run
  /** Since when a woken run may be claimed. */
  readyAt?: Timestamp | undefined
  /** True until the run is given its key. */
  needsKey: boolean
}

/** A run without an owner: at the time when it is due, or at its place in the queue. */
interface Waiting extends PagePosition {
  readonly entry: Entry
}

const readyAtOf = (entry: Entry): Timestamp => entry.readyAt ?? entry.run.dueAt ?? entry.createdAt

const parkedOf = (entry: Entry): Waiting => ({ createdAt: readyAtOf(entry), id: entry.id, entry })

const queuedOf = (entry: Entry): Waiting => ({
  createdAt: placeOf(readyAtOf(entry), entry.run.priority),
  id: entry.id,
  entry,
})

type Keyed = Pick<Run, "accountId" | "concurrencyKey" | "workflowId">

const keyOf = ({ accountId, concurrencyKey, workflowId }: Keyed): string =>
  JSON.stringify([accountId, workflowId, concurrencyKey])

/**
 * The open runs: by owner, parked until their time, or in the queue of their account. Suspects
 * without an owner are only among the suspects.
 */
export class Places {
  /** The open runs with losses. They may also be in another place. */
  readonly suspects = new Set<Entry>()
  readonly queued = new Map<AccountId, Timeline.Timeline<Waiting>>()
  readonly parked = Timeline.make<Waiting>()
  readonly owned = new Map<RunnerId, Map<RunId, Entry>>()
  /** The open runs with a key, by key: those that hold it, and those that wait for it. */
  readonly #holders = new Map<string, Set<Entry>>()
  readonly #keyless = new Map<string, Timeline.Timeline<Waiting>>()

  add(entry: Entry): void {
    const { dueAt, id, losses, owner, status } = entry.run
    if (isTerminal(status)) return
    if (losses.length > 0) this.suspects.add(entry)
    if (!entry.needsKey) this.#hold(entry)
    if (owner !== null) {
      const entries = this.owned.get(owner)
      if (entries === undefined) this.owned.set(owner, new Map([[id, entry]]))
      else entries.set(id, entry)
    } else if (losses.length === 0) {
      if (dueAt === null) this.#queue(entry)
      else this.parked.add(parkedOf(entry))
    }
  }

  remove(entry: Entry): void {
    const { accountId, id, owner } = entry.run
    this.suspects.delete(entry)
    this.#holders.get(keyOf(entry.run))?.delete(entry)
    if (owner !== null) {
      const entries = this.owned.get(owner)
      entries?.delete(id)
      if (entries?.size === 0) this.owned.delete(owner)
      return
    }
    // A due run may be parked or queued.
    this.parked.remove(parkedOf(entry))
    if (entry.needsKey) return this.#keyless.get(keyOf(entry.run))?.remove(queuedOf(entry))
    const line = this.queued.get(accountId)
    line?.remove(queuedOf(entry))
    if (line?.items.length === 0) this.queued.delete(accountId)
  }

  /** Puts the parked runs whose time has come into the queue. */
  queueDue(now: Timestamp): void {
    const { items } = this.parked
    const { length } = items
    const later = items.findIndex(({ createdAt }) => createdAt > now)
    for (const waiting of items.slice(0, later < 0 ? length : later)) {
      this.parked.remove(waiting)
      this.#queue(waiting.entry)
    }
  }

  /** How many runs are in the queue or parked and due. */
  queueLength(now: Timestamp): number {
    const { items } = this.parked
    const later = items.findIndex(({ createdAt }) => createdAt > now)
    const due = later < 0 ? items.length : later
    return [...this.queued.values()].reduce((sum, line) => sum + line.items.length, due)
  }

  /** Gives keys to those that wait for them, in order. */
  giveKeys(): void {
    for (const [key, line] of this.#keyless) {
      for (let first = line.items[0]; first !== undefined; first = line.items[0]) {
        const { entry } = first
        if ((this.#holders.get(key)?.size ?? 0) >= entry.run.concurrency!) break
        line.remove(first)
        entry.needsKey = false
        this.#hold(entry)
        this.#queue(entry)
      }
      if (line.items.length === 0) this.#keyless.delete(key)
    }
  }

  #hold(entry: Entry): void {
    if (entry.run.concurrencyKey === null) return
    const key = keyOf(entry.run)
    this.#holders.set(key, (this.#holders.get(key) ?? new Set()).add(entry))
  }

  #queue(entry: Entry): void {
    if (entry.needsKey) Timeline.of(this.#keyless, keyOf(entry.run)).add(queuedOf(entry))
    else Timeline.of(this.queued, entry.run.accountId).add(queuedOf(entry))
  }

  /** How many runs of an account are at work or wait. */
  load({ account, key, limit }: LoadQuery): Omit<AccountLoad, "runsAtOnce"> {
    const lines = [...this.#keyless.values()].flatMap(({ items }) => items)
    const keyless = lines.filter(({ entry }) => entry.run.accountId === account)
    const owned = [...this.ownedRuns()].filter(({ accountId }) => accountId === account)
    const named = key === undefined ? "" : keyOf({ accountId: account, ...key })
    const ofKey = keyless.filter(({ entry }) => keyOf(entry.run) === named).length
    return {
      queued: Math.min(limit, this.queued.get(account)?.items.length ?? 0),
      keyless: Math.min(limit, keyless.length),
      owned: owned.length,
      ofKey: Math.min(limit, ofKey + (this.#holders.get(named)?.size ?? 0)),
    }
  }

  /** Open runs with an owner. */
  *ownedRuns(): Iterable<Run> {
    for (const entries of this.owned.values()) for (const { run } of entries.values()) yield run
  }

  /** Puts a parked run into the queue. */
  wake(entry: Entry, now: Timestamp): void {
    this.remove(entry)
    entry.run = { ...entry.run, dueAt: null }
    entry.readyAt = now
    this.add(entry)
  }

  /** Changes the run of an entry, and moves the entry to its new place. */
  update(entry: Entry, run: Run): void {
    const { dueAt, losses, owner } = entry.run
    const moves =
      (entry.readyAt !== undefined && run.revision !== entry.run.revision) ||
      run.owner !== owner ||
      run.dueAt !== dueAt ||
      isTerminal(run.status) ||
      run.losses.length > 0 !== losses.length > 0
    if (moves) this.remove(entry)
    const isOthers = run.owner !== owner || run.revision !== entry.run.revision
    entry.run = run
    if (!moves) return
    // A run that had an owner no longer counts as woken.
    if (isOthers) entry.readyAt = undefined
    this.add(entry)
  }
}
