/**
 * Everybody in this process who follows a run, and one loop that looks for what is new, for all of
 * them together.
 *
 * Guarantees: however many follow, the store is asked at most twenty times a second, and at once
 * where this process has committed to a run; each follower gets every event once, in order; a store
 * that does not answer delays events and loses none. A follower who does not ask gets nothing, so
 * nothing gathers for one who is slow. Leaves out: whether the run is there.
 */
import type { AccountId, RunId } from "@millrace/core/domain/Id"
import { CurrentLimits, followersPerRead } from "@millrace/core/domain/Limits"
import type { RunEvent } from "@millrace/core/domain/RunEvent"
import { RunNotifier } from "@millrace/core/engine/RunNotifier"
import { limited } from "@millrace/core/engine/StoreDeadline"
import { RunStore } from "@millrace/core/ports/RunStore"
import type { EventsRequest } from "@millrace/core/ports/RunStore"
import { Clock, Effect, Latch, type Scope } from "effect"
import { logStorage } from "../Errors.ts"
import { IsDraining } from "../Health.ts"

/** How long the store is left alone about a run after it had something new of it. */
const shortestPauseMillis = 100

/** How long it is left alone about a run at most. */
const longestPauseMillis = 1_000

/** How long it is left alone at least. */
const betweenReadsMillis = 50

/** After so long without an event a follower is told so. */
const silenceMillis = 15_000

/** How long one read may take. */
const patienceMillis = 5_000

/** What a follower hears: events, that nothing has come for long, or that this is the end. */
export type News = ReadonlyArray<RunEvent> | "silence" | "over"

/** Somebody who follows a run. Mutable. */
interface Follower {
  readonly account: AccountId
  readonly runId: RunId
  /** The number of the last event that it has. */
  after: number
  /** Who waits for the next answer; none while the last one is being sent. */
  tell: ((news: News) => void) | undefined
  readAt: number
  pauseMillis: number
  heardAt: number
  readonly isOver: (now: number) => boolean
}

/** The next request of each run: several who follow it may have come to different places. */
const requestsOf = (followers: ReadonlyArray<Follower>): ReadonlyArray<EventsRequest> => {
  const requests = new Map<RunId, EventsRequest>()
  for (const { account, after, runId } of followers) {
    const known = requests.get(runId)
    if (known === undefined || after < known.after) requests.set(runId, { account, runId, after })
  }
  return [...requests.values()]
}

/** Gives a follower its events, or says that there are none where it is time for that. */
const answer = (follower: Follower, events: ReadonlyArray<RunEvent>, now: number): void => {
  const fresh = events.filter(({ sequence }) => sequence > follower.after)
  const isQuiet = now - follower.heardAt >= silenceMillis
  const news = fresh.length > 0 ? fresh : follower.isOver(now) ? "over" : isQuiet && "silence"
  follower.pauseMillis =
    fresh.length > 0 ? shortestPauseMillis : Math.min(2 * follower.pauseMillis, longestPauseMillis)
  follower.readAt = Math.max(follower.readAt, now + follower.pauseMillis)
  if (news === false || follower.tell === undefined) return
  follower.after = fresh.at(-1)?.sequence ?? follower.after
  follower.heardAt = now
  const { tell } = follower
  follower.tell = undefined
  tell(news)
}

/** Those who follow runs in this process. */
export type Followers = Effect.Success<typeof make>

/** Begins to look for what is new, until the scope closes. */
export const make = Effect.gen(function* () {
  const store = yield* RunStore
  const notifier = yield* RunNotifier
  const isDraining = yield* IsDraining
  const { streamMillis } = yield* CurrentLimits
  const clock = yield* Clock.Clock
  const now = () => clock.currentTimeMillisUnsafe()
  const followers = new Set<Follower>()
  const work = Latch.makeUnsafe(false)

  const read = Effect.fnUntraced(function* (due: ReadonlyArray<Follower>) {
    const found = yield* store.eventsOfMany(requestsOf(due)).pipe(
      limited("RunStore.eventsOfMany", patienceMillis),
      Effect.catch((error) => Effect.as(logStorage(error), [])),
    )
    const events = new Map(found.map((each) => [each.runId, each.events]))
    for (const follower of due) answer(follower, events.get(follower.runId) ?? [], now())
  })

  /** Reads for those whose time has come; answers when the next one's has. */
  const pass = Effect.gen(function* () {
    const at = now()
    const waiting = [...followers].filter(({ tell }) => tell !== undefined)
    const due = waiting.filter(({ readAt }) => readAt <= at).slice(0, followersPerRead)
    // What is committed from here on makes the time come anew.
    for (const follower of due) follower.readAt = at + follower.pauseMillis
    if (due.length > 0) {
      yield* read(due)
      yield* Effect.sleep(betweenReadsMillis)
    }
    let next = Number.POSITIVE_INFINITY
    for (const { readAt, tell } of followers) if (tell !== undefined) next = Math.min(next, readAt)
    return next
  })

  const hurry = (follower: Follower) => {
    follower.readAt = 0
    Latch.openUnsafe(work)
  }

  const loop = Effect.gen(function* () {
    work.closeUnsafe()
    const next = yield* pass
    const millis = next - now()
    if (millis <= 0) return
    const isUnlimited = millis === Number.POSITIVE_INFINITY
    yield* isUnlimited ? work.await : Effect.raceFirst(work.await, Effect.sleep(millis))
  })
  yield* Effect.forkScoped(Effect.forever(loop))

  const add = (account: AccountId, runId: RunId, after: number): Follower => {
    const begin = now()
    const follower: Follower = {
      account,
      runId,
      after,
      tell: undefined,
      readAt: 0,
      pauseMillis: shortestPauseMillis,
      heardAt: begin,
      isOver: (at) => isDraining() || at - begin >= streamMillis,
    }
    followers.add(follower)
    return follower
  }

  /**
   * Follows a run from the event with this number on, until the scope closes: what comes next, each
   * time that it is run.
   */
  const follow = Effect.fnUntraced(function* (
    account: AccountId,
    runId: RunId,
    after: number,
  ): Effect.fn.Return<Effect.Effect<News>, never, Scope.Scope> {
    const follower = yield* Effect.acquireRelease(
      Effect.sync(() => add(account, runId, after)),
      (each) => Effect.sync(() => followers.delete(each)),
    )
    yield* notifier.listen(runId, () => hurry(follower))
    return Effect.callback<News>((resume) => {
      follower.tell = (news) => resume(Effect.succeed(news))
      Latch.openUnsafe(work)
      return Effect.sync(() => {
        follower.tell = undefined
      })
    })
  })
  return { follow }
})
