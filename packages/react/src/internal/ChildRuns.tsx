/**
 * The runs that a node has started: that of the workflow which it calls, or one for each item of a
 * loop.
 *
 * Guarantees: of a loop nothing is read before it is opened, and then page by page, so a loop over
 * 100,000 items costs what is looked at. Leaves out: showing one of the runs; whoever embeds the
 * view says how that is opened.
 */
import type { LoopItem, NodeRun } from "@millrace/api/PromiseClient"
import { useInfiniteQuery } from "@tanstack/react-query"
import { useState } from "react"
import { Failure } from "./FailureText.tsx"
import { StateIcon } from "./Icons.tsx"
import styles from "./NodePanel.module.css"
import { useSurroundings } from "./Surroundings.ts"
import theme from "./Theme.module.css"

const callingType = "sub_workflow"

/** The built-in node types that start runs. */
const startingTypes: ReadonlySet<string> = new Set([callingType, "for_each", "while"])

/** True for a node whose type starts runs. */
export const startsRuns = (nodeType: string): boolean => startingTypes.has(nodeType)

/** How often the first page is read again while the node is at work. */
const lookMillis = 2_000

interface ChildRunsProps {
  readonly runId: string
  readonly node: NodeRun
  readonly onOpenRun: ((runId: string) => void) | undefined
}

const Item = ({
  item,
  onOpenRun,
}: Pick<ChildRunsProps, "onOpenRun"> & { readonly item: LoopItem }) => {
  const { messages } = useSurroundings()
  const text = messages.childRun(item.index, messages.runStates[item.status])
  return (
    <li>
      <StateIcon state={item.status} />
      {onOpenRun === undefined ? (
        <span>{text}</span>
      ) : (
        <button className={theme.button} onClick={() => onOpenRun(item.runId)} type="button">
          {text}
        </button>
      )}
      {item.error === null ? null : <span className={theme.muted}>{item.error}</span>}
    </li>
  )
}

const useItems = (runId: string, node: NodeRun, onlyFailed: boolean) => {
  const { client, queries } = useSurroundings()
  const { finishedAt, nodeId } = node
  const filter = onlyFailed ? ({ status: "FAILED" } as const) : {}
  return useInfiniteQuery(
    {
      queryKey: ["items", runId, nodeId, finishedAt, onlyFailed],
      queryFn: ({ pageParam, signal }) =>
        client.runs.items(
          runId,
          nodeId,
          pageParam === undefined ? { ...filter, limit: 50 } : { cursor: pageParam, limit: 50 },
          { signal },
        ),
      initialPageParam: undefined as string | undefined,
      getNextPageParam: ({ nextCursor }) => nextCursor ?? undefined,
      refetchInterval: ({ state }) =>
        finishedAt === null && (state.data?.pages.length ?? 0) < 2 ? lookMillis : false,
    },
    queries,
  )
}

const Items = ({
  isLoop,
  node,
  onOpenRun,
  runId,
}: ChildRunsProps & { readonly isLoop: boolean }) => {
  const { messages } = useSurroundings()
  const [onlyFailed, setOnlyFailed] = useState(false)
  const { data, error, fetchNextPage, hasNextPage } = useItems(runId, node, onlyFailed)
  const items = data?.pages.flatMap((page) => page.items)
  return (
    <>
      {!isLoop ? null : (
        <label className={styles.only}>
          <input
            checked={onlyFailed}
            onChange={({ target }) => setOnlyFailed(target.checked)}
            type="checkbox"
          />
          {messages.onlyFailedItems}
        </label>
      )}
      {error === null ? null : <Failure error={error} />}
      {items?.length === 0 ? <p className={theme.sentence}>{messages.noItems}</p> : null}
      <ul>
        {items?.map((item) => (
          <Item item={item} key={item.runId} onOpenRun={onOpenRun} />
        ))}
      </ul>
      {hasNextPage ? (
        <button className={theme.button} onClick={() => void fetchNextPage()} type="button">
          {messages.moreChildRuns}
        </button>
      ) : null}
    </>
  )
}

/** Lists the children of a node; those of a loop when it is opened. */
export const ChildRuns = (props: ChildRunsProps) => {
  const { messages } = useSurroundings()
  const isLoop = props.node.nodeType !== callingType
  const [isOpen, setOpen] = useState(!isLoop)
  const title = isLoop ? messages.items : messages.childRuns
  return (
    <section aria-label={title} className={styles.children}>
      <details onToggle={({ currentTarget }) => setOpen(currentTarget.open)} open={isOpen}>
        <summary>{title}</summary>
        {isOpen ? <Items {...props} isLoop={isLoop} /> : null}
      </details>
    </section>
  )
}
