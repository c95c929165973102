/**
 * The buttons on the canvas: zoom, the whole graph, places without overlaps.
 */
import { Panel, useReactFlow } from "@xyflow/react"
import { Maximize, Network, ZoomIn, ZoomOut } from "lucide-react"
import "./Base.css"
import styles from "./Canvas.module.css"
import { useSurroundings } from "./Surroundings.ts"

/** Stands inside of a `ReactFlow`. */
export const CanvasControls = ({ tidyUp }: { readonly tidyUp: () => void }) => {
  const { messages } = useSurroundings()
  const { fitView, zoomIn, zoomOut } = useReactFlow()
  const buttons = [
    [messages.zoomIn, ZoomIn, () => void zoomIn()],
    [messages.zoomOut, ZoomOut, () => void zoomOut()],
    [messages.fitView, Maximize, () => void fitView({ maxZoom: 1, padding: 0.12 })],
    [messages.tidyUp, Network, tidyUp],
  ] as const
  return (
    <Panel className={styles.controls ?? ""} position="bottom-left">
      {buttons.map(([label, Icon, onClick]) => (
        <button aria-label={label} key={label} onClick={onClick} title={label} type="button">
          <Icon aria-hidden size={18} />
        </button>
      ))}
    </Panel>
  )
}
