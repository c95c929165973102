/**
 * When each node of a run was ready, ran and waited, on one scale.
 *
 * Guarantees: rows are in the order of execution, and no span begins before the run or ends after
 * the last moment of the scale. Pure. Leaves out: drawing, and what nobody has told: the attempts
 * of a node that ended before anybody looked are one span.
 */
import type { NodeRun, RunDefinition } from "@millrace/api/PromiseClient"
import type { LiveRun, NodeMove } from "./LiveRun.ts"
import { hasEnded, isSettled, millisOf } from "./LiveRun.ts"

/** `queued`: everything before it had ended. `waiting`: between attempts, or for a message. */
export type SpanKind = "queued" | "running" | "waiting"

/** A part of a row, in milliseconds since 1970. */
export interface TimelineSpan {
  readonly kind: SpanKind
  /** 0 before the first attempt. */
  readonly attempt: number
  readonly from: number
  readonly to: number
}

/** One node. */
export interface TimelineRow {
  readonly node: NodeRun
  readonly spans: ReadonlyArray<TimelineSpan>
  /** From its start to its end, or to now; `undefined` if it has not started. */
  readonly millis: number | undefined
}

/** A run on a scale of milliseconds since 1970. */
export interface RunTimeline {
  readonly from: number
  readonly to: number
  /** How long the run itself was queued. */
  readonly queuedMillis: number
  readonly rows: ReadonlyArray<TimelineRow>
  /** Round distances from `from`, at most eight. */
  readonly ticks: ReadonlyArray<number>
}

/** A wait that is shorter than this is none. */
const shortestQueue = 20

const stepsOfTicks = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 15_000]
const minute = 60_000
const longSteps = [0.5, 1, 2, 5, 10, 15, 30, 60, 120, 360, 720, 1_440, 2_880, 10_080]
const allSteps = [...stepsOfTicks, ...longSteps.map((minutes) => minutes * minute)]

/** Round distances from the beginning of a scale of so many milliseconds. */
export const ticksOf = (millis: number): ReadonlyArray<number> => {
  const step = allSteps.find((each) => millis / each <= 7) ?? millis / 7
  return Array.from({ length: Math.floor(millis / step) + 1 }, (_, index) => index * step)
}

const kindOf = ({ status }: NodeMove): SpanKind => (status === "WAITING" ? "waiting" : "running")

const spansOfMoves = (
  moves: ReadonlyArray<NodeMove>,
  start: number,
  end: number,
): ReadonlyArray<TimelineSpan> => {
  const spans = moves.flatMap((move, index): ReadonlyArray<TimelineSpan> => {
    if (isSettled(move)) return []
    const to = Math.max(move.at, moves[index + 1]?.at ?? end)
    return [{ kind: kindOf(move), attempt: move.attempt, from: move.at, to }]
  })
  const first = spans[0]!
  if (first.kind === "running") return [{ ...first, from: start }, ...spans.slice(1)]
  // It ran before it waited, though nobody was told.
  return [{ kind: "running", attempt: first.attempt, from: start, to: first.from }, ...spans]
}

/** When the last node that leads to this one had ended. */
const readyAt = (live: LiveRun, sources: ReadonlyArray<string>, begin: number): number =>
  sources.reduce(
    (latest, id) => Math.max(latest, millisOf(live.run.nodes[id]?.finishedAt) ?? latest),
    begin,
  )

const rowOf = (
  live: LiveRun,
  node: NodeRun,
  sources: ReadonlyArray<string>,
  begin: number,
  now: number,
): TimelineRow => {
  const start = millisOf(node.startedAt)
  const isIdle = start === undefined || node.status === "SKIPPED"
  if (isIdle) return { node, spans: [], millis: undefined }
  const end = Math.max(start, millisOf(node.finishedAt) ?? now)
  const ready = Math.min(start, readyAt(live, sources, begin))
  const queued: TimelineSpan = { kind: "queued", attempt: 0, from: ready, to: start }
  const moves = live.moves[node.nodeId] ?? []
  const whole: TimelineSpan = { kind: "running", attempt: node.attempt, from: start, to: end }
  const spans = moves.some((move) => !isSettled(move)) ? spansOfMoves(moves, start, end) : [whole]
  return {
    node,
    spans: start - ready >= shortestQueue ? [queued, ...spans] : spans,
    millis: end - start,
  }
}

const emptyTimeline = (from: number): RunTimeline => ({
  from,
  to: from + 1,
  queuedMillis: 0,
  rows: [],
  ticks: [0],
})

/** The timeline of a run at a time by the server's clock, in milliseconds since 1970. */
export const timelineOf = (
  live: LiveRun | undefined,
  definition: Pick<RunDefinition, "nodes" | "edges"> | undefined,
  now: number,
): RunTimeline => {
  if (live === undefined) return emptyTimeline(now)
  const { run } = live
  const created = Date.parse(run.createdAt)
  const begin = millisOf(run.startedAt) ?? (hasEnded(run) ? created : now)
  const end = Math.max(created + 1, millisOf(run.finishedAt) ?? now)
  const sources = Map.groupBy(definition?.edges ?? [], ({ target }) => target)
  const known = definition?.nodes.map(({ id }) => id) ?? Object.keys(run.nodes)
  const rows = known.flatMap((id) => {
    const node = run.nodes[id]
    const before = sources.get(id)?.map(({ source }) => source) ?? []
    return node === undefined ? [] : [rowOf(live, node, before, begin, now)]
  })
  return {
    from: created,
    to: end,
    queuedMillis: Math.max(0, begin - created),
    rows: rows.map((row) => ({
      ...row,
      spans: row.spans.map((span) => within(span, created, end)),
    })),
    ticks: ticksOf(end - created),
  }
}

const within = (span: TimelineSpan, from: number, to: number): TimelineSpan => ({
  ...span,
  from: Math.min(to, Math.max(from, span.from)),
  to: Math.min(to, Math.max(from, span.to)),
})
