/**
 * A run, as it happens: its graph as it was at its start, its timeline, and one node in detail.
 *
 * Guarantees: reads the graph once and follows one stream; everything else is read when it is
 * opened. Leaves out: which other runs there are.
 */
import type { NodeTypeItem } from "@millrace/api/PromiseClient"
import { useMemo, useState } from "react"
import { useRun } from "./Hooks.ts"
import { CanvasDrawing } from "./internal/CanvasDrawing.tsx"
import { Failure } from "./internal/FailureText.tsx"
import { NodePanel } from "./internal/NodePanel.tsx"
import { useNow } from "./internal/Now.ts"
import { withoutBodies } from "./internal/RunDrawing.ts"
import { RunHeader } from "./internal/RunHeader.tsx"
import styles from "./internal/RunView.module.css"
import { useSurroundings } from "./internal/Surroundings.ts"
import theme from "./internal/Theme.module.css"
import { TimelineView } from "./internal/TimelineView.tsx"
import type { RunReading } from "./Hooks.ts"
import { layoutOf } from "./model/CanvasLayout.ts"
import { timelineOf } from "./model/RunTimeline.ts"

/** A part of the view of a run. */
export type RunPanel = "graph" | "timeline" | "node"

/** What `<RunView>` takes. */
export interface RunViewProps {
  readonly runId: string
  /** Which parts are shown; all by default. */
  readonly panels?: ReadonlyArray<RunPanel>
  /** From `useNodeTypes`: names and icons. Without them, a node shows the key of its type. */
  readonly nodeTypes?: ReadonlyArray<NodeTypeItem> | undefined
  /** True if the viewer may neither cancel the run nor start it again. */
  readonly readOnly?: boolean
  /** Called with the id of the run that the viewer has started from here. */
  readonly onStarted?: (runId: string) => void
  /**
   * Called when the viewer wants to draw the workflow with the data of this run: give both to
   * `<WorkflowEditor workflowId pinnedRunId>`. Without it, that is not offered.
   */
  readonly onOpenEditor?:
    | ((opened: { readonly workflowId: string; readonly runId: string }) => void)
    | undefined
  /** Called with the id of a run that has started this one, or that it has started, to open it. */
  readonly onOpenRun?: ((runId: string) => void) | undefined
  /** The node that is shown first; the viewer chooses others. */
  readonly initialNodeId?: string | undefined
  /** Called when the viewer chooses another node, also by following. */
  readonly onSelect?: (nodeId: string | undefined) => void
}

const allPanels = ["graph", "timeline", "node"] as const
const noTypes: ReadonlyArray<NodeTypeItem> = []

/** The open node that began last, or else the one that ended last. */
const latestNode = ({ nodes }: RunReading): string | undefined => {
  const begun = Object.values(nodes).filter(({ startedAt }) => startedAt !== null)
  const open = begun.filter(({ finishedAt }) => finishedAt === null)
  const last = (open.length > 0 ? open : begun).toSorted((left, right) =>
    (left.finishedAt ?? left.startedAt)! < (right.finishedAt ?? right.startedAt)! ? -1 : 1,
  )
  return last.at(-1)?.nodeId
}

/** What is shown of the graph. */
const useGraph = (
  { definition: whole, nodes }: RunReading,
  nodeTypes: ReadonlyArray<NodeTypeItem>,
) => {
  const definition = useMemo(
    () => (whole === undefined ? undefined : withoutBodies(whole, nodes)),
    [whole, nodes],
  )
  const states = useMemo(
    () => Object.fromEntries(Object.values(nodes).map(({ nodeId, status }) => [nodeId, status])),
    [nodes],
  )
  const boxes = useMemo(
    () =>
      new Map(
        definition === undefined
          ? []
          : layoutOf(definition, nodeTypes).boxes.map((box) => [box.id, box]),
      ),
    [definition, nodeTypes],
  )
  return { boxes, definition, states }
}

type Parts = RunReading & { readonly panels: ReadonlyArray<RunPanel>; readonly runId: string }

const Timeline = (props: {
  readonly reading: RunReading
  readonly boxes: ReturnType<typeof useGraph>["boxes"]
  readonly selected: string | undefined
  readonly onSelect: (nodeId: string) => void
}) => {
  const { boxes, onSelect, reading, selected } = props
  const { clockOffset, definition, isLive, live } = reading
  const now = useNow(isLive) + clockOffset
  const timeline = useMemo(() => timelineOf(live, definition, now), [live, definition, now])
  return <TimelineView boxes={boxes} onSelect={onSelect} selected={selected} timeline={timeline} />
}

