/**
 * One node on the canvas: its name, its type, its state, a row for each port, and what the
 * application draws in it.
 */
import type { Node, NodeProps } from "@xyflow/react"
import { ChevronDown, ChevronRight, Pin, Plus, TriangleAlert } from "lucide-react"
import type { KeyboardEvent } from "react"
import { memo, useEffect, useRef } from "react"
import { bodyPortWidth } from "../model/internal/BoxFrames.ts"
import type { BoxBody, BoxPort, CanvasBox } from "../model/CanvasBox.ts"
import { handleAt } from "../model/CanvasBox.ts"
import styles from "./Canvas.module.css"
import type { BoxData } from "./CanvasContext.ts"
import { useCanvasActions } from "./CanvasContext.ts"
import { CanvasPort } from "./CanvasPort.tsx"
import { StateIcon, TypeIcon } from "./Icons.tsx"
import { useSurroundings } from "./Surroundings.ts"

/** A node as React Flow keeps it. */
export type BoxNode = Node<BoxData, "box">

interface PortsProps {
  readonly box: CanvasBox
  readonly ports: ReadonlyArray<BoxPort>
  readonly side: "source" | "target"
}

/** Shows inputs that have no row, or takes their rows away again. */
const MoreInputs = ({ box }: { readonly box: CanvasBox }) => {
  const { messages } = useSurroundings()
  const { toggleInputs } = useCanvasActions()
  if (box.hiddenInputs === 0 && !box.isExpanded) return null
  return (
    <li>
      <button
        aria-expanded={box.isExpanded}
        className={`nokey nodrag nopan ${styles.more}`}
        onClick={(event) => {
          event.stopPropagation()
          toggleInputs(box.id)
        }}
        type="button"
      >
        {box.isExpanded ? messages.fewerInputs : messages.moreInputs(box.hiddenInputs)}
      </button>
    </li>
  )
}

/** Draws a loop without the nodes in it, or with them again. */
const LoopToggle = ({ box }: { readonly box: CanvasBox }) => {
  const { messages } = useSurroundings()
  const { toggleLoop } = useCanvasActions()
  const isCollapsed = box.collapsed.length > 0
  if (!isCollapsed && (box.body?.count ?? 0) === 0) return null
  const label = isCollapsed ? messages.expandLoop(box.label) : messages.collapseLoop(box.label)
  const Icon = isCollapsed ? ChevronRight : ChevronDown
  return (
    <button
      aria-expanded={!isCollapsed}
      aria-label={label}
      className={`nokey nodrag nopan ${styles.toggle}`}
      onClick={(event) => {
        event.stopPropagation()
        toggleLoop(box.id)
      }}
      title={label}
      type="button"
    >
      <Icon aria-hidden size={18} />
    </button>
  )
}

const Ports = ({ box, ports, side }: PortsProps) => (
  <ul className={side === "source" ? styles.outputs : styles.inputs}>
    {ports.map((port, index) => (
      <CanvasPort box={box} index={index} key={port.name} port={port} side={side} />
    ))}
    {side === "target" ? <MoreInputs box={box} /> : null}
  </ul>
)

/** The name as a field. Enter and leaving it keep what was written, Escape does not. */
const NameField = ({ box }: { readonly box: CanvasBox }) => {
  const { messages } = useSurroundings()
  const { endRenaming } = useCanvasActions()
  const isOver = useRef(false)
  const end = (label?: string) => {
    if (isOver.current) return
    isOver.current = true
    endRenaming(box.id, label)
  }
  const onKeyDown = (event: KeyboardEvent<HTMLInputElement>) => {
    event.stopPropagation()
    if (event.key === "Enter") end(event.currentTarget.value)
    if (event.key === "Escape") end()
  }
  return (
    <input
      aria-label={messages.nameOf(box.label)}
      autoFocus
      className={`nokey nodrag nopan ${styles.name}`}
      defaultValue={box.label}
      dir="auto"
      onBlur={({ currentTarget }) => end(currentTarget.value)}
      onFocus={({ currentTarget }) => currentTarget.select()}
      onKeyDown={onKeyDown}
    />
  )
}

const Head = ({ box, problems }: BoxData) => {
  const { messages } = useSurroundings()
  const { beginRenaming, isEditable, nodeViews, renaming } = useCanvasActions()
  const { color, icon: Icon } = nodeViews[box.type] ?? {}
  const type = box.isKnown ? box.typeName : messages.unknownType
  const { length: hidden } = box.collapsed
  const shown = hidden === 0 ? type : messages.collapsed(hidden)
  const subtitle = box.framed === undefined ? shown : messages.framed(box.framed.length)
  return (
    <div
      className={styles.head}
      {...(isEditable ? { onDoubleClick: () => beginRenaming(box.id) } : {})}
    >
      <span className={styles.icon} style={color === undefined ? {} : { color }}>
        {Icon === undefined ? <TypeIcon {...box} /> : <Icon size={18} />}
      </span>
      {renaming === box.id ? (
        <NameField box={box} />
      ) : (
        <div className={styles.names}>
          <strong dir="auto">{box.label}</strong>
          <span dir="auto">{box.isDisabled ? messages.disabled : subtitle}</span>
        </div>
      )}
      {box.isPinned ? (
        <span className={styles.pinned} title={messages.pinnedHint}>
          <Pin aria-hidden size={18} />
        </span>
      ) : null}
      {problems === 0 ? null : (
        <span className={styles.problem} title={messages.problemCount(problems)}>
          <TriangleAlert aria-hidden size={18} />
        </span>
      )}
      {box.state === undefined ? null : (
        <span className={styles.state} title={messages.nodeStates[box.state]}>
          <StateIcon size={18} state={box.state} />
        </span>
      )}
      <LoopToggle box={box} />
    </div>
  )
}

