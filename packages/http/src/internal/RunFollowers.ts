/**
 * Everybody in this process who follows a run, and one loop that looks for what is new, for all of
 * them together.
 *
 * Guarantees: however many follow, the store is asked twenty times a second at most whether there
 * is something new. When this process has committed to a run that is followed, the store is read
 * within milliseconds, for a quarter of the time at most, so a slow store is read less often. Each
 * follower gets every event once, in order; a store that does not answer delays events and loses
 * none. A follower who does not ask gets nothing, so nothing gathers for one who is slow. A run is
 * read whole only when it has moved and somebody follows its nodes, once for all of them. Leaves
 * out: whether the run is there.
 */
import type { NodeRun as WireNodeRun } from "@millrace/api/RunWire"
import type { AccountId, RunId } from "@millrace/core/domain/Id"
import { CurrentLimits, followerReadsAtOnce, followersPerRead } from "@millrace/core/domain/Limits"
import type { RunRecord } from "@millrace/core/domain/Run"
import type { RunEvent } from "@millrace/core/domain/RunEvent"
import { RunNotifier } from "@millrace/core/engine/RunNotifier"
import { monotonicMillis } from "@millrace/core/engine/StoreClock"
import { limited } from "@millrace/core/engine/StoreDeadline"
import { RunStore } from "@millrace/core/ports/RunStore"
import type { EventsFound, EventsRequest } from "@millrace/core/ports/RunStore"
import { Clock, Effect, Latch, Option, type Scope } from "effect"
import { logStorage } from "../Errors.ts"
import { IsDraining } from "../Health.ts"
import type { NodeProgress } from "./NodeProgress.ts"

/** How long the store is left alone about a run after it had something new of it. */
const shortestPauseMillis = 100

/** How long it is left alone about a run at most. */
const longestPauseMillis = 1_000

/** How long it is left alone between two reads, unless this process has committed something. */
const betweenReadsMillis = 50

/** How long it is left alone after a read in any case: so many times the duration of the read. */
const restsPerRead = 3

/** How far reads are apart at least, once some have followed each other at once. */
const spacingMillis = 4

/** After so long without an event a follower is told so. */
const silenceMillis = 15_000

/** How long one read may take. */
const patienceMillis = 5_000

/**
 * What a follower hears: nodes that have moved and events, that nothing has come for long, or that
 * this is the end. Nodes come before events, so that the end of the run is last.
 */
export type News = ReadonlyArray<WireNodeRun | RunEvent> | "silence" | "over"

/** Somebody who follows a run. Mutable. */
interface Follower {
  readonly account: AccountId
  readonly runId: RunId
  /** The number of the last event that it has. */
  after: number
  /** What it knows of the nodes; `undefined` if it follows the events alone. */
  readonly progress: NodeProgress | undefined
  /** Who waits for the next answer; none while the last one is being sent. */
  tell: ((news: News) => void) | undefined
  /** When the store is asked next; 0 after this process has committed to the run. */
  readAt: number
  pauseMillis: number
  heardAt: number
  readonly isOver: (now: number) => boolean
}

/** The next request of each run: several who follow it may have come to different places. */
const requestsOf = (followers: ReadonlyArray<Follower>): ReadonlyArray<EventsRequest> => {
  const requests = new Map<RunId, EventsRequest>()
  for (const { account, after, progress, runId } of followers) {
    const known = requests.get(runId)
    const first = Math.min(after, known?.after ?? after)
    const own = progress?.revision
    // Who knows the least decides: the others compare for themselves.
    const revision = Math.min(own ?? Infinity, known?.revision ?? Infinity)
    const asked = revision === Infinity ? {} : { revision }
    requests.set(runId, { account, runId, after: first, ...asked })
  }
  return [...requests.values()]
}

/** True if the follower needs the record of the run to go on. */
const needsRecord = ({ progress }: Follower, found: EventsFound | undefined): boolean =>
  progress !== undefined && found !== undefined && found.revision > progress.revision

/**
 * Gives a follower what is new of its run, or says that there is nothing where it is time for that.
 */
const answer = (
  follower: Follower,
  events: ReadonlyArray<RunEvent>,
  now: number,
  record?: RunRecord,
): void => {
  const fresh = events.filter(({ sequence }) => sequence > follower.after)
  // Who has hung up meanwhile is told nothing.
  const isAsking = follower.tell !== undefined
  const nodes = record === undefined || !isAsking ? [] : (follower.progress?.take(record) ?? [])
  const told = [...nodes, ...fresh]
  const isQuiet = now - follower.heardAt >= silenceMillis
  const news = told.length > 0 ? told : follower.isOver(now) ? "over" : isQuiet && "silence"
  follower.pauseMillis =
    told.length > 0 ? shortestPauseMillis : Math.min(2 * follower.pauseMillis, longestPauseMillis)
  // What was committed while the store was read may not be among what it gave.
  if (follower.readAt !== 0) follower.readAt = now + follower.pauseMillis
  if (news === false || follower.tell === undefined) return
  follower.after = fresh.at(-1)?.sequence ?? follower.after
  follower.heardAt = now
  const { tell } = follower
  follower.tell = undefined
  tell(news)
}

/** Those who follow runs in this process. Mutable. */
export class Followers {
  readonly #all = new Set<Follower>()
  readonly #store: RunStore["Service"]
  readonly #notifier: RunNotifier["Service"]
  readonly #clock: Clock.Clock
  readonly #work = Latch.makeUnsafe(false)
  /** When the last read began, and when the next may: at once for what was committed here. */
  #lastReadAt = 0
  #restUntil = 0
  /** When the next read would be due if reads came evenly. */
  #evenAt = 0

