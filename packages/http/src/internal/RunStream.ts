/**
 * The events of a run as data and as server-sent events.
 *
 * Guarantees: a stream ends with the run. Leaves out: where events come from, which is
 * `RunFollowers`'.
 */
import type { RunRead } from "@millrace/api/RunWire"
import {
  isEnd,
  RunEvent as EventBody,
  RunSnapshot as SnapshotBody,
} from "@millrace/api/RunEventWire"
import type { AccountId } from "@millrace/core/domain/Id"
import type { RunRecord } from "@millrace/core/domain/Run"
import type { RunEvent } from "@millrace/core/domain/RunEvent"
import type { Scope } from "effect"
import { Effect, Option, Schema, Stream } from "effect"
import type { Followers, News } from "./RunFollowers.ts"

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
  readonly followers: Followers
  readonly account: AccountId
  readonly record: RunRecord
  /** How the run is shown. */
  readonly run: RunRead
  /** The number of the event after which the stream goes on. */
  readonly after: number
}

/** What is sent next, and whether more follows. */
const itemsOf = (news: News): readonly [ReadonlyArray<Item>, Option.Option<void>] => {
  if (news === "over") return [[], Option.none()]
  if (news === "silence") return [["silence"], Option.some(undefined)]
  return [news.map(bodyOf), isEnd(news.at(-1)!.type) ? Option.none() : Option.some(undefined)]
}

/** What a stream gives. Follows the run until the scope closes. */
export const items = Effect.fnUntraced(function* ({
  account,
  after,
  followers,
  record,
  run,
}: Source): Effect.fn.Return<Stream.Stream<Item>, never, Scope.Scope> {
  const { id, sequence } = record.run
  const next = yield* followers.follow(account, id, after)
  return Stream.concat(
    Stream.succeed<Item>({ sequence, run }),
    Stream.paginate<void, Item>(undefined, () => Effect.map(next, itemsOf)),
  )
})

/** The same as server-sent events; what comes at once is one text. */
export const frames = (source: Source) =>
  Effect.map(
    items(source),
    Stream.mapArray((found) => [found.map(frameOf).join("")] as const),
  )
