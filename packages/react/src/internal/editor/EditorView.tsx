/**
 * The editor put together: the bar, the canvas or the table of nodes, and the chosen node.
 *
 * Guarantees: a run is shown on the canvas that is edited, which keeps its view. Keys of undo and
 * redo act in the whole editor, and never while somebody types; that of saving does then, too.
 */
import type { NodeTypeItem } from "@millrace/api/PromiseClient"
import type { KeyboardEvent } from "react"
import { memo, useDeferredValue, useEffect, useMemo, useRef, useState } from "react"
import { Canvas } from "../../Canvas.tsx"
import type { CanvasProblem } from "../../CanvasProps.ts"
import type { EditingReading } from "../../Editing.ts"
import { useEditing } from "../../Editing.ts"
import { useNodeTypes } from "../../Hooks.ts"
import { layoutOf } from "../../model/CanvasLayout.ts"
import type { Selection } from "../../model/editing/Clipboard.ts"
import type { Command } from "../../model/editing/Command.ts"
import type { WorkflowDocument } from "../../model/editing/Document.ts"
import type { FieldPlace } from "../../model/editing/PlacedProblems.ts"
import type { WorkflowEditorProps } from "../../WorkflowEditorProps.ts"
import { isTyping, keyActionOf } from "../CanvasKeys.ts"
import { Failure } from "../FailureText.tsx"
import { NodePanel } from "../NodePanel.tsx"
import { useSurroundings } from "../Surroundings.ts"
import { Tabs } from "../Tabs.tsx"
import theme from "../Theme.module.css"
import styles from "./Editor.module.css"
import { EditorBar } from "./EditorBar.tsx"
import { usePins } from "./Pins.ts"
import { useEditorRun } from "./EditorRun.ts"
import { Inspector } from "./Inspector.tsx"
import { NodesTable } from "./NodesTable.tsx"
import { useProblems } from "./ProblemsBar.tsx"

type Reading = EditingReading & { readonly document: WorkflowDocument }

interface PartsProps {
  readonly given: WorkflowEditorProps
  readonly reading: Reading
  readonly nodeTypes: ReadonlyArray<NodeTypeItem>
}

/** What all parts of the editor use. */
const useParts = ({ given, nodeTypes, reading }: PartsProps) => {
  const { document, editing, selection, validation } = reading
  const problems = useProblems(document, validation, nodeTypes)
  const [focusOn, setFocusOn] = useState<FieldPlace>()
  const [tab, setTab] = useState<"canvas" | "nodes">("canvas")
  const held = usePins(given.pinnedRunId, document)
  const running = useEditorRun({
    editing,
    pinnedRunId: given.pinnedRunId,
    pins: held.pins,
    onRun: given.onRun,
    runId: given.runId,
    workflowId: given.workflowId,
  })
  const readOnly = given.readOnly === true || running.runId !== undefined
  const nodeId = selection.nodeIds.size === 1 ? [...selection.nodeIds][0] : undefined
  const choose = (chosen: string | undefined) =>
    editing.select({ nodeIds: chosen === undefined ? [] : [chosen] })
  const onJump = (place: FieldPlace) => {
    choose(place.nodeId)
    setFocusOn({ ...place })
  }
  const acts = useActs(editing)
  return {
    ...acts,
    choose,
    focusOn,
    held,
    nodeId,
    onJump,
    problems,
    readOnly,
    running,
    setTab,
    tab,
  }
}

/** What the parts call: the same functions with each drawing. */
const useActs = (editing: EditingReading["editing"]) => {
  /** True if the last command came from the inspector. */
  const isTyped = useRef(false)
  return useMemo(() => {
    const from =
      <A extends ReadonlyArray<unknown>>(isInspector: boolean, act: (...given: A) => unknown) =>
      (...given: A): void => {
        isTyped.current = isInspector
        act(...given)
      }
    return {
      isTyped,
      onCommand: from(false, (command: Command) => editing.do(command)),
      onTyped: from(true, (command: Command) => editing.do(command)),
      onRedo: from(false, () => editing.redo()),
      onUndo: from(false, () => editing.undo()),
      onSelection: (next: Selection) => editing.select(next),
    }
  }, [editing])
}