  constructor(store: RunStore["Service"], notifier: RunNotifier["Service"], clock: Clock.Clock) {
    this.#store = store
    this.#notifier = notifier
    this.#clock = clock
  }

  /**
   * Follows a run from the event with this number on, until the scope closes: what comes next, each
   * time that it is run. With `progress`, its nodes are followed, too.
   */
  follow(
    account: AccountId,
    runId: RunId,
    after: number,
    progress?: NodeProgress,
  ): Effect.Effect<Effect.Effect<News>, never, Scope.Scope> {
    return Effect.gen({ self: this }, function* () {
      const isDraining = yield* IsDraining
      const { streamMillis } = yield* CurrentLimits
      const begin = this.#now()
      const follower: Follower = {
        account,
        runId,
        after,
        progress,
        tell: undefined,
        readAt: 0,
        pauseMillis: shortestPauseMillis,
        heardAt: begin,
        isOver: (now) => isDraining() || now - begin >= streamMillis,
      }
      this.#all.add(follower)
      yield* Effect.addFinalizer(() => Effect.sync(() => this.#all.delete(follower)))
      yield* this.#notifier.listen(runId, () => {
        follower.readAt = 0
        Latch.openUnsafe(this.#work)
      })
      return this.#next(follower)
    })
  }

  /** Reads for those whose time has come, again and again. */
  readonly loop: Effect.Effect<never> = Effect.forever(
    Effect.suspend(() => {
      this.#work.closeUnsafe()
      const millis = this.#earliest() - this.#now()
      return millis > 0 ? this.#pause(millis) : this.#read(this.#due())
    }),
  )

  #now(): number {
    return this.#clock.currentTimeMillisUnsafe()
  }

  #next(follower: Follower): Effect.Effect<News> {
    return Effect.callback((resume) => {
      follower.tell = (news) => resume(Effect.succeed(news))
      Latch.openUnsafe(this.#work)
      return Effect.sync(() => {
        follower.tell = undefined
      })
    })
  }

  /** Those for whom it is time. What is committed from here on makes their time come anew. */
  #due(): ReadonlyArray<Follower> {
    const now = this.#now()
    const due: Array<Follower> = []
    for (const follower of this.#all) {
      if (follower.tell === undefined || follower.readAt > now) continue
      follower.readAt = now + follower.pauseMillis
      if (due.push(follower) === followersPerRead) break
    }
    return due
  }

  #read(due: ReadonlyArray<Follower>): Effect.Effect<void> {
    const begun = monotonicMillis(this.#clock)
    this.#lastReadAt = this.#now()
    return this.#store.eventsOfMany(requestsOf(due)).pipe(
      limited("RunStore.eventsOfMany", patienceMillis),
      Effect.catch((error) => Effect.as(logStorage(error), [])),
      Effect.flatMap((all) => {
        const found = new Map(all.map((each) => [each.runId, each]))
        const now = this.#now()
        const moved: Array<Follower> = []
        for (const each of due) {
          const of = found.get(each.runId)
          if (needsRecord(each, of)) moved.push(each)
          else answer(each, of?.events ?? [], now)
        }
        return this.#tellMoved(moved, found)
      }),
      Effect.map(() => {
        const now = this.#now()
        const rest = restsPerRead * (monotonicMillis(this.#clock) - begun)
        const earliest = now - followerReadsAtOnce * spacingMillis
        this.#evenAt = Math.max(this.#evenAt, earliest) + spacingMillis
        this.#restUntil = Math.max(now + rest, this.#evenAt)
      }),
    )
  }

  /**
   * Reads the runs of these followers one after the other, so that one record is held at a time.
   * A record is as new as the events or newer, so nothing is left to tell after a run's last event.
   */
  #tellMoved(
    moved: ReadonlyArray<Follower>,
    found: ReadonlyMap<RunId, EventsFound>,
  ): Effect.Effect<void> {
    const ofRuns = Map.groupBy(moved, ({ runId }) => runId)
    return Effect.forEach(
      ofRuns,
      ([runId, followers]) =>
        this.#store.find(followers[0]!.account, runId).pipe(
          limited("RunStore.find", patienceMillis),
          Effect.catch((error) => Effect.as(logStorage(error), Option.none<RunRecord>())),
          Effect.map((record) => {
            const now = this.#now()
            // Without the record, the events have to wait for it.
            const events = Option.isSome(record) ? found.get(runId)!.events : []
            for (const each of followers) answer(each, events, now, Option.getOrUndefined(record))
          }),
        ),
      { discard: true },
    )
  }

  /** When the next read is due: never, if nobody asks. */
  #earliest(): number {
    let next = Number.POSITIVE_INFINITY
    for (const { readAt, tell } of this.#all) {
      if (tell === undefined) continue
      // What was committed here need not wait for the others.
      const from = readAt === 0 ? this.#restUntil : this.#lastReadAt + betweenReadsMillis
      next = Math.min(next, Math.max(readAt, from))
    }
    return next
  }

  /** Waits for so long, or until something happens. */
  #pause(millis: number): Effect.Effect<void> {
    const opened = this.#work.await
    return millis === Number.POSITIVE_INFINITY
      ? opened
      : Effect.raceFirst(opened, Effect.sleep(millis))
  }
}

/** Begins to look for what is new, until the scope closes. */
export const make = Effect.gen(function* () {
  const followers = new Followers(yield* RunStore, yield* RunNotifier, yield* Clock.Clock)
  yield* Effect.forkScoped(followers.loop)
  return followers
})
