/**
 * A run as somebody who follows it sees it: a snapshot, and what the event stream has told since.
 *
 * Guarantees: what came already, or is older than what is known, changes nothing; so a stream may
 * break and begin anew as often as it likes. Pure. Leaves out: asking a server.
 */
import type { NodeRun, Run, StreamedEvent, StreamedNode } from "@millrace/api/PromiseClient"

/** A node began to be in a state. */
export interface NodeMove {
  readonly status: NodeRun["status"]
  readonly attempt: number
  /** Milliseconds since 1970 by the clock of the server, as far as it is known. */
  readonly at: number
}

/** A run, and what its nodes did while somebody followed it. */
export interface LiveRun {
  /** As in a summary: without inputs, outputs and logs. */
  readonly run: Run
  /** The number of the last event that is part of it. */
  readonly sequence: number
  /** Of each node that moved, its moves in order; the last {@link movesKept}. */
  readonly moves: { readonly [nodeId: string]: ReadonlyArray<NodeMove> }
}

/** How many moves of a node are kept. */
export const movesKept = 200

/** What the stream of a run with `view: "summary"` gives. */
export type StreamedItem = StreamedEvent | StreamedNode

type Event = Exclude<StreamedEvent, { readonly event: "snapshot" }>

/** True for a run that will never change again. */
export const hasEnded = ({ status }: Pick<Run, "status">): boolean =>
  status !== "QUEUED" && status !== "RUNNING"

/** True for a node that will never change again. */
export const isSettled = ({ status }: Pick<NodeRun, "status">): boolean =>
  status !== "PENDING" && status !== "RUNNING" && status !== "WAITING"

/** Milliseconds since 1970; `undefined` for a time that is not known. */
export const millisOf = (time: string | null | undefined): number | undefined =>
  time === null || time === undefined ? undefined : Date.parse(time)

/** True if what is known of a node is later than what came. */
const isNewer = (known: NodeRun, came: NodeRun): boolean =>
  (isSettled(known) && !isSettled(came)) ||
  known.attempt > came.attempt ||
  (known.status !== "PENDING" && came.status === "PENDING")

const moveOf = (node: NodeRun, at: number): NodeMove => {
  const isFirst = node.status === "RUNNING" && node.attempt <= 1
  const told = isSettled(node) ? node.finishedAt : isFirst ? node.startedAt : null
  return { status: node.status, attempt: node.attempt, at: millisOf(told) ?? at }
}

const withMove = (moves: LiveRun["moves"], node: NodeRun, at: number): LiveRun["moves"] => {
  const known = moves[node.nodeId] ?? []
  const last = known.at(-1)
  if (node.status === "PENDING") return moves
  if (last?.status === node.status && last.attempt === node.attempt) return moves
  const next = moveOf(node, at)
  // A move cannot be before the one before it, whatever the clocks say.
  const move = { ...next, at: Math.max(next.at, last?.at ?? next.at) }
  return { ...moves, [node.nodeId]: [...known, move].slice(-movesKept) }
}

const withNode = (live: LiveRun, came: NodeRun, at: number): LiveRun => {
  const known = live.run.nodes[came.nodeId]
  if (known !== undefined && isNewer(known, came)) return live
  // An ended run has no open nodes: this frame is older than the end.
  if (hasEnded(live.run) && !isSettled(came)) return live
  const nodes = { ...live.run.nodes, [came.nodeId]: came }
  return { ...live, run: { ...live.run, nodes }, moves: withMove(live.moves, came, at) }
}

const withSnapshot = (
  live: LiveRun | undefined,
  { run, sequence }: { readonly run: Run; readonly sequence: number },
  at: number,
): LiveRun => {
  if (live !== undefined && (sequence < live.sequence || hasEnded(live.run))) return live
  const nodes = Object.fromEntries(
    Object.values(run.nodes).map((came) => {
      const known = live?.run.nodes[came.nodeId]
      return [came.nodeId, known !== undefined && isNewer(known, came) ? known : came]
    }),
  )
  // Who comes late knows of no move before; what runs now has run since its start.
  const moves = Object.values(nodes).reduce(
    (all, node) =>
      live === undefined && isSettled(node)
        ? all
        : withMove(all, node, (live === undefined ? millisOf(node.startedAt) : undefined) ?? at),
    live?.moves ?? {},
  )
  return { run: { ...run, nodes }, sequence, moves }
}

