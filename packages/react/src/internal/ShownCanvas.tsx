/**
 * A canvas to look at. Where nodes would cover each other it gives them places of its own, which
 * nobody keeps.
 */
import type { NodeTypeItem } from "@millrace/api/PromiseClient"
import { useEffect, useMemo, useState } from "react"
import type { CanvasProblem, CanvasProps } from "../CanvasProps.ts"
import { arranged } from "../model/BoxArrangement.ts"
import { placeFrames } from "../model/internal/BoxFrames.ts"
import type { CanvasBox } from "../model/CanvasBox.ts"
import type { CanvasLayout } from "../model/CanvasLayout.ts"
import { hasOverlaps } from "../model/CanvasLayout.ts"
import type { NodeViews } from "../NodeViews.ts"
import styles from "./Canvas.module.css"
import { CanvasContext, onlyShown, useZoomLevel } from "./CanvasContext.ts"
import { CanvasControls } from "./CanvasControls.tsx"
import { useElements } from "./CanvasElements.ts"
import { CanvasFrame } from "./CanvasFrame.tsx"
import { useLatest } from "./Latest.ts"
import { collapse, useSelection } from "./CanvasSelection.ts"

/** What a canvas is given, with what it needs in any case. */
export interface DrawnCanvasProps extends CanvasProps {
  readonly layout: CanvasLayout
  readonly nodeTypes: ReadonlyArray<NodeTypeItem>
  readonly nodeViews: NodeViews
  readonly problems: ReadonlyArray<CanvasProblem>
  readonly contentHeightOf: (type: string) => number
  /** Shows all inputs of a node, or only those that are used. */
  readonly toggleInputs: (nodeId: string) => void
  /** Draws a loop without the nodes in it, or with them again. */
  readonly toggleLoop: (loopId: string) => void
}

type Place = Pick<CanvasBox, "x" | "y" | "body">

/** The box at its place. One that was collapsed or expanded since then is no other box for that. */
const placed = (box: CanvasBox, { body = box.body, x, y }: Place = box): CanvasBox => ({
  ...box,
  x,
  y,
  body: box.body === undefined ? undefined : body,
})

/** The layout as it was drawn, or with places of its own. */
const useLayout = (drawn: CanvasLayout) => {
  const [isTidy, setTidy] = useState(false)
  const [places, setPlaces] = useState<ReadonlyMap<string, Place>>()
  const isWanted = isTidy || hasOverlaps(drawn)
  const shape = drawn.boxes.map(({ height, id }) => `${id} ${height}`).join("\n")
  useEffect(() => {
    if (!isWanted) return
    let isCurrent = true
    void arranged(drawn).then(({ boxes }) => {
      if (isCurrent) setPlaces(new Map(boxes.map(({ body, id, x, y }) => [id, { body, x, y }])))
    })
    return () => {
      isCurrent = false
    }
    // States of nodes change the layout's object, but not its shape.
  }, [isWanted, shape])
  const layout = useMemo(
    () =>
      isWanted && places !== undefined
        ? {
            ...drawn,
            boxes: placeFrames(drawn.boxes.map((box) => placed(box, places.get(box.id)))),
          }
        : drawn,
    [drawn, isWanted, places],
  )
  return { layout, isPlaced: isWanted && places !== undefined, tidyUp: () => setTidy(true) }
}

/** Draws a graph that cannot be changed. */
export const ShownCanvas = (props: DrawnCanvasProps) => {
  const { lookAt, nodeViews, problems, toggleInputs } = props
  const { isPlaced, layout, tidyUp } = useLayout(props.layout)
  const { select, selection, takeEdges, takeNodes } = useSelection(props)
  const elements = useElements({ layout, moving: undefined, problems, selection })
  const zoom = useZoomLevel()
  const calls = useLatest({ toggleLoop: (loopId: string) => collapse(props, { select }, loopId) })
  const actions = useMemo(
    () => ({ ...onlyShown, ...calls, nodeViews, toggleInputs, zoom }),
    [calls, nodeViews, toggleInputs, zoom],
  )
  return (
    <CanvasContext.Provider value={actions}>
      <div className={styles.canvas}>
        <div className={styles.stage}>
          <CanvasFrame
            {...elements}
            isEditable={false}
            key={isPlaced ? "placed" : "drawn"}
            lookAt={lookAt}
            multiSelectionKeyCode={null}
            onEdgesChange={takeEdges}
            onNodesChange={takeNodes}
            selectionKeyCode={null}
          />
        </div>
        <CanvasControls editing={undefined} openSheet={tidyUp} said="" tidyUp={tidyUp} />
      </div>
    </CanvasContext.Provider>
  )
}
