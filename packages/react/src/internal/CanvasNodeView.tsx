/**
 * One node on the canvas: its name, its type, its state and a row for each port.
 */
import type { Node, NodeProps } from "@xyflow/react"
import { Handle, Position, useStore } from "@xyflow/react"
import { memo } from "react"
import type { BoxPort, CanvasBox } from "../model/CanvasLayout.ts"
import { handleAt } from "../model/CanvasLayout.ts"
import styles from "./Canvas.module.css"
import { StateIcon, TypeIcon } from "./Icons.tsx"
import { useSurroundings } from "./Surroundings.ts"

/** Below this zoom, names of ports cannot be read. */
const readableZoom = 0.35

interface PortsProps {
  readonly isFar: boolean
  readonly ports: ReadonlyArray<BoxPort>
  readonly side: "source" | "target"
}

const Ports = ({ isFar, ports, side }: PortsProps) => (
  <ul className={side === "source" ? styles.outputs : styles.inputs}>
    {ports.map(({ kind, name, required }, index) => (
      <li data-error={side === "source" && name === "error"} key={name} title={kind}>
        <Handle
          className={styles.handle ?? ""}
          id={name}
          isConnectable={false}
          position={side === "source" ? Position.Right : Position.Left}
          style={{ top: handleAt(index) }}
          type={side}
        />
        {isFar ? null : (
          <span>
            {name}
            {required && side === "target" ? " *" : ""}
          </span>
        )}
      </li>
    ))}
  </ul>
)

/** Drawn again only when its box is another one. */
export const CanvasNodeView = memo(
  ({ data, selected }: NodeProps<Node<{ readonly box: CanvasBox }, "box">>) => {
    const { messages } = useSurroundings()
    const { box } = data
    const isFar = useStore(({ transform }) => transform[2] < readableZoom)
    const subtitle = box.isKnown ? box.typeName : messages.unknownType
    return (
      <div
        className={styles.box}
        data-disabled={box.isDisabled}
        data-selected={selected}
        data-state={box.state}
      >
        <div className={styles.head}>
          <TypeIcon {...box} />
          <div className={styles.names}>
            <strong dir="auto">{box.label}</strong>
            <span dir="auto">{box.isDisabled ? messages.disabled : subtitle}</span>
          </div>
          {box.state === undefined ? null : (
            <span className={styles.state} title={messages.nodeStates[box.state]}>
              <StateIcon size={18} state={box.state} />
            </span>
          )}
        </div>
        <div className={styles.ports}>
          <Ports isFar={isFar} ports={box.inputs} side="target" />
          <Ports isFar={isFar} ports={box.outputs} side="source" />
        </div>
      </div>
    )
  },
)
