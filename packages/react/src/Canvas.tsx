/**
 * A graph on a canvas, to look at, to choose nodes in, and to edit.
 *
 * Guarantees: controlled, and knows no network. Whatever a user changes is proposed as a command,
 * and drawn when the owner has applied it. Everything can be done by keyboard and by touch. Leaves
 * out: undoing and saving; `<WorkflowEditor>` does both.
 */
import type { NodeTypeItem } from "@millrace/api/PromiseClient"
import { ReactFlowProvider } from "@xyflow/react"
import { useCallback, useMemo, useState } from "react"
import type { CanvasProblem, CanvasProps } from "./CanvasProps.ts"
import styles from "./internal/Canvas.module.css"
import { EditableCanvas } from "./internal/EditableCanvas.tsx"
import { ShownCanvas } from "./internal/ShownCanvas.tsx"
import { useSurroundings } from "./internal/Surroundings.ts"
import { layoutOf } from "./model/CanvasLayout.ts"
import type { NodeViews } from "./NodeViews.ts"

const noTypes: ReadonlyArray<NodeTypeItem> = []
const noStates = {}
const noViews: NodeViews = {}
const noProblems: ReadonlyArray<CanvasProblem> = []

/** The height of what an application draws in a node. */
const contentHeight = 72

/** Shows a graph, with the states of its nodes and edges where they are given. */
export const Canvas = (props: CanvasProps) => {
  const { nodeTypes = noTypes, nodeViews = noViews, onCommand, problems = noProblems } = props
  const { pinned = noStates, readOnly = false, states = noStates, value } = props
  const { messages } = useSurroundings()
  const contentHeightOf = useMemo(
    () => (type: string) => {
      const view = Object.hasOwn(nodeViews, type) ? nodeViews[type] : undefined
      return view?.renderNode === undefined ? 0 : (view.contentHeight ?? contentHeight)
    },
    [nodeViews],
  )
  const [expanded, setExpanded] = useState<ReadonlySet<string>>(() => new Set())
  const toggleInputs = useCallback((nodeId: string) => {
    setExpanded((known) => {
      const next = new Set(known)
      if (!next.delete(nodeId)) next.add(nodeId)
      return next
    })
  }, [])
  const layout = useMemo(
    () => layoutOf(value, nodeTypes, { contentHeightOf, expanded, pinned, states }),
    [value, nodeTypes, contentHeightOf, expanded, pinned, states],
  )
  const isEditable = onCommand !== undefined && !readOnly
  const drawn = { contentHeightOf, layout, nodeTypes, nodeViews, problems, toggleInputs }
  const given = { ...props, ...drawn }
  if (value.nodes.length === 0 && !isEditable)
    return <p className={styles.empty}>{messages.emptyCanvas}</p>
  return (
    <ReactFlowProvider>
      {onCommand === undefined ? (
        <ShownCanvas {...given} />
      ) : (
        <EditableCanvas {...given} onCommand={onCommand} />
      )}
    </ReactFlowProvider>
  )
}
