/**
 * A graph with what draws it: one to look at, or one that can be changed. Who only looks loads
 * nothing of the other.
 */
import type { NodeTypeItem } from "@millrace/api/PromiseClient"
import { ReactFlowProvider } from "@xyflow/react"
import type { ComponentType } from "react"
import { useMemo } from "react"
import type { CanvasProblem, CanvasProps } from "../CanvasProps.ts"
import styles from "./Canvas.module.css"
import { useCollapsedLoops, useIdSet } from "./CollapsedLoops.ts"
import type { DrawnCanvasProps } from "./ShownCanvas.tsx"
import { ShownCanvas } from "./ShownCanvas.tsx"
import { useSurroundings } from "./Surroundings.ts"
import { layoutOf } from "../model/CanvasLayout.ts"
import type { NodeViews } from "../NodeViews.ts"

const noTypes: ReadonlyArray<NodeTypeItem> = []
const noStates = {}
const noViews: NodeViews = {}
const noProblems: ReadonlyArray<CanvasProblem> = []

/** The height of what an application draws in a node. */
const contentHeight = 72

/** What draws a graph that can be changed. */
export type EditableDrawing = ComponentType<
  DrawnCanvasProps & { readonly onCommand: NonNullable<CanvasProps["onCommand"]> }
>

/** Draws a graph. Without `Editable` it cannot be changed. */
export const CanvasDrawing = ({
  Editable,
  ...props
}: CanvasProps & { readonly Editable?: EditableDrawing }) => {
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
  const { ids: expanded, toggle: toggleInputs } = useIdSet()
  const { collapsed, toggleLoop } = useCollapsedLoops({ ...props, nodeTypes })
  // While it cannot be changed for a moment, it is drawn in the same way.
  const hasEmptyBodies = Editable !== undefined && onCommand !== undefined
  const layout = useMemo(() => {
    const options = { collapsed, contentHeightOf, expanded, hasEmptyBodies, pinned, states }
    return layoutOf(value, nodeTypes, options)
  }, [value, nodeTypes, collapsed, contentHeightOf, expanded, hasEmptyBodies, pinned, states])
  const isEditable = Editable !== undefined && onCommand !== undefined && !readOnly
  const drawn = { contentHeightOf, layout, nodeTypes, nodeViews, problems }
  const given = { ...props, ...drawn, toggleInputs, toggleLoop }
  if (value.nodes.length === 0 && !isEditable)
    return <p className={styles.empty}>{messages.emptyCanvas}</p>
  return (
    <ReactFlowProvider>
      {Editable === undefined || onCommand === undefined ? (
        <ShownCanvas {...given} />
      ) : (
        <Editable {...given} onCommand={onCommand} />
      )}
    </ReactFlowProvider>
  )
}