/** Where ports are that are not drawn: React Flow draws no edge at a node without any. */
const Places = ({ ports, side }: Omit<PortsProps, "box">) =>
  ports.map(({ name }, index) => (
    <i
      aria-hidden
      className={`${styles.handle} ${styles.place} ${side}`}
      data-handleid={name}
      data-handlepos={side === "source" ? "right" : "left"}
      key={name}
      style={{ top: handleAt(index) }}
    />
  ))

/** The ports of a box, or where they would be. */
const AllPorts = ({ box }: { readonly box: CanvasBox }) => {
  const { zoom } = useCanvasActions()
  // From afar they cannot be read, and a thousand of them make panning slow.
  return zoom === "far" ? (
    <>
      <Places ports={box.inputs} side="target" />
      <Places ports={box.outputs} side="source" />
    </>
  ) : (
    <div className={styles.ports}>
      <Ports box={box} ports={box.inputs} side="target" />
      <Ports box={box} ports={box.outputs} side="source" />
    </div>
  )
}

/** What the nodes in a loop see of it, and a button that adds one. */
const LoopBody = ({ body, box }: { readonly body: BoxBody; readonly box: CanvasBox }) => {
  const { messages } = useSurroundings()
  const { addIn, isEditable, zoom } = useCanvasActions()
  return (
    <>
      <div className={styles.body} style={{ insetBlockStart: body.top }}>
        {isEditable && body.count === 0 ? <p>{messages.emptyLoop}</p> : null}
      </div>
      <ul className={styles.inner} style={{ inlineSize: bodyPortWidth, insetBlockStart: body.top }}>
        {body.ports.map((port, index) => (
          <CanvasPort box={box} index={index} isInner key={port.name} port={port} side="source" />
        ))}
        {isEditable && zoom !== "far" ? (
          <li>
            <button
              aria-label={messages.addInLoop(box.label)}
              className={`nokey nodrag nopan ${styles.more}`}
              onClick={(event) => {
                event.stopPropagation()
                addIn(box.id)
              }}
              title={messages.addInLoop(box.label)}
              type="button"
            >
              <Plus aria-hidden size={16} />
            </button>
          </li>
        ) : null}
      </ul>
    </>
  )
}

/** Drawn again only when its box is another one. */
export const CanvasNodeView = memo(({ data, selected }: NodeProps<BoxNode>) => {
  const { box, problems } = data
  const { nodeViews, toFocus } = useCanvasActions()
  const view = nodeViews[box.type]
  const root = useRef<HTMLDivElement>(null)
  useEffect(() => {
    if (toFocus.current !== box.id) return
    toFocus.current = undefined
    root.current?.closest<HTMLElement>(".react-flow__node")?.focus({ preventScroll: true })
  }, [box.id, toFocus])
  if (box.framed !== undefined)
    return (
      <div className={styles.frame} data-selected={selected} ref={root}>
        <Head box={box} problems={problems} />
      </div>
    )
  if (box.body !== undefined || box.collapsed.length > 0)
    return (
      <div
        className={styles.loop}
        data-disabled={box.isDisabled}
        data-problem={problems > 0}
        data-selected={selected}
        data-state={box.state}
        ref={root}
        style={view?.color === undefined ? {} : { borderTopColor: view.color }}
      >
        <div className={styles.top} style={{ blockSize: box.body?.top ?? "100%" }}>
          <Head box={box} problems={problems} />
          <AllPorts box={box} />
        </div>
        {box.body === undefined ? null : <LoopBody body={box.body} box={box} />}
      </div>
    )
  return (
    <div
      className={styles.box}
      data-disabled={box.isDisabled}
      data-problem={problems > 0}
      data-selected={selected}
      data-state={box.state}
      ref={root}
      style={view?.color === undefined ? {} : { borderTopColor: view.color }}
    >
      <Head box={box} problems={problems} />
      <AllPorts box={box} />
      {box.note === undefined ? null : (
        <p className={styles.note} dir="auto">
          {box.note}
        </p>
      )}
      {view?.renderNode === undefined ? null : (
        <div className={styles.content} style={{ blockSize: box.contentHeight }}>
          {view.renderNode(box)}
        </div>
      )}
    </div>
  )
})
