/**
 * One node of a draft, to change what it does: its inputs, where they come from, what happens when
 * it fails, what it puts out, and what it did in the last run.
 *
 * Guarantees: controlled; every change is a command. A key that is pressed draws one field again.
 * Leaves out: where the draft is kept; the owner applies commands and validates.
 */
import type { NodeTypeItem, WorkflowValidation } from "@millrace/api/PromiseClient"
import { X } from "lucide-react"
import type { ComponentType, ReactNode } from "react"
import { useEffect, useMemo, useRef, useState } from "react"
import type { Command } from "../../model/editing/Command.ts"
import { portsIn } from "../../model/editing/Connecting.ts"
import type { DocumentNode, WorkflowDocument } from "../../model/editing/Document.ts"
import { isSame } from "../../model/editing/Document.ts"
import {
  labelOf,
  nodeInputs,
  placeOfInput,
  unfinishedOf,
} from "../../model/editing/internal/NodeInputs.ts"
import type { FieldPlace, PlacedProblem } from "../../model/editing/PlacedProblems.ts"
import { typeOf } from "../../model/internal/NodeVersions.ts"
import { TypeIcon } from "../Icons.tsx"
import { useSurroundings } from "../Surroundings.ts"
import theme from "../Theme.module.css"
import styles from "./Inspector.module.css"
import type { OwnFieldProps } from "./InputField.tsx"
import { NodeOfRun, Trial } from "./LastRunPart.tsx"
import type { Edited } from "./LinkForm.tsx"
import { NameSourceContext } from "./NameInput.tsx"
import { useNameSource } from "./NameSource.ts"
import { NodeFacts } from "./NodeFacts.tsx"
import { OutputPorts } from "./OutputPorts.tsx"
import type { EditorPins } from "./Pins.ts"
import { PinnedNode } from "./PinsLine.tsx"
import { PolicyFields } from "./PolicyFields.tsx"
import { PortField } from "./PortField.tsx"
import { ProblemMarks } from "./ProblemMarks.tsx"

/** What `<Inspector>` takes. */
export interface InspectorProps {
  readonly workflowId: string
  readonly document: WorkflowDocument
  /** The node to show; none, or one that is gone, shows how to choose one. */
  readonly nodeId: string | undefined
  /** From `useNodeTypes`. */
  readonly nodeTypes: ReadonlyArray<NodeTypeItem>
  /** Of the draft, from the server; a little older than the draft while somebody types. */
  readonly validation: WorkflowValidation | undefined
  /** From `placedProblems`. */
  readonly problems: ReadonlyArray<PlacedProblem>
  readonly onCommand: (command: Command) => void
  /** Saves what is drawn, before the node is run alone. */
  readonly onSave: () => Promise<unknown>
  /** The run whose values are shown. */
  readonly lastRunId?: string | undefined
  /** What of a past run stands for nodes. */
  readonly pinned?: EditorPins | undefined
  /** Called with the run that the viewer has started from here. */
  readonly onTried?: ((runId: string) => void) | undefined
  /** Where the focus goes, each time that it is another object. */
  readonly focusOn?: FieldPlace | undefined
  readonly onClose?: (() => void) | undefined
  /** Names of secrets that the account has, where somebody knows them. */
  readonly secrets?: ReadonlyArray<string> | undefined
  /** Fields of an application, by node type and input. */
  readonly nodeViews?: OwnFields | undefined
  readonly readOnly?: boolean | undefined
}

/** Fields of an application, by node type and input. */
export type OwnFields = Readonly<
  Record<string, { readonly fields?: Readonly<Record<string, ComponentType<OwnFieldProps>>> }>
>

const noSecrets: ReadonlyArray<string> = []

/** The same object as long as it says the same. */
const useSteady = <A,>(value: A): A => {
  const kept = useRef(value)
  if (!isSame(kept.current, value)) kept.current = value
  return kept.current
}

/** Puts the focus into a field, or on the name of the node. */
const useFocus = (focusOn: FieldPlace | undefined, nodeId: string) => {
  const root = useRef<HTMLElement>(null)
  useEffect(() => {
    if (focusOn === undefined || focusOn.nodeId !== nodeId) return
    const field = root.current?.querySelector(
      focusOn.place === undefined ? "h2" : `[data-field="${CSS.escape(focusOn.place)}"]`,
    )
    field?.closest("details")?.setAttribute("open", "")
    const control = field?.querySelector<HTMLElement>(
      "[aria-invalid=true], input, textarea, [contenteditable], select:not([data-form]), button",
    )
    const target = control ?? (field as HTMLElement | null | undefined)
    target?.focus()
    target?.scrollIntoView({ block: "nearest" })
  }, [focusOn, nodeId])
  return root
}

interface PartProps {
  readonly title: string
  readonly isOpen?: boolean
  /** Drawn only while it is open. */
  readonly isLazy?: boolean
  readonly children: ReactNode
}

const Part = ({ children, isLazy = false, isOpen = false, title }: PartProps) => {
  const [isShown, show] = useState(isOpen)
  return (
    <details
      className={styles.partOf}
      onToggle={({ currentTarget }) => show(currentTarget.open)}
      open={isOpen}
    >
      <summary>{title}</summary>
      {isLazy && !isShown ? null : children}
    </details>
  )
}

type Shown = InspectorProps & { readonly node: DocumentNode }

