/**
 * The editor put together: the bar, the canvas or the table of nodes, and the chosen node.
 *
 * Guarantees: a run is shown on the canvas that is edited, which keeps its view. Keys of undo and
 * redo act in the whole editor, and never while somebody types; that of saving does then, too.
 */
import type { NodeTypeItem } from "@millrace/api/PromiseClient"
import type { KeyboardEvent } from "react"
import { useEffect, useMemo, useRef, useState } from "react"
import { Canvas } from "../../Canvas.tsx"
import type { EditingReading } from "../../Editing.ts"
import { useEditing } from "../../Editing.ts"
import { useNodeTypes } from "../../Hooks.ts"
import { layoutOf } from "../../model/CanvasLayout.ts"
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
  const running = useEditorRun({
    editing,
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
  const onCommand = useMemo(() => (command: Command) => void editing.do(command), [editing])
  return { choose, focusOn, nodeId, onCommand, onJump, problems, readOnly, running, setTab, tab }
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
  const { choose, focusOn, nodeId, onCommand, problems, readOnly, running } = parts
  const { document, editing, validation } = reading
  const side = useRef<HTMLElement>(null)
  const close = () => {
    choose(undefined)
    focusNode(side.current?.parentElement, nodeId)
  }
  const box = useMemo(
    () => layoutOf(document, nodeTypes).boxes.find(({ id }) => id === nodeId),
    [document, nodeId, nodeTypes],
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
          onCommand={onCommand}
          onSave={() => editing.save()}
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
          readOnly={given.readOnly === true}
          runId={running.runId}
        />
      )}
    </aside>
  )
}

/** Names of ports and what they take, as far as the server has told. */
const useDrawn = (document: WorkflowDocument, validation: Reading["validation"]) =>
  useMemo(
    () => ({
      nodes: document.nodes,
      edges: document.edges,
      ...(validation === undefined ? {} : { ports: validation.nodes }),
    }),
    [document.nodes, document.edges, validation],
  )

const Main = ({ parts, props }: { readonly parts: Parts; readonly props: PartsProps }) => {
  const { messages } = useSurroundings()
  const { given, nodeTypes, reading } = props
  const { choose, focusOn, nodeId, onCommand, onJump, problems, readOnly, running, setTab, tab } =
    parts
  const { document, editing, selection, validation } = reading
  const drawn = useDrawn(document, validation)
  const wrong = useMemo(() => problems.filter(({ isWarning }) => !isWarning), [problems])
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
          <Canvas
            keys={given.keys}
            lookAt={focusOn?.nodeId}
            nodeTypes={nodeTypes}
            nodeViews={given.nodeViews}
            onCommand={onCommand}
            onRedo={() => editing.redo()}
            onSelection={(next) => editing.select(next)}
            onUndo={() => editing.undo()}
            problems={running.runId === undefined ? wrong : []}
            readOnly={readOnly}
            selection={selection}
            states={running.states}
            value={drawn}
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
const editorKeys = (editing: EditingReading["editing"]) => (event: KeyboardEvent) => {
  const isCommand = (event.ctrlKey || event.metaKey) && !event.altKey && !event.shiftKey
  if (isCommand && event.key.toLowerCase() === "s") {
    event.preventDefault()
    void editing.save()
  }
  if (event.defaultPrevented || isTyping(event.target)) return
  const asked = keyActionOf(event.nativeEvent)
  if (asked !== "undo" && asked !== "redo") return
  event.preventDefault()
  editing[asked]()
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
      onKeyDown={readOnly ? undefined : editorKeys(reading.editing)}
    >
      <EditorBar
        onJump={onJump}
        onSavedAsNew={given.onSavedAsNew}
        problems={problems}
        readOnly={isLooked}
        reading={reading}
        running={running}
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
