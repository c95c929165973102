/**
 * A port of a node: a row with its name, and a square at which edges begin and end.
 *
 * Guarantees: while the canvas is edited, a port is a button of 28 pixels; what cannot be joined
 * with the port in hand is dimmed and says why. Far away, where it would be too small to be hit, it
 * leaves the order of the Tab key.
 */
import { Handle, Position } from "@xyflow/react"
import { Plus } from "lucide-react"
import type { KeyboardEvent, MouseEvent } from "react"
import { bodyHandleAt } from "../model/internal/BoxFrames.ts"
import type { BoxPort, CanvasBox } from "../model/CanvasBox.ts"
import { handleAt } from "../model/CanvasBox.ts"
import styles from "./Canvas.module.css"
import type { PortEnd } from "./CanvasContext.ts"
import { useCanvasActions } from "./CanvasContext.ts"
import { useSurroundings } from "./Surroundings.ts"

interface CanvasPortProps {
  readonly box: CanvasBox
  readonly index: number
  readonly port: BoxPort
  readonly side: PortEnd["side"]
  /** True for what the nodes in a loop see of it. */
  readonly isInner?: boolean
}

/** What a port is, and how it is used, while the canvas is edited. */
const useButton = ({ box, port, side }: CanvasPortProps) => {
  const { messages } = useSurroundings()
  const { from, isEditable, refusalOf, touchPort, zoom } = useCanvasActions()
  const isReachable = zoom === "near"
  const end = { nodeId: box.id, port: port.name, side }
  if (!isEditable) return { isReachable: false, end, from, refusal: undefined, given: {} }
  const isFrom = from?.nodeId === end.nodeId && from.port === end.port && from.side === end.side
  const refusal = from === undefined || isFrom ? undefined : refusalOf(end)
  const name = messages[side === "source" ? "outputPort" : "inputPort"](port.name, box.label)
  const isRequired = port.required && side === "target"
  const label = isRequired ? `${name}, ${messages.requiredPort}` : name
  const isAsked = from === undefined || isFrom || from.side !== side
  const touch = () => touchPort(end)
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== "Enter" && event.key !== " ") return
    event.preventDefault()
    event.stopPropagation()
    touch()
  }
  const button = { role: "button", tabIndex: isAsked ? 0 : -1, "aria-pressed": isFrom }
  const given = {
    "aria-disabled": refusal !== undefined,
    "aria-label": refusal === undefined ? label : `${label}: ${refusal}`,
    onClick: (event: MouseEvent) => {
      // A click at a port is no click at its node.
      event.stopPropagation()
      touch()
    },
    onKeyDown,
    title: refusal ?? port.kind,
    ...(isReachable ? button : { "aria-hidden": true }),
  }
  return { isReachable, end, from, refusal, given }
}

/** Draws one port. */
export const CanvasPort = (props: CanvasPortProps) => {
  const { box, index, isInner = false, port, side } = props
  const { messages } = useSurroundings()
  const { addAfter, isEditable } = useCanvasActions()
  const { end, from, given, isReachable, refusal } = useButton(props)
  const isOutput = side === "source"
  const top = isInner ? bodyHandleAt(0, index) : handleAt(index)
  return (
    <li data-error={isOutput && port.name === "error"} title={port.kind}>
      <Handle
        className={`nokey ${styles.handle}`}
        data-refused={refusal !== undefined}
        id={port.name}
        isConnectable={isEditable}
        position={isOutput ? Position.Right : Position.Left}
        style={{ top }}
        type={side}
        {...given}
      />
      <span>
        {port.name}
        {port.required && !isOutput ? " *" : ""}
      </span>
      {isOutput && isReachable && from === undefined ? (
        <button
          aria-label={messages.addAfter(port.name, box.label)}
          className={`nokey nodrag nopan ${styles.plus}`}
          onClick={(event) => {
            event.stopPropagation()
            addAfter(end)
          }}
          style={{ top }}
          title={messages.addAfter(port.name, box.label)}
          type="button"
        >
          <Plus aria-hidden size={16} />
        </button>
      ) : null}
    </li>
  )
}
