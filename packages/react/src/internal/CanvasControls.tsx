/**
 * The buttons below the canvas: zoom, the whole graph, and what can be done with what is selected.
 */
import { useReactFlow } from "@xyflow/react"
import type { LucideIcon } from "lucide-react"
import {
  ArrowDown,
  ArrowLeft,
  ArrowRight,
  ArrowUp,
  AlignCenterHorizontal,
  AlignCenterVertical,
  AlignEndHorizontal,
  AlignEndVertical,
  AlignHorizontalDistributeCenter,
  AlignStartHorizontal,
  AlignStartVertical,
  AlignVerticalDistributeCenter,
  BoxSelect,
  CircleSlash,
  Copy,
  Group,
  Keyboard,
  LayoutDashboard,
  Maximize,
  Network,
  Pencil,
  Plus,
  Trash2,
  ZoomIn,
  ZoomOut,
} from "lucide-react"
import { useState } from "react"
import "./Base.css"
import styles from "./Canvas.module.css"
import type { CanvasEditing } from "./CanvasEditing.ts"
import type { SeveralAtOnce } from "./SeveralAtOnce.ts"
import { useSurroundings } from "./Surroundings.ts"
import theme from "./Theme.module.css"

interface ControlProps {
  readonly icon: LucideIcon
  readonly label: string
  readonly onClick: () => void
  readonly isDisabled?: boolean
  readonly isExpanded?: boolean
  readonly isPressed?: boolean
}

const Control = (props: ControlProps) => {
  const { icon: Icon, isDisabled = false, isExpanded, isPressed, label, onClick } = props
  return (
    <button
      aria-expanded={isExpanded}
      aria-pressed={isPressed}
      aria-label={label}
      disabled={isDisabled}
      onClick={onClick}
      title={label}
      type="button"
    >
      <Icon aria-hidden size={18} />
    </button>
  )
}

const alignmentIcons = {
  left: AlignStartVertical,
  center: AlignCenterVertical,
  right: AlignEndVertical,
  top: AlignStartHorizontal,
  middle: AlignCenterHorizontal,
  bottom: AlignEndHorizontal,
  across: AlignHorizontalDistributeCenter,
  down: AlignVerticalDistributeCenter,
} as const

const alignments = Object.keys(alignmentIcons) as Array<keyof typeof alignmentIcons>

const nudgeIcons = { left: ArrowLeft, right: ArrowRight, up: ArrowUp, down: ArrowDown } as const

const directions = Object.keys(nudgeIcons) as Array<keyof typeof nudgeIcons>

/** Whatever can be done by dragging, without it. */
const Arranging = ({ editing }: { readonly editing: CanvasEditing }) => {
  const { messages } = useSurroundings()
  const [isOpen, setOpen] = useState(false)
  const { arrange, nudge, selection } = editing
  const { size } = selection.nodeIds
  return (
    <>
      <Control
        icon={LayoutDashboard}
        isDisabled={size === 0}
        isExpanded={isOpen && size > 0}
        label={messages.arrange}
        onClick={() => setOpen(!isOpen)}
      />
      {!isOpen || size === 0 ? null : (
        <div aria-label={messages.arrange} className={styles.group} role="group">
          {directions.map((where) => (
            <Control
              icon={nudgeIcons[where]}
              key={where}
              label={messages.nudges[where]}
              onClick={() => nudge(where)}
            />
          ))}
          {alignments.map((how) => (
            <Control
              icon={alignmentIcons[how]}
              isDisabled={size < 2}
              key={how}
              label={messages.alignments[how]}
              onClick={() => arrange(how)}
            />
          ))}
        </div>
      )}
    </>
  )
}

/** Moves what is selected into a loop and out of it. */
const LoopChoice = ({ editing }: { readonly editing: CanvasEditing }) => {
  const { messages } = useSurroundings()
  const { into, loopOfChosen = "", loops, selection } = editing
  if (selection.nodeIds.size === 0 || loops.length === 0) return null
  return (
    <select
      aria-label={messages.loopOfChosen}
      className={styles.loops}
      onChange={({ target }) => into(target.value === "" ? undefined : target.value)}
      title={messages.loopOfChosen}
      value={loopOfChosen}
    >
      <option value="">{messages.noLoop}</option>
      {loops.map(({ id, label }) => (
        <option key={id} value={id}>
          {messages.inLoop(label)}
        </option>
      ))}
    </select>
  )
}

interface EditingProps {
  readonly editing: CanvasEditing
  readonly several: SeveralAtOnce
}

const Editing = ({ editing, several }: EditingProps) => {
  const { messages } = useSurroundings()
  const { nodeIds, edgeIds } = editing.selection
  const hasNodes = nodeIds.size > 0
  return (
    <>
      <button
        className={theme.button}
        onClick={() => editing.openPalette()}
        ref={editing.paletteButton}
        title={messages.addHint}
        type="button"
      >
        <Plus aria-hidden size={16} />
        {messages.addNode}
      </button>
      <Control
        icon={Pencil}
        isDisabled={nodeIds.size !== 1}
        label={messages.rename}
        onClick={editing.rename}
      />
      <Control
        icon={CircleSlash}
        isDisabled={!hasNodes}
        label={messages.disable}
        onClick={editing.disable}
      />
      <Control
        icon={Copy}
        isDisabled={!hasNodes}
        label={messages.duplicate}
        onClick={editing.duplicate}
      />
      <Control icon={Group} isDisabled={!hasNodes} label={messages.frame} onClick={editing.frame} />
      <Control
        icon={BoxSelect}
        isPressed={several.isOn}
        label={messages.severalAtOnce}
        onClick={several.toggle}
      />
      <LoopChoice editing={editing} />
      <Arranging editing={editing} />
      <Control
        icon={Trash2}
        isDisabled={!hasNodes && edgeIds.size === 0}
        label={messages.remove}
        onClick={editing.remove}
      />
    </>
  )
}

interface CanvasControlsProps {
  readonly tidyUp: () => void
  /** Nothing if the graph cannot be changed. */
  readonly editing: CanvasEditing | undefined
  readonly several?: SeveralAtOnce
  readonly said: string
  readonly openSheet: () => void
}

/** Stands inside of a `ReactFlowProvider`. */
export const CanvasControls = (props: CanvasControlsProps) => {
  const { editing, openSheet, said, several, tidyUp } = props
  const { messages } = useSurroundings()
  const { fitView, zoomIn, zoomOut } = useReactFlow()
  const fit = () => void fitView({ maxZoom: 1, padding: 0.12 })
  return (
    <div className={styles.controls}>
      {editing === undefined || several === undefined ? null : (
        <Editing editing={editing} several={several} />
      )}
      <Control icon={ZoomIn} label={messages.zoomIn} onClick={() => void zoomIn()} />
      <Control icon={ZoomOut} label={messages.zoomOut} onClick={() => void zoomOut()} />
      <Control icon={Maximize} label={messages.fitView} onClick={fit} />
      <Control icon={Network} label={messages.tidyUp} onClick={tidyUp} />
      {editing === undefined ? null : (
        <Control icon={Keyboard} label={messages.keys} onClick={openSheet} />
      )}
      <p aria-live="polite" className={styles.said}>
        {said}
      </p>
    </div>
  )
}
