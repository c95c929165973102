/**
 * A canvas on which a graph is edited.
 *
 * Guarantees: each gesture is one command: a drag is proposed when it ends. The focus stays on the
 * canvas when what had it is gone.
 */
import { useReactFlow } from "@xyflow/react"
import type { KeyboardEvent, PointerEvent } from "react"
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "react"
import { bodyHandleAt, bodyPortWidth } from "../model/internal/BoxFrames.ts"
import { handleAt } from "../model/CanvasBox.ts"
import type { Command } from "../model/editing/Command.ts"
import styles from "./Canvas.module.css"
import type { CanvasActions, PortEnd } from "./CanvasContext.ts"
import { CanvasContext, useZoomLevel } from "./CanvasContext.ts"
import { CanvasControls } from "./CanvasControls.tsx"
import { useClipboard } from "./CanvasCopies.ts"
import { useCanvasEditing } from "./CanvasEditing.ts"
import { useElements } from "./CanvasElements.ts"
import { CanvasFrame } from "./CanvasFrame.tsx"
import type { KeyAction } from "./CanvasKeys.ts"
import { isTyping, keyActionOf } from "./CanvasKeys.ts"
import { collapse, nothingSelected, useSelection } from "./CanvasSelection.ts"
import { useJoining } from "./Joining.ts"
import { useLatest } from "./Latest.ts"
import { KeySheet } from "./KeySheet.tsx"
import { useMoving } from "./NodeMoving.ts"
import { Palette } from "./Palette.tsx"
import type { SeveralAtOnce } from "./SeveralAtOnce.ts"
import { useSeveralAtOnce } from "./SeveralAtOnce.ts"
import type { DrawnCanvasProps } from "./ShownCanvas.tsx"
import { useSurroundings } from "./Surroundings.ts"

const adding = ["Shift", "Meta", "Control"]

/** With Shift, browsers extend what is selected as text up to where a box of nodes begins. */
const endTextSelection = ({ shiftKey, target }: PointerEvent) => {
  if (shiftKey && !isTyping(target)) document.getSelection()?.removeAllRanges()
}

/** Gives the focus to the canvas when the element is gone that had it. */
const useKeptFocus = (root: { readonly current: HTMLElement | null }) => {
  const hadFocus = useRef(false)
  useEffect(() => {
    const stop = new AbortController()
    const look = ({ target }: Event) => {
      hadFocus.current = target instanceof Node && root.current?.contains(target) === true
    }
    document.addEventListener("focusin", look, stop)
    document.addEventListener("pointerdown", look, stop)
    return () => stop.abort()
  }, [root])
  useLayoutEffect(() => {
    if (hadFocus.current && document.activeElement === document.body)
      root.current?.focus({ preventScroll: true })
  })
}

interface EditableCanvasProps extends DrawnCanvasProps {
  readonly onCommand: (command: Command) => void
}

/** All that the canvas can do, and what it says. */
const useEditor = (props: EditableCanvasProps) => {
  const { layout, nodeViews, onCommand, readOnly = false, toggleInputs } = props
  const stage = useRef<HTMLDivElement>(null)
  const zoom = useZoomLevel()
  const [said, say] = useState("")
  const { flowToScreenPosition, screenToFlowPosition } = useReactFlow()
  const chosen = useSelection(props)
  const editing = useCanvasEditing({ ...props, ...chosen, onCommand, say, stage })
  const screenOf = (at: { readonly x: number; readonly y: number }) => {
    const { height, left, top, width } = stage.current!.getBoundingClientRect()
    const x = Math.max(8, Math.min(at.x - left, width - 336))
    return { x, y: Math.max(8, Math.min(at.y - top, height - 376)) }
  }
  const onDropped = (from: PortEnd, at: { readonly x: number; readonly y: number }) =>
    editing.openPalette({ from, place: screenToFlowPosition(at), screen: screenOf(at) })
  const joining = useJoining({ ...props, say, onDropped })
  const { beginRenaming, endRenaming, renaming, toFocus } = editing
  const { from, refusalOf } = joining
  const addAfter = (end: PortEnd) => {
    const box = layout.boxes.find(({ id }) => id === end.nodeId)
    if (box === undefined) return
    const { body, outputs, width, x, y } = box
    const [outer, inner] = [outputs, body?.ports ?? []].map((ports) =>
      ports.findIndex(({ name }) => name === end.port),
    )
    const at =
      outer! < 0 && inner! >= 0
        ? { x: x + bodyPortWidth + 48, y: y + bodyHandleAt(body!.top, inner!) - 40 }
        : { x: x + width + 48, y: y + handleAt(outer!) - 40 }
    editing.openPalette({ from: end, screen: screenOf(flowToScreenPosition(at)) })
  }
  const addIn = (loopId: string) => {
    const box = layout.boxes.find(({ id }) => id === loopId)
    if (box?.body === undefined) return
    const at = { x: box.x + bodyPortWidth, y: box.y + box.body.top }
    editing.openPalette({ into: loopId, screen: screenOf(flowToScreenPosition(at)) })
  }
  const { lookAtChosen } = editing
  const calls = useLatest({
    addAfter,
    addIn,
    beginRenaming,
    endRenaming,
    lookAtChosen,
    toggleLoop: (loopId: string) => collapse(props, chosen, loopId),
    touchPort: joining.touchPort,
  })
  useEffect(() => {
    const watch = new ResizeObserver(() => calls.lookAtChosen())
    watch.observe(stage.current!)
    return () => watch.disconnect()
  }, [calls])
  const actions = useMemo(
    (): CanvasActions => ({
      ...calls,
      isEditable: !readOnly,
      zoom,
      from,
      refusalOf,
      renaming: readOnly ? undefined : renaming,
      nodeViews,
      toFocus,
      toggleInputs,
    }),
    [calls, readOnly, zoom, from, refusalOf, renaming, nodeViews, toFocus, toggleInputs],
  )
  return { actions, chosen, editing, joining, said, say, stage }
}

