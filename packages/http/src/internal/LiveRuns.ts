/**
 * Everybody in this process who watches the runs of an account: one look for all who watch the same
 * listing.
 *
 * Guarantees: a listing is looked at once a second at most, and for a tenth of the time at most,
 * however many watch it; sooner after a commit of this process than otherwise. A viewer is told of
 * each run whose item has changed since the page that it got. Who is slow is told the last state of
 * a run, and of the end of the stream if it has missed too much. Leaves out: who may watch, and old
 * runs beyond the bounds of `ListingLimits` that are open and behind the page.
 */
import type { LiveRunQuery, RunQuery } from "@millrace/api/PageQuery"
import type { RunItem } from "@millrace/api/RunWire"
import type { AccountId, RunId, WorkflowId } from "@millrace/core/domain/Id"
import {
  CurrentLimits,
  itemsPerPage,
  liveChangesKept,
  liveLooksAtOnce,
  livePagesPerLook,
} from "@millrace/core/domain/Limits"
import type { Run } from "@millrace/core/domain/Run"
import { isTerminal } from "@millrace/core/domain/Run"
import { RunNotifier } from "@millrace/core/engine/RunNotifier"
import { limited } from "@millrace/core/engine/StoreDeadline"
import type { SearchTooBroad } from "@millrace/core/ports/RunStore"
import { RunStore } from "@millrace/core/ports/RunStore"
import type { StorageError } from "@millrace/core/ports/StorageError"
import { Clock, Deferred, Effect, Latch, RcMap, Semaphore } from "effect"
import type { InvalidRequest } from "../Errors.ts"
import { logStorage } from "../Errors.ts"
import { IsDraining } from "../Health.ts"
import { itemOf } from "./RunForms.ts"
import type { ListRuns } from "./RunListing.ts"
import { makeListRuns } from "./RunListing.ts"

/** How far looks are apart, and after how long the next one comes without a commit here. */
const [shortestPauseMillis, longestPauseMillis] = [1_000, 2_000]

/** And so many times the duration of the last one. */
const pausesPerLook = 10

/** How often open runs behind the page are looked for. */
const openMillis = 10_000

/** How long one look may take. */
const patienceMillis = 5_000

/** After so long without a change a viewer is told so. */
const silenceMillis = 15_000

/** Behind every event of a run: only its revision is asked for. */
const noEvents = 2 ** 31 - 1

/** A page of runs, the newest first. */
export interface LivePage {
  readonly items: ReadonlyArray<RunItem>
  readonly nextCursor: string | null
}

/** What a viewer hears after the page. */
export type LiveNews = ReadonlyArray<RunItem> | "silence" | "over"

/** Why a listing cannot be watched. */
export type LiveRefusal = InvalidRequest | SearchTooBroad | StorageError

/** What is known of a run: its item as text, and whether viewers have been told of it. */
interface Known {
  readonly run: Run
  readonly text: string
  readonly isTold: boolean
}

/** The workflows that the viewers see; `null`: all. */
type Seen = ReadonlyArray<WorkflowId> | null

/** What is watched; those who watch the same share it. */
interface Watched {
  readonly account: AccountId
  readonly query: LiveRunQuery
  readonly seen: Seen
}

const textOf = (run: Run): string => JSON.stringify(itemOf(run))

/** What a look reads with. */
interface Reads {
  readonly list: ListRuns
  readonly store: RunStore["Service"]
}

/** A listing that is watched, and what its viewers have not been told yet. Mutable. */
class LiveListing {
  readonly account: AccountId
  readonly query: LiveRunQuery
  readonly #seen: Seen
  readonly #reads: Reads
  page: LivePage = { items: [], nextCursor: null }
  /** Rises with every change that viewers are told. */
  version = 0
  /** The listing cannot be read any more. */
  hasEnded = false
  #known = new Map<RunId, Known>()
  #openAt = Number.NEGATIVE_INFINITY
  #isFirst = true
  /** The last change of each run, in order. */
  readonly #changes = new Map<RunId, { readonly version: number; readonly item: RunItem }>()
  /** The version of the last change that was forgotten. */
  #forgotten = 0
  #changed = Deferred.makeUnsafe<void>()

  constructor({ account, query, seen }: Watched, reads: Reads) {
    this.account = account
    this.query = query
    this.#seen = seen
    this.#reads = reads
  }

