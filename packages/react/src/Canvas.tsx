/**
 * A graph on a canvas, to look at and to choose nodes in.
 *
 * Guarantees: controlled, and knows no network; every node can be reached and chosen by keyboard.
 * Leaves out: changing the graph.
 */
import type { NodeTypeItem } from "@millrace/api/PromiseClient"
import type { Edge, Node, NodeChange } from "@xyflow/react"
import { Background, MarkerType, Position, ReactFlow, useReactFlow } from "@xyflow/react"
import { useEffect, useMemo, useState } from "react"
import styles from "./internal/Canvas.module.css"
import { CanvasControls } from "./internal/CanvasControls.tsx"
import { CanvasNodeView } from "./internal/CanvasNodeView.tsx"
import { useSurroundings } from "./internal/Surroundings.ts"
import type { Messages } from "./Messages.ts"
import { arranged } from "./model/BoxArrangement.ts"
import type { CanvasBox, CanvasLayout, CanvasValue, NodeState } from "./model/CanvasLayout.ts"
import { handleAt, hasOverlaps, layoutOf } from "./model/CanvasLayout.ts"

/** What `<Canvas>` takes. */
export interface CanvasProps {
  readonly value: CanvasValue
  /** From `useNodeTypes`; they have names, icons and ports. */
  readonly nodeTypes?: ReadonlyArray<NodeTypeItem> | undefined
  /** The states of nodes by id, for a run. */
  readonly states?: Readonly<Record<string, NodeState | undefined>> | undefined
  /** Nothing can be changed. */
  readonly readOnly: true
  /** The chosen node. */
  readonly selected?: string | undefined
  /** Called with the id of a node that the viewer chooses, and with nothing when none is. */
  readonly onSelect?: ((nodeId: string | undefined) => void) | undefined
  /** A node to move into view, each time that it is another one. */
  readonly lookAt?: string | undefined
}

type BoxNode = Node<{ readonly box: CanvasBox }, "box">

const noTypes: ReadonlyArray<NodeTypeItem> = []
const noStates = {}
const views = { box: CanvasNodeView }

const nodeOf = (box: CanvasBox, isSelected: boolean, messages: Messages): BoxNode => {
  const { height, id, inputs, label, outputs, state, typeName, width, x, y } = box
  const handle = (type: "source" | "target", name: string, index: number) => ({
    id: name,
    type,
    position: type === "source" ? Position.Right : Position.Left,
    x: type === "source" ? width - 6 : -6,
    y: handleAt(index) - 6,
    width: 12,
    height: 12,
  })
  return {
    id,
    type: "box",
    position: { x, y },
    width,
    height,
    // So that nodes out of view count for the view of the whole graph.
    measured: { width, height },
    data: { box },
    selected: isSelected,
    handles: [
      ...inputs.map(({ name }, index) => handle("target", name, index)),
      ...outputs.map(({ name }, index) => handle("source", name, index)),
    ],
    ariaLabel: messages.node(
      label,
      typeName,
      state === undefined ? "" : messages.nodeStates[state],
    ),
    domAttributes: { "aria-current": isSelected },
  }
}

const edgesOf = ({ boxes, lines }: CanvasLayout, messages: Messages): Array<Edge> => {
  const labels = new Map(boxes.map(({ id, label }) => [id, label]))
  return lines.map(({ id, source, sourcePort, state, target, targetPort }) => ({
    id,
    source,
    target,
    sourceHandle: sourcePort,
    targetHandle: targetPort,
    className: styles[state] ?? "",
    markerEnd: { type: MarkerType.ArrowClosed, color: "var(--mr-line)", width: 16, height: 16 },
    ariaLabel: messages.edge(
      labels.get(source) ?? source,
      labels.get(target) ?? target,
      messages.lineStates[state],
    ),
  }))
}

/** Moves a node into view when it is another one. */
const Camera = ({ lookAt }: { lookAt: string | undefined }) => {
  const { fitView } = useReactFlow()
  useEffect(() => {
    if (lookAt !== undefined) void fitView({ nodes: [{ id: lookAt }], maxZoom: 1, minZoom: 0.6 })
  }, [fitView, lookAt])
  return null
}

/** The layout as it was drawn, or with places of its own. */
const useLayout = (drawn: CanvasLayout) => {
  const [isTidy, setTidy] = useState(false)
  const [places, setPlaces] = useState<ReadonlyMap<string, { x: number; y: number }>>()
  const isWanted = isTidy || hasOverlaps(drawn)
  const shape = drawn.boxes.map(({ height, id }) => `${id} ${height}`).join("\n")
  useEffect(() => {
    if (!isWanted) return
    let isCurrent = true
    void arranged(drawn).then(({ boxes }) => {
      if (isCurrent) setPlaces(new Map(boxes.map((box) => [box.id, { x: box.x, y: box.y }])))
    })
    return () => {
      isCurrent = false
    }
    // States of nodes change the layout's object, but not its shape.
  }, [isWanted, shape])
  const layout = useMemo(
    () =>
      isWanted && places !== undefined
        ? { ...drawn, boxes: drawn.boxes.map((box) => ({ ...box, ...places.get(box.id) })) }
        : drawn,
    [drawn, isWanted, places],
  )
  return { layout, isPlaced: isWanted && places !== undefined, tidyUp: () => setTidy(true) }
}

/** Shows a graph, with the states of its nodes and edges where they are given. */
export const Canvas = ({
  lookAt,
  nodeTypes = noTypes,
  onSelect,
  selected,
  states = noStates,
  value,
}: CanvasProps) => {
  const { messages } = useSurroundings()
  const drawn = useMemo(() => layoutOf(value, nodeTypes, states), [value, nodeTypes, states])
  const { isPlaced, layout, tidyUp } = useLayout(drawn)
  const nodes = useMemo(
    () => layout.boxes.map((box) => nodeOf(box, box.id === selected, messages)),
    [layout, selected, messages],
  )
  const edges = useMemo(() => edgesOf(layout, messages), [layout, messages])
  const onNodesChange = (changes: ReadonlyArray<NodeChange<BoxNode>>) => {
    const chosen = changes.find((change) => change.type === "select" && change.selected)
    const left = changes.some((change) => change.type === "select" && change.id === selected)
    if (chosen?.type === "select") onSelect?.(chosen.id)
    else if (left) onSelect?.(undefined)
  }
  if (value.nodes.length === 0) return <p className={styles.empty}>{messages.emptyCanvas}</p>
  return (
    <div className={styles.canvas}>
      <ReactFlow
        aria-label={messages.canvas}
        ariaLabelConfig={{
          "node.a11yDescription.default": messages.nodeHint,
          "node.a11yDescription.keyboardDisabled": messages.nodeHint,
        }}
        deleteKeyCode={null}
        edges={edges}
        edgesFocusable={false}
        fitView
        fitViewOptions={{ maxZoom: 1, padding: 0.12 }}
        key={isPlaced ? "placed" : "drawn"}
        maxZoom={2}
        minZoom={0.1}
        nodes={nodes}
        nodesConnectable={false}
        nodesDraggable={false}
        nodeTypes={views}
        onlyRenderVisibleElements
        onNodesChange={onNodesChange}
        onPaneClick={() => onSelect?.(undefined)}
        selectionKeyCode={null}
        multiSelectionKeyCode={null}
      >
        <Background gap={24} />
        <CanvasControls tidyUp={tidyUp} />
        <Camera lookAt={lookAt} />
      </ReactFlow>
    </div>
  )
}