const Head = ({ node, nodeTypes, onClose, type }: Shown & { type: NodeTypeItem | undefined }) => {
  const { messages } = useSurroundings()
  return (
    <header>
      <TypeIcon category={type?.category} icon={undefined} type={node.type} />
      <h2 dir="auto" tabIndex={-1}>
        {labelOf(node, nodeTypes)}
      </h2>
      {onClose === undefined ? null : (
        <button
          aria-label={messages.closeInspector}
          className={styles.icon}
          onClick={onClose}
          type="button"
        >
          <X aria-hidden size={16} />
        </button>
      )}
    </header>
  )
}

const Inputs = ({
  edited,
  node,
  nodeViews,
  problems,
  validation,
}: Shown & { readonly edited: Edited }) => {
  const { messages } = useSurroundings()
  const { document, portsOf } = edited
  const ports = useSteady(portsOf(node.id)?.inputPorts ?? [])
  const inputs = useMemo(() => nodeInputs(document, node, ports), [document, node, ports])
  const unfinished = useMemo(() => unfinishedOf(node), [node])
  if (inputs.length === 0)
    return validation === undefined ? null : <p className={theme.muted}>{messages.noInputs}</p>
  return inputs.map((input) => {
    const place = placeOfInput(input.name)
    return (
      <PortField
        edited={edited}
        input={input}
        key={input.name}
        node={node}
        own={nodeViews?.[node.type]?.fields?.[input.name]}
        problems={problems.filter((each) => each.place === place)}
        unfinished={unfinished.get(place)}
      />
    )
  })
}

const useEdited = (props: Shown): Edited => {
  const { document, nodeTypes, onCommand, readOnly = false, validation } = props
  return useMemo(() => {
    const portsOf = portsIn(document, nodeTypes, validation)
    return { document, nodeTypes, onCommand, portsOf, readOnly }
  }, [document, nodeTypes, onCommand, readOnly, validation])
}

/** What is wrong with the node and is mended in no field. */
const OwnProblems = ({ edited, node, problems }: Shown & { readonly edited: Edited }) => {
  const fields = new Set(
    nodeInputs(edited.document, node, edited.portsOf(node.id)?.inputPorts ?? []).map(({ name }) =>
      placeOfInput(name),
    ),
  )
  const others = problems.filter(
    ({ place }) => place === undefined || (place.startsWith("inputs/") && !fields.has(place)),
  )
  return <ProblemMarks problems={others} />
}

const NodeForm = (props: Shown) => {
  const { messages } = useSurroundings()
  const { focusOn, lastRunId, node, nodeTypes, onTried, pinned, readOnly = false } = props
  const { validation } = props
  const isPinned = pinned !== undefined && Object.hasOwn(pinned.pins, node.id)
  const [triedId, setTriedId] = useState<string>()
  const type = typeOf(nodeTypes, node)
  const problems = useMemo(
    () => props.problems.filter(({ nodeId }) => nodeId === node.id),
    [props.problems, node.id],
  )
  const edited = useEdited(props)
  const shown = { ...props, edited, problems }
  const secrets = props.secrets ?? noSecrets
  const names = useNameSource({ ...props, ...edited, lastRunId, secrets })
  const credits = validation?.nodes.find(({ nodeId }) => nodeId === node.id)?.estimatedCredits
  const runId = triedId ?? lastRunId
  const root = useFocus(focusOn, node.id)
  return (
    <section aria-label={messages.inspector} className={styles.inspector} ref={root}>
      <Head {...props} type={type} />
      <div className={styles.body}>
        {type === undefined ? null : <p className={theme.muted}>{type.description}</p>}
        {isPinned ? (
          <PinnedNode label={labelOf(node, nodeTypes)} onUnpin={() => pinned?.unpin([node.id])} />
        ) : null}
        <OwnProblems {...shown} />
        <NodeFacts edited={edited} node={node} type={type} />
        <h3>{messages.nodeInputs}</h3>
        <NameSourceContext.Provider value={names}>
          <Inputs {...shown} />
        </NameSourceContext.Provider>
        <Part title={messages.nodePolicy}>
          <PolicyFields edited={edited} node={node} problems={problems} />
        </Part>
        <Part title={messages.nodeOutputs}>
          <OutputPorts ports={edited.portsOf(node.id)?.outputPorts ?? []} />
        </Part>
        {credits === undefined || credits === null ? null : (
          <p className={theme.muted}>{messages.nodeCredits(credits)}</p>
        )}
        {readOnly ? null : (
          <Trial
            {...props}
            nodeId={node.id}
            pins={pinned?.pins}
            onTried={(id) => {
              setTriedId(id)
              onTried?.(id)
            }}
            type={type}
          />
        )}
      </div>
      <Part
        isLazy
        isOpen={triedId !== undefined}
        key={triedId}
        title={triedId === undefined ? messages.lastRun : messages.triedRun}
      >
        {runId === undefined ? (
          <p className={theme.sentence}>{messages.noLastRun}</p>
        ) : (
          <NodeOfRun label={labelOf(node, nodeTypes)} nodeId={node.id} runId={runId} />
        )}
      </Part>
    </section>
  )
}

/** Shows a node to change. */
export const Inspector = (props: InspectorProps) => {
  const { messages } = useSurroundings()
  const node = props.document.nodes.find(({ id }) => id === props.nodeId)
  return node === undefined ? (
    <p className={theme.sentence}>{messages.inspectNothing}</p>
  ) : (
    <NodeForm key={node.id} {...props} node={node} />
  )
}
