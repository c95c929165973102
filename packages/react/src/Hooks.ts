/**
 * Hooks that read a server, below `<Millrace>`.
 *
 * Guarantees: what several components read is read once. Leaves out: changing anything; call the
 * client for that, and `refresh` afterwards.
 */
import type {
  ApiKey,
  Approval,
  CallOptions,
  Client,
  DeliveryItem,
  DeliveryQuery,
  Listing,
  NodeRun,
  NodeTypeItem,
  PageQuery,
  Run,
  RunDefinition,
  RunItem,
  RunQuery,
  UsageQuery,
  UsageReport,
  Workflow,
  WorkflowItem,
  WorkflowQuery,
} from "@millrace/api/PromiseClient"
import { useInfiniteQuery } from "@tanstack/react-query"
import { useCallback, useEffect, useState, useSyncExternalStore } from "react"
import type { DataReading } from "./internal/Reading.ts"
import { useReading } from "./internal/Reading.ts"
import { useSurroundings } from "./internal/Surroundings.ts"
import type { ChangedRuns } from "./model/ListedRuns.ts"
import { withChanges } from "./model/ListedRuns.ts"
import type { LiveRun } from "./model/LiveRun.ts"
import { hasEnded, isSettled } from "./model/LiveRun.ts"
import { nothingFollowed } from "./model/RunFollower.ts"

export type { DataReading } from "./internal/Reading.ts"

/** A listing, read page by page. */
export interface ListReading<A> {
  /** The items of all pages that were read, newest first. */
  readonly items: ReadonlyArray<A>
  readonly isLoading: boolean
  readonly error: unknown
  readonly hasMore: boolean
  readonly isLoadingMore: boolean
  readonly loadMore: () => Promise<unknown>
  readonly refresh: () => Promise<unknown>
}

/** A run that is followed. */
export interface RunReading {
  /** Without inputs, outputs and logs; see {@link useNodeRun}. */
  readonly run: Run | undefined
  /** The nodes by id. */
  readonly nodes: Run["nodes"]
  /** The graph as it was when the run was started. */
  readonly definition: RunDefinition | undefined
  /** True while changes arrive as they happen. */
  readonly isLive: boolean
  readonly isLoading: boolean
  readonly error: unknown
  /** For `timelineOf`. */
  readonly live: LiveRun | undefined
  /** By how many milliseconds the server's clock is ahead of the viewer's. */
  readonly clockOffset: number
}

const noNodes: Run["nodes"] = {}

const followNothing = () => () => {}

/**
 * Follows a run: one request for its graph, and one stream that begins anew when it breaks. Without
 * an id nothing is followed.
 */
export const useRun = (runId: string | undefined): RunReading => {
  const { runs } = useSurroundings()
  const subscribe = useCallback(
    (listener: () => void) =>
      runId === undefined ? followNothing() : runs.subscribe(runId, listener),
    [runs, runId],
  )
  const read = () => (runId === undefined ? nothingFollowed : runs.read(runId))
  const { clockOffset, definition, error, isLive, live } = useSyncExternalStore(
    subscribe,
    read,
    read,
  )
  const run = live?.run
  const isLoading = runId !== undefined && run === undefined && error === undefined
  const nodes = run?.nodes ?? noNodes
  return { run, nodes, definition, isLive, isLoading, error, live, clockOffset }
}

/**
 * One node of a followed run with input, output and logs. It is read when it is asked for, and
 * again when the node has moved.
 */
export const useNodeRun = (runId: string, nodeId: string | undefined): DataReading<NodeRun> => {
  const { client } = useSurroundings()
  const { nodes, run } = useRun(runId)
  const known = nodeId === undefined ? undefined : nodes[nodeId]
  const moved = known === undefined ? [] : [known.status, known.attempt, known.dueAt]
  const isFinal = run !== undefined && (hasEnded(run) || (known !== undefined && isSettled(known)))
  return useReading(
    ["node", runId, nodeId, ...moved],
    (options) => client.runs.node(runId, nodeId!, options),
    { enabled: known !== undefined, staleTime: isFinal ? Number.POSITIVE_INFINITY : 1_000 },
  )
}

/** What a node of a run asks people. */
export const useApproval = (runId: string, nodeId: string): DataReading<Approval> => {
  const { client } = useSurroundings()
  return useReading(["approval", runId, nodeId], (options) =>
    client.approvals.get(runId, nodeId, options),
  )
}

/** A large value that a node run names in `largeValues`, once `isWanted`. */
export const useValue = (
  runId: string,
  valueId: string,
  isWanted: boolean,
): DataReading<unknown> => {
  const { client } = useSurroundings()
  return useReading<unknown>(
    ["value", runId, valueId],
    (options) => client.runs.value(runId, valueId, options),
    { enabled: isWanted, staleTime: Number.POSITIVE_INFINITY },
  )
}

