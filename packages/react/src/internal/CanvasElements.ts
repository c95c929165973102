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
import { bodyHandleAt, bodyPortWidth } from "../model/internal/BoxFrames.ts"
import type { CanvasBox } from "../model/CanvasBox.ts"
import type { CanvasLayout } from "../model/CanvasLayout.ts"
import { handleAt, handleOverhang, handleSize } from "../model/CanvasBox.ts"
import type { Selection } from "../model/editing/Clipboard.ts"
import styles from "./Canvas.module.css"
import type { BoxNode } from "./CanvasNodeView.tsx"
import { useSurroundings } from "./Surroundings.ts"

/** Nodes that are being moved. */
export interface Moving {
  readonly places: Readonly<Record<string, { readonly x: number; readonly y: number }>>
  /** The loop into which they would go. */
  readonly into: string | undefined
}

const handlesOf = ({ body, inputs, outputs, width }: CanvasBox) => {
  const handle = (type: "source" | "target", name: string, index: number) => ({
    id: name,
    type,
    position: type === "source" ? Position.Right : Position.Left,
    x: type === "source" ? width - handleSize + handleOverhang : -handleOverhang,
    y: handleAt(index) - handleSize / 2,
    width: handleSize,
    height: handleSize,
  })
  const inner = (name: string, index: number) => ({
    ...handle("source", name, index),
    x: bodyPortWidth - handleSize + handleOverhang,
    y: bodyHandleAt(body!.top, index) - handleSize / 2,
  })
  return [
    ...inputs.map(({ name }, index) => handle("target", name, index)),
    ...outputs.map(({ name }, index) => handle("source", name, index)),
    ...(body?.ports.map(({ name }, index) => inner(name, index)) ?? []),
  ]
}

/** Below all other nodes, also while they are selected, and inner ones above those around them. */
const frameDepth = -1_020

const nodeOf = (
  box: CanvasBox,
  isSelected: boolean,
  problems: number,
  messages: Messages,
  labels: ReadonlyMap<string, string>,
): BoxNode => {
  const { height, id, label, loops, state, typeName, width, x, y } = box
  const said = [
    messages.node(label, typeName, state === undefined ? "" : messages.nodeStates[state]),
    ...(box.body === undefined ? [] : [messages.loopOf(box.body.count)]),
    ...(box.collapsed.length === 0 ? [] : [messages.collapsed(box.collapsed.length)]),
    ...loops.slice(0, 1).map((loop) => messages.inLoop(labels.get(loop) ?? loop)),
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
    // What a frame stands around is reached through it.
    ...(box.framed === undefined && box.body === undefined
      ? {}
      : { zIndex: frameDepth + loops.length, style: { pointerEvents: "none" } }),
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
  readonly moving: Moving | undefined
}

interface Made {
  readonly box: CanvasBox
  readonly isSelected: boolean
  readonly problems: number
  readonly messages: Messages
  /** The name of the loop in which it lies. */
  readonly loop: string | undefined
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
    const labels = new Map(layout.boxes.map(({ id, label }) => [id, label]))
    const next = layout.boxes.map((box): readonly [string, Made] => {
      const loop = labels.get(box.loops[0] ?? "")
      const isSelected = selection.nodeIds.has(box.id)
      const within = box.collapsed.reduce((sum, id) => sum + (counts.get(id) ?? 0), 0)
      const count = (counts.get(box.id) ?? 0) + within
      const known = made.current.get(box.id)
      const isKept =
        known !== undefined &&
        known.isSelected === isSelected &&
        known.problems === count &&
        known.messages === messages &&
        known.loop === loop &&
        isSameBox(known.box, box)
      if (isKept) return [box.id, known]
      const node = nodeOf(box, isSelected, count, messages, labels)
      return [box.id, { box, isSelected, problems: count, messages, loop, node }]
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
      const position = moving.places[node.id]
      const moved = position === undefined ? node : { ...node, position }
      return node.id === moving.into ? { ...moved, className: styles.taking! } : moved
    })
  }, [moving, still])
  const edges = useMemo(() => {
    const broken = new Set(problems.map(({ edgeId }) => edgeId ?? ""))
    return edgesOf(layout, selection.edgeIds, broken, messages)
  }, [layout, messages, problems, selection.edgeIds])
  return { nodes, edges }
}