  /** Waits for the next change. */
  get changed(): Effect.Effect<void> {
    return Deferred.await(this.#changed)
  }

  /** What has changed since a version, oldest first; nothing, if that is not known any more. */
  since(version: number): ReadonlyArray<RunItem> | undefined {
    if (version < this.#forgotten || this.hasEnded) return undefined
    if (version === this.version) return []
    const news = [...this.#changes.values()].filter((change) => change.version > version)
    return news.map(({ item }) => item)
  }

  /** Ends the streams of all viewers. */
  end(): void {
    this.hasEnded = true
    this.#wake()
  }

  /** Reads what is new, and tells it. */
  readonly look: Effect.Effect<void, LiveRefusal> = Effect.gen({ self: this }, function* () {
    const now = yield* Clock.currentTimeMillis
    const { found, page } = yield* this.#pages()
    const listed = new Set(found.map(({ id }) => id))
    const isOpenDue = now - this.#openAt >= openMillis
    const open = isOpenDue ? yield* this.#open() : []
    if (isOpenDue) this.#openAt = now
    const moved = yield* this.#moved(listed)
    const seen = new Map<RunId, Known>()
    const news: Array<RunItem> = []
    const see = (run: Run, isListed: boolean) => {
      const known = this.#known.get(run.id)
      const text = known?.run.revision === run.revision ? known.text : textOf(run)
      const isWanted = isListed || known?.isTold === true || this.#matches(run)
      const isUntold = isListed && known?.isTold !== true
      const isNew = isUntold || (known !== undefined && isWanted && text !== known.text)
      if (isNew && !this.#isFirst) news.push(itemOf(run))
      seen.set(run.id, { run, text, isTold: isListed || known?.isTold === true || isNew })
    }
    for (const run of found) see(run, true)
    for (const run of moved) see(run, false)
    for (const run of open) if (!seen.has(run.id)) see(run, false)
    this.#keep(seen)
    this.page = { items: page.items.map(itemOf), nextCursor: page.nextCursor }
    this.#isFirst = false
    this.#tell(news.toReversed())
  })

  /** The first page; and further ones, while nothing of them is known. */
  #pages() {
    const { list } = this.#reads
    return Effect.gen({ self: this }, function* () {
      const page = yield* list(this.account, this.query, this.#seen)
      const found = [...page.items]
      let last: { readonly items: ReadonlyArray<Run>; readonly nextCursor: string | null } = page
      for (let pages = 1; pages < livePagesPerLook && !this.#isFirst; pages++) {
        const reachesKnown = last.items.some(({ id }) => this.#known.has(id))
        if (reachesKnown || last.nextCursor === null) break
        const query: RunQuery = { cursor: last.nextCursor, limit: itemsPerPage }
        last = yield* list(this.account, query, this.#seen)
        found.push(...last.items)
      }
      return { page, found }
    })
  }

  /** Open runs that the listing may show or come to show, newest first. */
  #open() {
    const { search, status: _, ...filter } = this.query
    // Only the store can say what a search finds.
    if (search !== undefined) return Effect.succeed([])
    const read = (status: "RUNNING" | "QUEUED") =>
      this.#reads.list(this.account, { ...filter, status, limit: itemsPerPage }, this.#seen)
    return Effect.map(Effect.all([read("RUNNING"), read("QUEUED")]), (pages) =>
      pages.flatMap(({ items }) => items),
    )
  }

  /** The known open runs that are not listed, those that have moved as they are now. */
  #moved(listed: ReadonlySet<RunId>) {
    const open = Array.from(this.#known.values(), ({ run }) => run).filter(
      (run) => !listed.has(run.id) && !isTerminal(run.status),
    )
    const { account } = this
    const { store } = this.#reads
    return Effect.gen(function* () {
      if (open.length === 0) return open
      const asked = open.map(({ id, revision }) => {
        return { account, runId: id, after: noEvents, revision }
      })
      const ids = (yield* store.eventsOfMany(asked)).map(({ runId }) => runId)
      if (ids.length === 0) return open
      const records = yield* store.findMany(account, ids, 0)
      const fresh = new Map(records.map(({ run }) => [run.id, run]))
      return open.map((run) => fresh.get(run.id) ?? run)
    })
  }

  #matches(run: Run): boolean {
    const { search, status } = this.query
    return search === undefined && (status === undefined || status === run.status)
  }

  /** Keeps what the next look is compared with: the page, and the open runs that are the newest. */
  #keep(seen: ReadonlyMap<RunId, Known>): void {
    this.#known = new Map([...seen].slice(0, liveChangesKept))
  }

  #tell(news: ReadonlyArray<RunItem>): void {
    if (news.length === 0) return
    for (const item of news) {
      this.version += 1
      this.#changes.delete(item.id)
      this.#changes.set(item.id, { version: this.version, item })
    }
    for (const [id, { version }] of this.#changes) {
      if (this.#changes.size <= liveChangesKept) break
      this.#changes.delete(id)
      this.#forgotten = version
    }
    this.#wake()
  }

  #wake(): void {
    const told = this.#changed
    this.#changed = Deferred.makeUnsafe()
    Deferred.doneUnsafe(told, Effect.void)
  }
}

/** Looks again and again: after a commit of this process, and now and then. */
const watch = Effect.fnUntraced(function* (
  listing: LiveListing,
  looks: Semaphore.Semaphore,
  commits: Latch.Latch,
) {
  const look = Effect.gen(function* () {
    yield* commits.close
    const begun = yield* Clock.monotonicTimeNanos
    yield* Effect.matchEffect(limited("LiveRuns.look", patienceMillis)(listing.look), {
      onSuccess: () => Effect.void,
      onFailure: (error) =>
        error._tag === "StorageError"
          ? Effect.asVoid(logStorage(error))
          : Effect.sync(() => listing.end()),
    })
    return Number((yield* Clock.monotonicTimeNanos) - begun) / 1_000_000
  })
  let took = 0
  while (!listing.hasEnded) {
    const least = Math.max(shortestPauseMillis, pausesPerLook * took)
    yield* Effect.sleep(least)
    const rest = Math.max(0, longestPauseMillis - least)
    yield* Effect.raceFirst(commits.await, Effect.sleep(rest))
    took = yield* looks.withPermit(look)
  }
})

/** A viewer: the page at first, and what comes next each time that `next` is run. */
export interface LiveViewer {
  readonly page: LivePage
  readonly next: Effect.Effect<LiveNews>
}

const viewerOf = Effect.fnUntraced(function* (listing: LiveListing) {
  const isDraining = yield* IsDraining
  const { streamMillis } = yield* CurrentLimits
  const { page } = listing
  const begin = yield* Clock.currentTimeMillis
  let { version } = listing
  let heardAt = begin
  const next: Effect.Effect<LiveNews> = Effect.gen(function* () {
    while (true) {
      const now = yield* Clock.currentTimeMillis
      const news = listing.since(version)
      const isOver = news === undefined || isDraining() || now - begin >= streamMillis
      if (isOver) return "over"
      if (news.length === 0 && now - heardAt < silenceMillis) {
        yield* Effect.raceFirst(listing.changed, Effect.sleep(shortestPauseMillis))
        continue
      }
      heardAt = now
      version = listing.version
      return news.length === 0 ? "silence" : news
    }
  })
  return { page, next } satisfies LiveViewer
})

/** Makes what lets somebody watch a listing, until the scope closes. */
export const make = Effect.gen(function* () {
  const reads: Reads = { list: yield* makeListRuns, store: yield* RunStore }
  const notifier = yield* RunNotifier
  const looks = yield* Semaphore.make(liveLooksAtOnce)
  const listings = yield* RcMap.make({
    lookup: Effect.fnUntraced(function* (key: string) {
      const watched = JSON.parse(key) as Watched
      const listing = new LiveListing(watched, reads)
      const commits = yield* Latch.make(false)
      yield* notifier.listen(watched.account, () => void commits.openUnsafe())
      yield* looks.withPermit(limited("LiveRuns.look", patienceMillis)(listing.look))
      yield* Effect.forkScoped(watch(listing, looks, commits))
      return listing
    }),
  })
  return Effect.fnUntraced(function* (account: AccountId, query: LiveRunQuery, seen: Seen) {
    const fields = Object.entries(query).toSorted(([a], [b]) => (a < b ? -1 : 1))
    const watched = { account, query: Object.fromEntries(fields), seen: seen?.toSorted() ?? null }
    const key = JSON.stringify(watched)
    return yield* viewerOf(yield* RcMap.get(listings, key))
  })
})