type Editor = ReturnType<typeof useEditor>

/** What keys do. */
const useKeys = (props: EditableCanvasProps, { chosen, editing, joining, say }: Editor) => {
  const { onRedo, onUndo, readOnly = false } = props
  const { messages } = useSurroundings()
  const { fitView } = useReactFlow()
  const [isOn, setOn] = useState(true)
  const [isSheetOpen, setSheetOpen] = useState(false)
  const areUsed = isOn && props.keys !== false
  const always: Partial<Record<KeyAction, () => void>> = {
    fit: () => void fitView({ maxZoom: 1, padding: 0.12 }),
    sheet: () => setSheetOpen(true),
    all: editing.selectAll,
  }
  const edits: Partial<Record<KeyAction, () => void>> = {
    palette: () => editing.openPalette(),
    duplicate: editing.duplicate,
    remove: editing.remove,
    rename: editing.rename,
    disable: editing.disable,
    frame: editing.frame,
    ...(onUndo === undefined ? {} : { undo: onUndo }),
    ...(onRedo === undefined ? {} : { redo: onRedo }),
  }
  const onKeyDown = (event: KeyboardEvent) => {
    if (!areUsed || event.defaultPrevented || isTyping(event.target)) return
    const asked = keyActionOf(event.nativeEvent)
    const act =
      asked === undefined ? undefined : (always[asked] ?? (readOnly ? undefined : edits[asked]))
    if (act === undefined) return
    event.preventDefault()
    act()
  }
  const onKeyDownCapture = (event: KeyboardEvent) => {
    if (event.key !== "Escape" || isTyping(event.target)) return
    const { edgeIds, nodeIds } = chosen.selection
    if (joining.from !== undefined) {
      joining.end()
      say(messages.joiningEnded)
    } else if (nodeIds.size + edgeIds.size > 0) chosen.select(nothingSelected)
    else return
    event.stopPropagation()
  }
  return { areUsed, isOn, isSheetOpen, onKeyDown, onKeyDownCapture, setOn, setSheetOpen }
}

interface StageProps {
  readonly editor: Editor
  readonly props: EditableCanvasProps
  readonly several: SeveralAtOnce
}

const CanvasStage = ({ editor, props, several }: StageProps) => {
  const { messages } = useSurroundings()
  const { chosen, editing, joining, stage } = editor
  const { layout, lookAt, nodeTypes, nodeViews, problems, readOnly = false, value } = props
  const { moving, take } = useMoving(editing, layout.boxes)
  const elements = useElements({ layout, moving, problems, selection: chosen.selection })
  const { wanted } = editing
  return (
    <div className={styles.stage} ref={stage} tabIndex={-1}>
      <CanvasFrame
        {...elements}
        {...joining.flow}
        connectionRadius={24}
        isEditable={!readOnly}
        lookAt={lookAt}
        multiSelectionKeyCode={several.isOn ? null : adding}
        onEdgesChange={chosen.takeEdges}
        onNodesChange={(changes) => {
          take(changes)
          chosen.takeNodes(changes)
        }}
        onPaneClick={joining.end}
        panOnDrag={!several.isOn}
        selectionKeyCode="Shift"
        selectionOnDrag={several.isOn}
        zoomOnDoubleClick={readOnly}
      />
      {value.nodes.length > 0 || readOnly ? null : (
        <p className={styles.hint}>{messages.addHint}</p>
      )}
      {wanted === undefined || readOnly ? null : (
        <Palette
          at={wanted.screen}
          hasRequest={value.nodes.some(({ type }) => type === "request")}
          nodeTypes={nodeTypes}
          nodeViews={nodeViews}
          onChoose={editing.add}
          onClose={editing.closePalette}
        />
      )}
    </div>
  )
}

/** Draws a graph that can be changed, unless it is read-only just now. */
export const EditableCanvas = (props: EditableCanvasProps) => {
  const { readOnly = false } = props
  const editor = useEditor(props)
  const { actions, editing, said } = editor
  const keys = useKeys(props, editor)
  const several = useSeveralAtOnce()
  const root = useRef<HTMLDivElement>(null)
  useKeptFocus(root)
  useClipboard(root, editing, keys.areUsed && !readOnly)
  return (
    <CanvasContext.Provider value={actions}>
      <div
        className={styles.canvas}
        onKeyDown={keys.onKeyDown}
        onKeyDownCapture={keys.onKeyDownCapture}
        onPointerDownCapture={endTextSelection}
        ref={root}
        tabIndex={-1}
      >
        <CanvasStage editor={editor} props={props} several={several} />
        <CanvasControls
          editing={readOnly ? undefined : editing}
          openSheet={() => keys.setSheetOpen(true)}
          several={several}
          said={readOnly ? "" : said}
          tidyUp={editing.tidy}
        />
        {keys.isSheetOpen ? (
          <KeySheet
            hasHistory={props.onUndo !== undefined}
            isOn={keys.isOn}
            onClose={() => keys.setSheetOpen(false)}
            onSwitch={keys.setOn}
          />
        ) : null}
      </div>
    </CanvasContext.Provider>
  )
}
