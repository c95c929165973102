/**
 * The events of a run from the store, as data and as server-sent events: looked for at once where
 * this process commits to the run, and from time to time wherever else it may execute.
 *
 * Guarantees: the number of events is that of the store, and none is left out or sent twice; a
 * store that does not answer delays events and loses none. Leaves out: whether the run is there.
 */
import type { RunRead } from "@millrace/api/RunWire"
import {
  isEnd,
  RunEvent as EventBody,
  RunSnapshot as SnapshotBody,
} from "@millrace/api/RunEventWire"
import type { AccountId } from "@millrace/core/domain/Id"
import { CurrentLimits } from "@millrace/core/domain/Limits"
import type { RunRecord } from "@millrace/core/domain/Run"
import type { RunEvent } from "@millrace/core/domain/RunEvent"
import type { RunNotifier } from "@millrace/core/engine/RunNotifier"
import { limited } from "@millrace/core/engine/StoreDeadline"
import type { RunStore } from "@millrace/core/ports/RunStore"
import type { Latch, Scope } from "effect"
import { Clock, Effect, Option, Schema, Stream } from "effect"
import { logStorage } from "../Errors.ts"
import { IsDraining } from "../Health.ts"

/** How long the store is left alone after it had something new. */
const shortestPauseMillis = 100

/** How long it is left alone at most. */
const longestPauseMillis = 1_000

/** After so long without an event something is sent, so that nobody takes the line for dead. */
const keepAliveMillis = 15_000

/** How long one look at the store may take. */
const patienceMillis = 5_000

const written = { disableChecks: true } as const
const snapshotText = Schema.encodeSync(Schema.fromJsonString(Schema.toCodecJson(SnapshotBody)))
const eventText = Schema.encodeSync(Schema.fromJsonString(Schema.toCodecJson(EventBody)))

/** An event as it is told. */
const bodyOf = ({ at, ...event }: RunEvent): EventBody => ({
  ...event,
  success: event.error === null,
  createdAt: at,
})

const frameOf = (item: Item): string => {
  if (item === "silence") return ":\n\n"
  if ("run" in item) return `event: snapshot\ndata: ${snapshotText(item, written)}\n\n`
  return `id: ${item.sequence}\nevent: ${item.type}\ndata: ${eventText(item, written)}\n\n`
}

/** What a stream gives: the run as it is, its events, and that nothing has come for long. */
export type Item = SnapshotBody | EventBody | "silence"

/** What a stream is of. */
export interface Source {
  readonly store: RunStore["Service"]
  readonly notifier: RunNotifier["Service"]
  readonly account: AccountId
  readonly record: RunRecord
  /** How the run is shown. */
  readonly run: RunRead
  /** The number of the event after which the stream goes on. */
  readonly after: number
}

/** How far a stream has come. */
interface Place {
  readonly after: number
  readonly pauseMillis: number
  readonly sentAt: number
}

/** The next events; none where the store does not answer. */
const look = ({ account, record, store }: Source, after: number) =>
  store.events(account, record.run.id, after).pipe(
    limited("RunStore.events", patienceMillis),
    Effect.catch((error) => Effect.as(logStorage(error), [])),
  )

type Step = readonly [ReadonlyArray<Item>, Option.Option<Place>]

/** What is sent next, and from where to go on. */
const step = (source: Source, latch: Latch.Latch, isOver: (now: number) => boolean) =>
  Effect.fnUntraced(function* ({ after, pauseMillis, sentAt }: Place): Effect.fn.Return<Step> {
    const now = yield* Clock.currentTimeMillis
    // Closed before looking: what is committed from here on opens it again.
    latch.closeUnsafe()
    const events = yield* look(source, after)
    const last = events.at(-1)
    if (last !== undefined) {
      const next = { after: last.sequence, pauseMillis: shortestPauseMillis, sentAt: now }
      return [events.map(bodyOf), isEnd(last.type) ? Option.none() : Option.some(next)]
    }
    if (isOver(now)) return [[], Option.none()]
    yield* Effect.raceFirst(latch.await, Effect.sleep(pauseMillis))
    const longer = Math.min(2 * pauseMillis, longestPauseMillis)
    const isQuiet = now - sentAt >= keepAliveMillis
    const place = { after, pauseMillis: longer, sentAt: isQuiet ? now : sentAt }
    return [isQuiet ? ["silence"] : [], Option.some(place)]
  })

/** What a stream gives. Listens until the scope closes. */
export const items = Effect.fnUntraced(function* (
  source: Source,
): Effect.fn.Return<Stream.Stream<Item>, never, Scope.Scope> {
  const { run } = source.record
  const latch = yield* source.notifier.listen(run.id)
  const isDraining = yield* IsDraining
  const { streamMillis } = yield* CurrentLimits
  const begin = yield* Clock.currentTimeMillis
  const isOver = (now: number) => isDraining() || now - begin >= streamMillis
  const place = { after: source.after, pauseMillis: shortestPauseMillis, sentAt: begin }
  return Stream.concat(
    Stream.succeed<Item>({ sequence: run.sequence, run: source.run }),
    Stream.paginate<Place, Item>(place, step(source, latch, isOver)),
  )
})

/** The same as server-sent events; what comes at once is one text. */
export const frames = (source: Source) =>
  Effect.map(
    items(source),
    Stream.mapArray((found) => [found.map(frameOf).join("")] as const),
  )
