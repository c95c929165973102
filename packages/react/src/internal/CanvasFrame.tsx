/**
 * The part of every canvas that React Flow draws.
 */
import type { ReactFlowProps } from "@xyflow/react"
import { Background, ReactFlow, useReactFlow } from "@xyflow/react"
import { useEffect, useId, useMemo } from "react"
import { useZoomLevel } from "./CanvasContext.ts"
import { CanvasNodeView } from "./CanvasNodeView.tsx"
import type { BoxNode } from "./CanvasNodeView.tsx"
import { useSurroundings } from "./Surroundings.ts"

const views = { box: CanvasNodeView }
/** So many nodes are in the page whether they are seen or not, so the Tab key leads to each. */
const allDrawn = 100
const fit = { maxZoom: 1, padding: 0.12 }

/** Moves a node into view when it is another one. */
const Camera = ({ lookAt }: { readonly lookAt: string | undefined }) => {
  const { fitView } = useReactFlow()
  useEffect(() => {
    if (lookAt !== undefined) void fitView({ nodes: [{ id: lookAt }], maxZoom: 1, minZoom: 0.6 })
  }, [fitView, lookAt])
  return null
}

type CanvasFrameProps = ReactFlowProps<BoxNode> & {
  readonly lookAt: string | undefined
  readonly isEditable: boolean
}

/** Draws nodes and edges. Several of them may stand on one page. */
export const CanvasFrame = ({ isEditable, lookAt, ...flow }: CanvasFrameProps) => {
  const { messages } = useSurroundings()
  const id = useId()
  const isFar = useZoomLevel() !== "near"
  const labels = useMemo(() => {
    const edit = isFar ? `${messages.editNodeHint} ${messages.farHint}` : messages.editNodeHint
    const hint = isEditable ? edit : messages.nodeHint
    return {
      "node.a11yDescription.default": hint,
      "node.a11yDescription.keyboardDisabled": hint,
      "node.a11yDescription.ariaLiveMessage": ({ x, y }: { x: number; y: number }) =>
        messages.movedTo(x, y),
      "edge.a11yDescription.default": messages.editEdgeHint,
    }
  }, [isEditable, isFar, messages])
  return (
    <ReactFlow
      aria-label={messages.canvas}
      ariaLabelConfig={labels}
      connectOnClick={false}
      deleteKeyCode={null}
      edgesFocusable={isEditable}
      edgesReconnectable={isEditable}
      fitView
      fitViewOptions={fit}
      id={id}
      maxZoom={2}
      minZoom={0.1}
      nodesConnectable={isEditable}
      nodesDraggable={isEditable}
      nodeTypes={views}
      onlyRenderVisibleElements={(flow.nodes?.length ?? 0) > allDrawn}
      panActivationKeyCode={null}
      {...flow}
    >
      <Background gap={24} id={id} />
      <Camera lookAt={lookAt} />
    </ReactFlow>
  )
}