type Parts = ReturnType<typeof useParts>

/** Puts the focus on a node, in the table or on the canvas. */
const focusNode = (root: HTMLElement | null | undefined, nodeId = "") => {
  const id = CSS.escape(nodeId)
  const shown = root?.querySelector<HTMLElement>(`[data-row="${id}"]`)
  const drawn = root?.querySelector<HTMLElement>(`.react-flow__node[data-id="${id}"]`)
  ;(shown ?? drawn)?.focus()
}

/** The chosen node: its inputs, or what happened to it in the run on the canvas. */
const Side = ({ parts, props }: { readonly parts: Parts; readonly props: PartsProps }) => {
  const { given, nodeTypes, reading } = props
  const { choose, focusOn, nodeId, onTyped, problems, readOnly, running } = parts
  const { document, editing, validation } = reading
  const isRunShown = running.runId !== undefined
  const side = useRef<HTMLElement>(null)
  const close = () => {
    choose(undefined)
    focusNode(side.current?.parentElement, nodeId)
  }
  const box = useMemo(
    () =>
      isRunShown ? layoutOf(document, nodeTypes).boxes.find(({ id }) => id === nodeId) : undefined,
    [document, isRunShown, nodeId, nodeTypes],
  )
  return (
    <aside className={styles.side} data-open={nodeId !== undefined} ref={side}>
      {running.runId === undefined ? (
        <Inspector
          document={document}
          focusOn={focusOn}
          lastRunId={running.lastRunId}
          nodeId={nodeId}
          nodeTypes={nodeTypes}
          nodeViews={given.nodeViews}
          onClose={close}
          onCommand={onTyped}
          onSave={() => editing.save()}
          pinned={parts.held}
          problems={problems}
          readOnly={readOnly}
          secrets={given.secrets}
          validation={validation}
          workflowId={given.workflowId}
        />
      ) : (
        <NodePanel
          box={box}
          nodeId={nodeId}
          onStarted={running.follow}
          readOnly={given.readOnly === true}
          runId={running.runId}
        />
      )}
    </aside>
  )
}

/**
 * What the canvas draws: names of ports and what they take as far as the server has told, and what
 * is wrong. While somebody types in the inspector, the canvas follows when there is time.
 */
const useDrawn = ({ isTyped, problems }: Parts, { document, validation }: Reading) => {
  const value = useMemo(
    () => ({
      nodes: document.nodes,
      edges: document.edges,
      ...(validation === undefined ? {} : { ports: validation.nodes }),
    }),
    [document.nodes, document.edges, validation],
  )
  const wrong = useMemo(() => problems.filter(({ isWarning }) => !isWarning), [problems])
  const latest = useMemo(() => ({ value, wrong }), [value, wrong])
  const later = useDeferredValue(latest)
  return isTyped.current ? later : latest
}

const noPins = {}
const noProblems: ReadonlyArray<CanvasProblem> = []

/** Not drawn again where all that it is given is the same. */
const StillCanvas = memo(Canvas)