const endOf = {
  "run.completed": "COMPLETED",
  "run.failed": "FAILED",
  "run.canceled": "CANCELED",
} as const

/** Nodes that were open when the run ended were canceled with it. */
const withoutOpenNodes = (nodes: Run["nodes"], at: string): Run["nodes"] =>
  Object.fromEntries(
    Object.entries(nodes).map(([id, node]) => [
      id,
      isSettled(node) ? node : { ...node, status: "CANCELED", dueAt: null, finishedAt: at },
    ]),
  )

const withEnd = (live: LiveRun, event: Event, status: Run["status"]): LiveRun => {
  const { createdAt, data, error } = event.data
  const { actualCredits } = data as { readonly actualCredits?: unknown }
  const nodes = withoutOpenNodes(live.run.nodes, createdAt)
  const ended = {
    ...live.run,
    status,
    error,
    nodes,
    finishedAt: createdAt,
    actualCredits: typeof actualCredits === "number" ? actualCredits : live.run.actualCredits,
  }
  const at = Date.parse(createdAt)
  const moves = Object.values(nodes).reduce(
    (all, node) => (node.startedAt === null ? all : withMove(all, node, at)),
    live.moves,
  )
  return { ...live, run: ended, moves }
}

const withEvent = (live: LiveRun, event: Event, at: number): LiveRun => {
  const { createdAt, data, error, sequence } = event.data
  if (sequence <= live.sequence) return live
  const next = { ...live, sequence }
  if (event.event === "run.started") {
    return { ...next, run: { ...live.run, status: "RUNNING", startedAt: createdAt } }
  }
  if (event.event !== "node.completed" && event.event !== "node.failed") {
    return withEnd(next, event, endOf[event.event])
  }
  const told = data as {
    readonly nodeId: string
    readonly attempt: number
    readonly status: string
  }
  const known = live.run.nodes[told.nodeId]
  // A frame has told of it already, with more than the event knows.
  if (known === undefined || isSettled(known)) return next
  const status = event.event === "node.completed" ? ("COMPLETED" as const) : ("FAILED" as const)
  const ended = { status, error, attempt: told.attempt, dueAt: null, finishedAt: createdAt }
  return withNode(next, { ...known, ...ended }, at)
}

/**
 * The run after one more item of its stream. `at` is the time by the server's clock as far as it is
 * known. `undefined` as long as no snapshot has come.
 */
export const followed = (
  live: LiveRun | undefined,
  item: StreamedItem,
  at: number,
): LiveRun | undefined => {
  if (item.event === "snapshot") return withSnapshot(live, item.data, at)
  if (live === undefined) return undefined
  return item.event === "node" ? withNode(live, item.data, at) : withEvent(live, item, at)
}

/** The latest time that an item of a stream tells of; `undefined` if it tells of none. */
export const latestTimeIn = (item: StreamedItem): number | undefined => {
  if (item.event !== "snapshot" && item.event !== "node") return Date.parse(item.data.createdAt)
  const nodes = item.event === "node" ? [item.data] : Object.values(item.data.run.nodes)
  const run = item.event === "node" ? [] : [item.data.run.createdAt, item.data.run.finishedAt]
  const times = [...nodes.flatMap((node) => [node.startedAt, node.finishedAt]), ...run]
  const known = times.flatMap((time) => millisOf(time) ?? [])
  return known.length === 0 ? undefined : Math.max(...known)
}

/**
 * By how many milliseconds the server's clock is ahead of the viewer's. An event that has just come
 * is about as old as nothing; a snapshot says only what time it is at least.
 */
export const clockOffset = (known: number, item: StreamedItem, here: number): number => {
  const latest = latestTimeIn(item)
  if (latest === undefined) return known
  const ahead = latest - here
  return item.event === "snapshot" ? Math.max(known, ahead) : ahead
}
