/**
 * The timeline of a run: a row per node, which chooses the node.
 *
 * Guarantees: all that bars show is said in words, too. Leaves out: computing it.
 */
import type { CanvasBox } from "../model/CanvasBox.ts"
import type { RunTimeline, TimelineRow, TimelineSpan } from "../model/RunTimeline.ts"
import { useDeferredValue } from "react"
import { StateIcon } from "./Icons.tsx"
import { useSurroundings } from "./Surroundings.ts"
import theme from "./Theme.module.css"
import { durationText } from "./TimeFormat.ts"
import styles from "./Timeline.module.css"

interface TimelineViewProps {
  readonly timeline: RunTimeline
  readonly boxes: ReadonlyMap<string, CanvasBox>
  readonly selected: string | undefined
  readonly onSelect: (nodeId: string) => void
}

/** A place on the scale, from 0 to 100. */
const percent = ({ from, to }: RunTimeline, at: number): number =>
  (100 * (at - from)) / Math.max(1, to - from)

/** In percent of the scale. */
const shortestBar = 0.8

/** Behind this place on the scale there is no room for a text. */
const lastTick = 90

const Bar = ({ span, timeline }: { span: TimelineSpan; timeline: RunTimeline }) => {
  const begin = percent(timeline, span.from)
  // What took no time is seen all the same, also at the end.
  const width = Math.max(shortestBar, percent(timeline, span.to) - begin)
  const from = Math.min(begin, 100 - width)
  return <rect data-kind={span.kind} height="10" width={`${width}%`} x={`${from}%`} y="6" />
}

type RowProps = Omit<TimelineViewProps, "boxes"> & {
  readonly row: TimelineRow
  readonly label: string
}

const Row = ({ label, onSelect, row, selected, timeline }: RowProps) => {
  const { messages, times } = useSurroundings()
  const { millis, node, spans } = row
  const waits =
    node.status !== "WAITING"
      ? ""
      : node.dueAt === null
        ? messages.goesOnWithMessage
        : messages.goesOnAt(times.exact(node.dueAt))
  const said = spans.map((span) =>
    messages.spanOf(messages.spanKinds[span.kind], span.attempt, durationText(span.to - span.from)),
  )
  const took = millis === undefined ? "" : durationText(millis)
  const tries = node.attempt > 1 ? messages.attempts(node.attempt) : ""
  return (
    <li>
      <button
        aria-pressed={node.nodeId === selected}
        className={styles.row}
        data-node={node.nodeId}
        data-status={node.status}
        onClick={() => onSelect(node.nodeId)}
        title={[...said, waits].filter((part) => part !== "").join("; ")}
        type="button"
      >
        <StateIcon state={node.status} />
        <span className={styles.name} dir="auto">
          {label}
        </span>
        <span className={theme.hidden}>{messages.nodeStates[node.status]}</span>
        <span className={styles.extra}>
          {[tries, waits].filter((part) => part !== "").join(" · ")}
        </span>
        <span className={styles.took}>{took}</span>
        <svg aria-hidden className={styles.bars} data-status={node.status}>
          {spans.map((span, index) => (
            <Bar key={index} span={span} timeline={timeline} />
          ))}
        </svg>
      </button>
    </li>
  )
}

/** So many rows are drawn with the graph; the others as soon as that is on screen. */
const firstRows = 40

/** Shows a timeline. */
export const TimelineView = ({ boxes, onSelect, selected, timeline }: TimelineViewProps) => {
  const { messages } = useSurroundings()
  const { from, queuedMillis, rows, ticks } = timeline
  // React 18 draws all at once.
  const shownRows = useDeferredValue(rows.length, firstRows)
  return (
    <div className={styles.timeline}>
      {queuedMillis < 100 ? null : (
        <p className={theme.muted}>{messages.queuedFor(durationText(queuedMillis))}</p>
      )}
      <div aria-hidden className={styles.ticks}>
        {ticks
          .map((tick) => [tick, percent(timeline, from + tick)] as const)
          .filter(([, place]) => place <= lastTick)
          .map(([tick, place]) => (
            <span key={tick} style={{ insetInlineStart: `${place}%` }}>
              {tick === 0 ? "0" : durationText(tick)}
            </span>
          ))}
      </div>
      <ol>
        {rows.slice(0, shownRows).map((row) => (
          <Row
            key={row.node.nodeId}
            label={boxes.get(row.node.nodeId)?.label ?? row.node.nodeId}
            onSelect={onSelect}
            row={row}
            selected={selected}
            timeline={timeline}
          />
        ))}
      </ol>
    </div>
  )
}