/** A stored workflow. */
export const useWorkflow = (workflowId: string): DataReading<Workflow> => {
  const { client } = useSurroundings()
  return useReading(["workflow", workflowId], (options) =>
    client.workflows.get(workflowId, options),
  )
}

/** The node types that the server can execute. */
export const useNodeTypes = (): DataReading<ReadonlyArray<NodeTypeItem>> => {
  const { client } = useSurroundings()
  return useReading(["nodeTypes"], (options) => client.nodeTypes.list(options), {
    staleTime: Number.POSITIVE_INFINITY,
  })
}

/** Balance and usage of the account. */
export const useUsage = (query: UsageQuery = {}): DataReading<UsageReport> => {
  const { client } = useSurroundings()
  return useReading(["usage", query], (options) => client.usage.read(query, options))
}

/** What the client of a session has besides that of an API key. */
interface KeyReader {
  readonly keys?: { list(options?: CallOptions): Promise<ReadonlyArray<ApiKey>> }
}

/**
 * The API keys of the account, without their secrets. `<Millrace>` needs `createConsoleClient` with
 * the session of an owner for it.
 */
export const useKeys = (): DataReading<ReadonlyArray<ApiKey>> => {
  const client: Client & KeyReader = useSurroundings().client
  return useReading(["keys"], async (options) => {
    if (client.keys !== undefined) return client.keys.list(options)
    throw new Error("An API key reads no API keys: give <Millrace> a client of createConsoleClient")
  })
}

const useListing = <A, Q extends PageQuery>(
  key: ReadonlyArray<unknown>,
  query: Q,
  list: (query: Q, options: CallOptions) => Listing<A>,
): ListReading<A> => {
  const { queries } = useSurroundings()
  const found = useInfiniteQuery(
    {
      queryKey: [...key, query],
      queryFn: async ({ pageParam, signal }) =>
        await list(pageParam === undefined ? query : { ...query, cursor: pageParam }, { signal }),
      initialPageParam: undefined as string | undefined,
      getNextPageParam: ({ nextCursor }) => nextCursor,
    },
    queries,
  )
  return {
    items: found.data?.pages.flatMap(({ items }) => items) ?? [],
    isLoading: found.isLoading,
    error: found.error ?? undefined,
    hasMore: found.hasNextPage,
    isLoadingMore: found.isFetchingNextPage,
    loadMore: found.fetchNextPage,
    refresh: found.refetch,
  }
}

/** The workflows of the account. */
export const useWorkflows = (query: WorkflowQuery = {}): ListReading<WorkflowItem> => {
  const { client } = useSurroundings()
  return useListing(["workflows"], query, (wanted, options) =>
    client.workflows.list(wanted, options),
  )
}

/** What has changed in a listing since somebody looks at it; nothing unless `isWanted`. */
const useChanges = (query: RunQuery, isWanted: boolean): ChangedRuns => {
  const { client } = useSurroundings()
  const [changed, setChanged] = useState<ChangedRuns>(() => new Map())
  const { from, parent, roots, search, source, status, to, workflowId } = query
  useEffect(() => {
    setChanged((known) => (known.size === 0 ? known : new Map()))
    if (!isWanted) return
    const stop = new AbortController()
    const wanted = Object.entries({ from, parent, roots, search, source, status, to, workflowId })
    const filter = Object.fromEntries(wanted.filter(([, value]) => value !== undefined))
    const watch = async () => {
      for await (const { data, event } of client.runs.live(filter, { signal: stop.signal })) {
        const items = event === "page" ? data.items : [data]
        setChanged((known) => new Map([...known, ...items.map((item) => [item.id, item] as const)]))
      }
    }
    // The listing itself says why a server cannot be read.
    watch().catch(() => {})
    return () => stop.abort()
  }, [client, isWanted, from, parent, roots, search, source, status, to, workflowId])
  return changed
}

/** The runs of the account. With `live`, new runs and changes appear as they happen. */
export const useRuns = (
  query: RunQuery = {},
  { live = false }: { readonly live?: boolean } = {},
): ListReading<RunItem> => {
  const { client } = useSurroundings()
  const found = useListing(["runs"], query, (wanted, options) => client.runs.list(wanted, options))
  const changed = useChanges(query, live)
  const { hasMore, items: listed } = found
  return { ...found, items: withChanges(listed, changed, { ...query, hasMore }) }
}

/** The deliveries of a run. */
export const useDeliveries = (
  runId: string,
  query: DeliveryQuery = {},
): ListReading<DeliveryItem> => {
  const { client } = useSurroundings()
  return useListing(["deliveries", runId], query, (wanted, options) =>
    client.deliveries.list(runId, wanted, options),
  )
}