interface PanelsProps {
  readonly reading: Parts
  readonly nodeTypes: ReadonlyArray<NodeTypeItem>
  readonly shown: string | undefined
  readonly lookAt: string | undefined
  readonly readOnly: boolean
  readonly onSelect: (nodeId: string | undefined) => void
  readonly onStarted: ((runId: string) => void) | undefined
  readonly onOpenRun: ((runId: string) => void) | undefined
}

const Panels = (props: PanelsProps) => {
  const { lookAt, nodeTypes, onOpenRun, onSelect, onStarted, readOnly, reading, shown } = props
  const { messages } = useSurroundings()
  const { boxes, definition, states } = useGraph(reading, nodeTypes)
  const { panels, runId } = reading
  return (
    <div className={styles.panels} data-panels={panels.join(" ")}>
      {!panels.includes("graph") ? null : (
        <section aria-label={messages.canvas} className={styles.graph}>
          {definition === undefined ? (
            <p className={theme.sentence}>{messages.loading}</p>
          ) : (
            <CanvasDrawing
              lookAt={lookAt}
              nodeTypes={nodeTypes}
              onSelect={onSelect}
              readOnly
              selected={shown}
              states={states}
              value={definition}
            />
          )}
        </section>
      )}
      {!panels.includes("timeline") ? null : (
        <section aria-label={messages.timeline} className={styles.timeline}>
          <Timeline boxes={boxes} onSelect={onSelect} reading={reading} selected={shown} />
        </section>
      )}
      {!panels.includes("node") ? null : (
        <section aria-label={messages.nodeDetails} className={styles.node}>
          <NodePanel
            box={boxes.get(shown ?? "")}
            nodeId={shown}
            onOpenRun={onOpenRun}
            onStarted={onStarted}
            readOnly={readOnly}
            runId={runId}
          />
        </section>
      )}
    </div>
  )
}

/** Why the run, or what happens to it, cannot be read. */
const Trouble = ({ error, run }: Pick<RunReading, "error" | "run">) => {
  const { messages } = useSurroundings()
  if (error === undefined) return null
  const isUnknown = (error as { readonly status?: unknown }).status === 404
  if (!isUnknown && run === undefined) return <Failure error={error} />
  return (
    <p className={theme.failure} role={isUnknown ? "alert" : "status"}>
      {isUnknown ? messages.runNotFound : messages.reconnecting}
    </p>
  )
}

/** Shows a run, live. */
export const RunView = ({
  initialNodeId,
  nodeTypes = noTypes,
  onOpenEditor,
  onOpenRun,
  onSelect,
  onStarted,
  panels = allPanels,
  readOnly = false,
  runId,
}: RunViewProps) => {
  const { messages } = useSurroundings()
  const reading = useRun(runId)
  const [selected, setSelected] = useState(initialNodeId)
  const [isFollowing, setFollowing] = useState(false)
  const { isLoading, run } = reading
  const followed = isFollowing ? latestNode(reading) : undefined
  const choose = (nodeId: string | undefined) => {
    setFollowing(false)
    setSelected(nodeId)
    onSelect?.(nodeId)
  }
  return (
    <article
      aria-busy={isLoading}
      aria-label={run === undefined ? messages.loading : messages.runOf(run.workflowName)}
      className={styles.view}
      data-status={run?.status}
    >
      {run === undefined ? null : (
        <RunHeader
          isFollowing={isFollowing}
          onFollow={() => {
            setFollowing(!isFollowing)
            setSelected(latestNode(reading))
          }}
          onOpenEditor={onOpenEditor}
          onOpenRun={onOpenRun}
          onStarted={onStarted}
          readOnly={readOnly}
          reading={reading}
          run={run}
        />
      )}
      {isLoading ? <p className={theme.sentence}>{messages.loading}</p> : null}
      <Trouble {...reading} />
      {run === undefined ? null : (
        <Panels
          lookAt={followed}
          nodeTypes={nodeTypes}
          onSelect={choose}
          onOpenRun={onOpenRun}
          onStarted={onStarted}
          readOnly={readOnly}
          reading={{ ...reading, panels, runId }}
          shown={followed ?? selected}
        />
      )}
    </article>
  )
}
