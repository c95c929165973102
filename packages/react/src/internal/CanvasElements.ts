/**
 * Boxes and lines as React Flow takes them.
 *
 * Guarantees: a node that has not changed stays the same object, so it is not drawn again.
 */
import type { Edge } from "@xyflow/react"
import { MarkerType, Position } from "@xyflow/react"
import { useMemo, useRef } from "react"
import type { CanvasProblem } from "../CanvasProps.ts"
import type { Messages } from "../Messages.ts"
import type { CanvasBox, CanvasLayout } from "../model/CanvasLayout.ts"
import { handleAt, handleOverhang, handleSize } from "../model/CanvasLayout.ts"
import type { Selection } from "../model/editing/Clipboard.ts"
import styles from "./Canvas.module.css"
import type { BoxNode } from "./CanvasNodeView.tsx"
import { useSurroundings } from "./Surroundings.ts"

/** Places of nodes that are being moved. */
export type MovingPlaces = Readonly<Record<string, { readonly x: number; readonly y: number }>>

const handlesOf = ({ inputs, outputs, width }: CanvasBox) => {
  const handle = (type: "source" | "target", name: string, index: number) => ({
    id: name,
    type,
    position: type === "source" ? Position.Right : Position.Left,
    x: type === "source" ? width - handleSize + handleOverhang : -handleOverhang,
    y: handleAt(index) - handleSize / 2,
    width: handleSize,
    height: handleSize,
  })
  return [
    ...inputs.map(({ name }, index) => handle("target", name, index)),
    ...outputs.map(({ name }, index) => handle("source", name, index)),
  ]
}

const nodeOf = (
  box: CanvasBox,
  isSelected: boolean,
  problems: number,
  messages: Messages,
): BoxNode => {
  const { height, id, label, state, typeName, width, x, y } = box
  const said = [
    messages.node(label, typeName, state === undefined ? "" : messages.nodeStates[state]),
    ...(box.isDisabled ? [messages.disabled] : []),
    ...(box.isPinned ? [messages.pinned] : []),
    ...(problems === 0 ? [] : [messages.problemCount(problems)]),
  ]
  return {
    id,
    type: "box",
    position: { x, y },
    width,
    height,
    // So that nodes out of view count for the view of the whole graph.
    measured: { width, height },
    data: { box, problems },
    selected: isSelected,
    handles: handlesOf(box),
    // Below all others, also while it is selected; what it stands around is reached through it.
    ...(box.framed === undefined ? {} : { zIndex: -1_001, style: { pointerEvents: "none" } }),
    ariaLabel: said.join(", "),
    domAttributes: { "aria-current": isSelected, "aria-roledescription": messages.nodeRole },
  }
}

const edgesOf = (
  { boxes, lines }: CanvasLayout,
  selected: ReadonlySet<string>,
  broken: ReadonlySet<string>,
  messages: Messages,
): Array<Edge> => {
  const labels = new Map(boxes.map(({ id, label }) => [id, label]))
  return lines.map(({ id, source, sourcePort, state, target, targetPort }) => ({
    id,
    source,
    target,
    sourceHandle: sourcePort,
    targetHandle: targetPort,
    selected: selected.has(id),
    className: `${styles[state]} ${broken.has(id) ? styles.broken : ""}`,
    markerEnd: { type: MarkerType.ArrowClosed, color: "var(--mr-line)", width: 16, height: 16 },
    ariaLabel: messages.edge(
      labels.get(source) ?? source,
      labels.get(target) ?? target,
      messages.lineStates[state],
    ),
    domAttributes: { "aria-roledescription": messages.edgeRole },
  }))
}

interface ElementOptions {
  readonly layout: CanvasLayout
  readonly selection: Selection
  readonly problems: ReadonlyArray<CanvasProblem>
  readonly moving: MovingPlaces | undefined
}

interface Made {
  readonly box: CanvasBox
  readonly isSelected: boolean
  readonly problems: number
  readonly messages: Messages
  readonly node: BoxNode
}

/** The same node as before where nothing of it has changed. */
const useNodes = ({ layout, problems, selection }: ElementOptions) => {
  const { messages } = useSurroundings()
  const made = useRef<ReadonlyMap<string, Made>>(new Map())
  return useMemo(() => {
    const counts = new Map<string, number>()
    for (const { nodeId } of problems)
      if (nodeId !== undefined) counts.set(nodeId, (counts.get(nodeId) ?? 0) + 1)
    const next = layout.boxes.map((box): readonly [string, Made] => {
      const isSelected = selection.nodeIds.has(box.id)
      const count = counts.get(box.id) ?? 0
      const known = made.current.get(box.id)
      const isKept =
        known !== undefined &&
        known.isSelected === isSelected &&
        known.problems === count &&
        known.messages === messages &&
        isSameBox(known.box, box)
      if (isKept) return [box.id, known]
      const node = nodeOf(box, isSelected, count, messages)
      return [box.id, { box, isSelected, problems: count, messages, node }]
    })
    made.current = new Map(next)
    return next.map(([, { node }]) => node)
  }, [layout, messages, problems, selection.nodeIds])
}

/** Boxes are plain data, made anew with each change of a drawing. */
const isSameBox = (left: CanvasBox, right: CanvasBox): boolean =>
  left === right || JSON.stringify(left) === JSON.stringify(right)

/** What React Flow draws. */
export const useElements = (options: ElementOptions) => {
  const { layout, moving, problems, selection } = options
  const { messages } = useSurroundings()
  const still = useNodes(options)
  const nodes = useMemo(() => {
    if (moving === undefined) return still
    return still.map((node) => {
      const position = moving[node.id]
      return position === undefined ? node : { ...node, position }
    })
  }, [moving, still])
  const edges = useMemo(() => {
    const broken = new Set(problems.map(({ edgeId }) => edgeId ?? ""))
    return edgesOf(layout, selection.edgeIds, broken, messages)
  }, [layout, messages, problems, selection.edgeIds])
  return { nodes, edges }
}
