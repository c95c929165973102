/**
 * The events of a run, runs that change, and who has a workflow open, as data and as server-sent
 * events.
 *
 * Guarantees: a stream of a run ends with it. Leaves out: finding what is new; `RunFollowers`,
 * `LiveRuns` and `OpenWorkflows` do that.
 */
import { Presence, StoredRevision } from "@millrace/api/PresenceWire"
import { pageOf } from "@millrace/api/PageQuery"
import type { NodeRun, RunRead } from "@millrace/api/RunWire"
import { NodeRun as NodeBody, RunItem } from "@millrace/api/RunWire"
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
import type { LiveNews, LivePage, LiveViewer } from "./LiveRuns.ts"
import type { WorkflowItem, WorkflowNews } from "./OpenWorkflows.ts"
import { NodeProgress } from "./NodeProgress.ts"
import type { Followers, News } from "./RunFollowers.ts"

const written = { disableChecks: true } as const
const snapshotText = Schema.encodeSync(Schema.fromJsonString(Schema.toCodecJson(SnapshotBody)))
const nodeText = Schema.encodeSync(Schema.fromJsonString(Schema.toCodecJson(NodeBody)))
const eventText = Schema.encodeSync(Schema.fromJsonString(Schema.toCodecJson(EventBody)))

/** An event on the wire. */
const bodyOf = ({ at, ...event }: RunEvent): EventBody => ({
  ...event,
  success: event.error === null,
  createdAt: at,
})

const frameOf = (item: Item): string => {
  if (item === "silence") return ":\n\n"
  if ("run" in item) return `event: snapshot\ndata: ${snapshotText(item, written)}\n\n`
  if ("nodeId" in item) return `event: node\ndata: ${nodeText(item, written)}\n\n`
  return `id: ${item.sequence}\nevent: ${item.type}\ndata: ${eventText(item, written)}\n\n`
}

/** An item of a stream: the run, a node that has moved, an event, or a sign of long silence. */
export type Item = SnapshotBody | NodeRun | EventBody | "silence"

/** The run of a stream, and where the stream begins. */
export interface Source {
  readonly followers: Followers
  readonly account: AccountId
  readonly record: RunRecord
  /** The run on the wire. */
  readonly run: RunRead
  /** True if the stream tells of each node that moves. */
  readonly withNodes: boolean
  /** The number of the event before the first of the stream. */
  readonly after: number
}

/** The next items, and whether more follow. */
const itemsOf = (news: News): readonly [ReadonlyArray<Item>, Option.Option<void>] => {
  if (news === "over") return [[], Option.none()]
  if (news === "silence") return [["silence"], Option.some(undefined)]
  const last = news.at(-1)!
  const isOver = !("nodeId" in last) && isEnd(last.type)
  const found = news.map((each) => ("nodeId" in each ? each : bodyOf(each)))
  return [found, isOver ? Option.none() : Option.some(undefined)]
}

/** The items of a stream. Follows the run until the scope closes. */
export const items = Effect.fnUntraced(function* ({
  account,
  after,
  followers,
  record,
  run,
  withNodes,
}: Source): Effect.fn.Return<Stream.Stream<Item>, never, Scope.Scope> {
  const { id, sequence } = record.run
  const progress = withNodes ? new NodeProgress(record) : undefined
  const next = yield* followers.follow(account, id, after, progress)
  return Stream.concat(
    Stream.succeed<Item>({ sequence, run }),
    Stream.paginate<void, Item>(undefined, () => Effect.map(next, itemsOf)),
  )
})

const pageText = Schema.encodeSync(Schema.fromJsonString(Schema.toCodecJson(pageOf(RunItem))))
const runText = Schema.encodeSync(Schema.fromJsonString(Schema.toCodecJson(RunItem)))

/** An item of a stream of runs: the page, a run that has changed, or a sign of long silence. */
export type LiveItem = LivePage | RunItem | "silence"

const liveFrameOf = (item: LiveItem): string => {
  if (item === "silence") return ":\n\n"
  return "items" in item
    ? `event: page\ndata: ${pageText(item, written)}\n\n`
    : `event: run\ndata: ${runText(item, written)}\n\n`
}

const liveItemsOf = (news: LiveNews): readonly [ReadonlyArray<LiveItem>, Option.Option<void>] => {
  if (news === "over") return [[], Option.none()]
  return [news === "silence" ? [news] : news, Option.some(undefined)]
}

/** The items of a stream of runs. */
export const liveItems = ({ next, page }: LiveViewer): Stream.Stream<LiveItem> =>
  Stream.concat(
    Stream.succeed<LiveItem>(page),
    Stream.paginate<void, LiveItem>(undefined, () => Effect.map(next, liveItemsOf)),
  )

/** The same as server-sent events. */
export const liveFrames = (viewer: LiveViewer): Stream.Stream<string> =>
  Stream.mapArray(liveItems(viewer), (found) => [found.map(liveFrameOf).join("")] as const)

const presenceText = Schema.encodeSync(Schema.fromJsonString(Schema.toCodecJson(Presence)))
const storedText = Schema.encodeSync(Schema.fromJsonString(Schema.toCodecJson(StoredRevision)))

const workflowFrameOf = (item: WorkflowItem): string => {
  if (item === "silence") return ":\n\n"
  return "people" in item
    ? `event: presence\ndata: ${presenceText(item, written)}\n\n`
    : `event: revision\ndata: ${storedText(item, written)}\n\n`
}

/** The items of the stream of a workflow. */
export const workflowItems = (next: Effect.Effect<WorkflowNews>): Stream.Stream<WorkflowItem> =>
  Stream.paginate<void, WorkflowItem>(undefined, () =>
    Effect.map(next, (news) =>
      news === "over" ? [[], Option.none()] : [news, Option.some(undefined)],
    ),
  )

/** The same as server-sent events. */
export const workflowFrames = (next: Effect.Effect<WorkflowNews>): Stream.Stream<string> =>
  Stream.mapArray(workflowItems(next), (found) => [found.map(workflowFrameOf).join("")] as const)

/** The items of a run's stream as server-sent events. Items that come together are one text. */
export const frames = (source: Source) =>
  Effect.map(
    items(source),
    Stream.mapArray((found) => [found.map(frameOf).join("")] as const),
  )