const Main = ({ parts, props }: { readonly parts: Parts; readonly props: PartsProps }) => {
  const { messages } = useSurroundings()
  const { given, nodeTypes, reading } = props
  const { choose, focusOn, nodeId, onCommand, onJump, problems, readOnly, running, setTab, tab } =
    parts
  const { document, selection, validation } = reading
  const { value, wrong } = useDrawn(parts, reading)
  const stage = useRef<HTMLDivElement>(null)
  useEffect(() => {
    // An attribute that React 18 does not know.
    stage.current?.toggleAttribute("inert", tab !== "canvas")
  }, [tab])
  const tabs = [
    { key: "canvas", label: messages.canvasTab },
    { key: "nodes", label: messages.nodesTab },
  ] as const
  return (
    <div className={styles.main}>
      <Tabs chosen={tab} label={messages.editorParts} onChoose={setTab} tabs={tabs}>
        <div className={styles.canvas} ref={stage}>
          <StillCanvas
            keys={given.keys}
            lookAt={focusOn?.nodeId}
            nodeTypes={nodeTypes}
            nodeViews={given.nodeViews}
            onCommand={onCommand}
            onRedo={parts.onRedo}
            onSelection={parts.onSelection}
            onUndo={parts.onUndo}
            pinned={running.runId === undefined ? parts.held.pins : noPins}
            problems={running.runId === undefined ? wrong : noProblems}
            readOnly={readOnly}
            selection={selection}
            states={running.states}
            value={value}
          />
        </div>
        {tab === "canvas" ? null : (
          <NodesTable
            document={document}
            nodeTypes={nodeTypes}
            onCommand={onCommand}
            onEdit={(id) => onJump({ nodeId: id })}
            onSelect={choose}
            problems={problems}
            readOnly={readOnly}
            selected={nodeId}
            validation={validation}
          />
        )}
      </Tabs>
    </div>
  )
}

/** Saving, everywhere; undo and redo, also where the focus is beside the canvas. */
const editorKeys = (editing: EditingReading["editing"], acts: Parts) => (event: KeyboardEvent) => {
  const isCommand = (event.ctrlKey || event.metaKey) && !event.altKey && !event.shiftKey
  if (isCommand && event.key.toLowerCase() === "s") {
    event.preventDefault()
    void editing.save()
  }
  if (event.defaultPrevented || isTyping(event.target)) return
  const asked = keyActionOf(event.nativeEvent)
  if (asked !== "undo" && asked !== "redo") return
  event.preventDefault()
  if (asked === "undo") acts.onUndo()
  else acts.onRedo()
}

const Opened = (props: PartsProps) => {
  const { messages } = useSurroundings()
  const { given, reading } = props
  const parts = useParts(props)
  const { onJump, problems, readOnly, running } = parts
  const isLooked = given.readOnly === true
  return (
    <section
      aria-label={messages.editorOf(reading.document.name)}
      className={styles.editor}
      onKeyDown={readOnly ? undefined : editorKeys(reading.editing, parts)}
    >
      <EditorBar
        held={parts.held}
        onJump={onJump}
        onRedo={parts.onRedo}
        onSavedAsNew={given.onSavedAsNew}
        onUndo={parts.onUndo}
        problems={problems}
        readOnly={isLooked}
        reading={reading}
        running={running}
        workflowId={given.workflowId}
      />
      <div className={styles.body}>
        <Main parts={parts} props={props} />
        <Side parts={parts} props={props} />
      </div>
    </section>
  )
}

const noTypes: ReadonlyArray<NodeTypeItem> = []

/** Edits a workflow. */
export const EditorView = (given: WorkflowEditorProps) => {
  const { messages } = useSurroundings()
  const reading = useEditing(given.workflowId, given)
  const { data = noTypes, error, refresh } = useNodeTypes()
  const isOffline = reading.saving === "offline"
  const wasOffline = useRef(false)
  useEffect(() => {
    const isBack = wasOffline.current && !isOffline
    wasOffline.current = isOffline
    if (isBack && error !== undefined) void refresh()
  }, [error, isOffline, refresh])
  const { document } = reading
  const failure = reading.error ?? error
  if (document === undefined && failure !== undefined) return <Failure error={failure} />
  const nodeTypes = given.nodeTypes ?? data
  if (document === undefined || (nodeTypes.length === 0 && error === undefined))
    return <p className={theme.sentence}>{messages.loading}</p>
  return <Opened given={given} nodeTypes={nodeTypes} reading={{ ...reading, document }} />
}
