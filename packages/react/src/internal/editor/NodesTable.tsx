/**
 * All that a canvas can do, without one: a list of the nodes in the order of the graph, to add,
 * rename, duplicate, remove and join them. For keyboards, screen readers and phones.
 *
 * Guarantees: controlled; every change is a command. One node is open at a time, so 500 nodes are
 * 500 buttons. Leaves out: where nodes stand on the canvas; new ones stand right of all others.
 */
import type { NodeTypeItem, WorkflowValidation } from "@millrace/api/PromiseClient"
import { ChevronDown, ChevronRight, Plus } from "lucide-react"
import {
  memo,
  useCallback,
  useDeferredValue,
  useEffect,
  useId,
  useMemo,
  useRef,
  useState,
} from "react"
import { duplicated } from "../../model/editing/Clipboard.ts"
import type { Command } from "../../model/editing/Command.ts"
import { portsIn } from "../../model/editing/Connecting.ts"
import type { DocumentEdge, DocumentNode, WorkflowDocument } from "../../model/editing/Document.ts"
import { dataOf, isSame } from "../../model/editing/Document.ts"
import { freeId } from "../../model/editing/ElementId.ts"
import { labelOf } from "../../model/editing/internal/NodeInputs.ts"
import { nodesInOrder } from "../../model/editing/internal/NodeOrder.ts"
import type { PlacedProblem } from "../../model/editing/PlacedProblems.ts"
import { problemsByNode } from "../../model/editing/PlacedProblems.ts"
import { dataOfNew, offeredTypes, typeOf } from "../../model/internal/NodeVersions.ts"
import { TypeIcon } from "../Icons.tsx"
import { useSurroundings } from "../Surroundings.ts"
import theme from "../Theme.module.css"
import styles from "./NodesTable.module.css"
import { NodeRow } from "./NodeRow.tsx"
import { ProblemIcon } from "./ProblemMarks.tsx"

/** What `<NodesTable>` takes. */
export interface NodesTableProps {
  readonly document: WorkflowDocument
  /** From `useNodeTypes`. */
  readonly nodeTypes: ReadonlyArray<NodeTypeItem>
  readonly validation: WorkflowValidation | undefined
  /** From `useProblems`. */
  readonly problems: ReadonlyArray<PlacedProblem>
  readonly onCommand: (command: Command) => void
  /** The node that is open. */
  readonly selected: string | undefined
  readonly onSelect: (nodeId: string | undefined) => void
  /** Opens the inspector of a node. */
  readonly onEdit: (nodeId: string) => void
  readonly readOnly?: boolean | undefined
}

const width = 360

/** Right of all others, so that it covers none. */
const newNode = (
  document: WorkflowDocument,
  type: NodeTypeItem,
  nodeTypes: ReadonlyArray<NodeTypeItem>,
): DocumentNode => {
  const { nodes } = document
  const x = nodes.reduce((most, { position }) => Math.max(most, position.x), 40 - width) + width
  const y = nodes.reduce((least, { position }) => Math.min(least, position.y), 40)
  const data = dataOfNew(nodeTypes, type)
  return { id: freeId(document, type.key), type: type.key, position: { x, y }, data }
}

const AddForm = ({
  nodeTypes,
  onAdd,
}: {
  readonly nodeTypes: ReadonlyArray<NodeTypeItem>
  readonly onAdd: (type: NodeTypeItem) => void
}) => {
  const { messages } = useSurroundings()
  const id = useId()
  const [key, setKey] = useState("")
  const offered = useMemo(() => offeredTypes(nodeTypes), [nodeTypes])
  const type = offered.find((each) => each.key === key)
  const groups = useMemo(() => [...Map.groupBy(offered, ({ category }) => category)], [offered])
  return (
    <form
      className={styles.adding}
      onSubmit={(event) => {
        event.preventDefault()
        if (type !== undefined) onAdd(type)
      }}
    >
      <label htmlFor={id}>{messages.tableAddTitle}</label>
      <select id={id} onChange={({ target }) => setKey(target.value)} value={key}>
        <option value="">{messages.chooseType}</option>
        {groups.map(([category, types]) => (
          <optgroup key={category} label={category}>
            {types.map((each) => (
              <option key={each.key} value={each.key}>
                {each.name}
              </option>
            ))}
          </optgroup>
        ))}
      </select>
      <button className={theme.button} disabled={type === undefined} type="submit">
        <Plus aria-hidden size={16} />
        {messages.tableAdd}
      </button>
      {type === undefined ? null : <p className={theme.muted}>{type.description}</p>}
    </form>
  )
}

interface TitleProps {
  readonly node: DocumentNode
  readonly nodeTypes: ReadonlyArray<NodeTypeItem>
  readonly problems: ReadonlyArray<PlacedProblem> | undefined
  readonly ins: number
  readonly outs: number
  readonly isOpen: boolean
  readonly onToggle: (nodeId: string) => void
}

/** Drawn again only when its own node has changed. */
const Title = memo(({ ins, isOpen, node, nodeTypes, onToggle, outs, problems }: TitleProps) => {
  const { messages } = useSurroundings()
  const type = typeOf(nodeTypes, node)
  const label = labelOf(node, nodeTypes)
  const count = problems?.length ?? 0
  const warnings = problems?.filter(({ isWarning }) => isWarning).length ?? 0
  const Arrow = isOpen ? ChevronDown : ChevronRight
  return (
    <button
      aria-expanded={isOpen}
      className={styles.rowTitle}
      data-row={node.id}
      onClick={() => onToggle(node.id)}
      type="button"
    >
      <Arrow aria-hidden size={16} />
      <TypeIcon category={type?.category} icon={undefined} type={node.type} />
      <span className={styles.rowName} dir="auto">
        <strong>{label}</strong>
        <span className={theme.muted}>
          {[
            label === type?.name ? "" : (type?.name ?? messages.unknownType),
            messages.joinCount(ins, outs),
            dataOf(node)["disabled"] === true ? messages.disabled : "",
          ]
            .filter((each) => each !== "")
            .join(", ")}
        </span>
      </span>
      {count === 0 ? null : (
        <span className={styles.rowProblems}>
          <ProblemIcon isSilent isWarning={warnings === count} />
          {messages.problemsAndWarnings(count - warnings, warnings)}
        </span>
      )}
    </button>
  )
})

/** How often each node is at an end of an edge. */
const countsOf = (edges: ReadonlyArray<DocumentEdge>) => {
  const [ins, outs] = [new Map<string, number>(), new Map<string, number>()]
  for (const { source, target } of edges) {
    outs.set(source, (outs.get(source) ?? 0) + 1)
    ins.set(target, (ins.get(target) ?? 0) + 1)
  }
  return { ins, outs }
}

/** Puts the focus on the title of a node when the list has drawn it. */
const useRowFocus = (document: WorkflowDocument) => {
  const list = useRef<HTMLElement>(null)
  const wanted = useRef<string>(undefined)
  useEffect(() => {
    if (wanted.current === undefined) return
    const title = list.current?.querySelector<HTMLElement>(
      `[data-row="${CSS.escape(wanted.current)}"]`,
    )
    if (title === null || title === undefined) return
    wanted.current = undefined
    title.focus()
  }, [document])
  return { list, focusOn: (nodeId: string | undefined) => (wanted.current = nodeId) }
}

/** What the buttons of the table do. */
const useActions = (props: NodesTableProps, order: ReadonlyArray<DocumentNode>) => {
  const { document, nodeTypes, onCommand, onSelect } = props
  const { messages } = useSurroundings()
  const [said, say] = useState("")
  const { focusOn, list } = useRowFocus(document)
  const add = (nodes: ReadonlyArray<DocumentNode>) => {
    onCommand({ type: "add", nodes, edges: [] })
    const [first] = nodes
    if (first === undefined) return
    onSelect(first.id)
    focusOn(first.id)
    say(messages.tableAdded(labelOf(first, nodeTypes)))
  }
  const remove = (node: DocumentNode) => {
    const at = order.indexOf(node)
    onCommand({ type: "remove", nodeIds: [node.id], edgeIds: [] })
    onSelect(undefined)
    focusOn((order[at + 1] ?? order[at - 1])?.id)
    say(messages.tableRemoved(labelOf(node, nodeTypes)))
  }
  return {
    list,
    said,
    remove,
    add: (type: NodeTypeItem) => add([newNode(document, type, nodeTypes)]),
    duplicate: (node: DocumentNode) =>
      add(duplicated(document, { nodeIds: new Set([node.id]) }).nodes),
  }
}

/** Those whose name, type or id has the words. */
const foundIn = (
  nodes: ReadonlyArray<DocumentNode>,
  nodeTypes: ReadonlyArray<NodeTypeItem>,
  search: string,
): ReadonlyArray<DocumentNode> => {
  const words = search.toLowerCase().split(/\s+/)
  if (search.trim() === "") return nodes
  return nodes.filter((node) => {
    const text = `${labelOf(node, nodeTypes)} ${node.type} ${node.id}`.toLowerCase()
    return words.every((word) => text.includes(word))
  })
}

/** Fewer nodes are seen at once. */
const searchedFrom = 10

const Search = ({
  count,
  onSearch,
  search,
}: {
  readonly search: string
  readonly onSearch: (search: string) => void
  readonly count: number
}) => {
  const { messages } = useSurroundings()
  const id = useId()
  return (
    <div className={styles.adding} role="search">
      <label htmlFor={id}>{messages.searchNodes}</label>
      <input
        id={id}
        onChange={({ target }) => onSearch(target.value)}
        type="search"
        value={search}
      />
      <p aria-live="polite" className={theme.muted}>
        {messages.nodesFound(count)}
      </p>
    </div>
  )
}

/** The problems of each node: the same object as long as they are the same. */
const useProblemsByNode = (problems: ReadonlyArray<PlacedProblem>) => {
  const kept = useRef<ReadonlyMap<string, ReadonlyArray<PlacedProblem>>>(new Map())
  return useMemo(() => {
    const found = Array.from(problemsByNode(problems), ([nodeId, now]) => {
      const before = kept.current.get(nodeId)
      return [nodeId, before !== undefined && isSame(before, now) ? before : now] as const
    })
    kept.current = new Map(found)
    return kept.current
  }, [problems])
}

/**
 * Lists the nodes of a draft. What somebody types elsewhere is drawn first: the list follows when
 * there is time for it.
 */
export const NodesTable = (props: NodesTableProps) => {
  const later = useDeferredValue(props)
  return <NodeList {...later} />
}

const NodeList = memo((props: NodesTableProps) => {
  const { document, nodeTypes, onCommand, onEdit, problems, selected, validation } = props
  const { readOnly = false } = props
  const { messages } = useSurroundings()
  const order = useMemo(() => nodesInOrder(document), [document])
  const counts = useMemo(() => countsOf(document.edges), [document.edges])
  const wrong = useProblemsByNode(problems)
  const { add, duplicate, list, remove, said } = useActions(props, order)
  const [search, setSearch] = useState("")
  const found = useMemo(() => foundIn(order, nodeTypes, search), [order, nodeTypes, search])
  const edited = useMemo(() => {
    const portsOf = portsIn(document, nodeTypes, validation)
    return { document, nodeTypes, onCommand, portsOf, readOnly }
  }, [document, nodeTypes, onCommand, readOnly, validation])
  const latest = useRef(props)
  latest.current = props
  const toggle = useCallback((nodeId: string) => {
    const { onSelect: choose, selected: open } = latest.current
    choose(open === nodeId ? undefined : nodeId)
  }, [])
  return (
    <section aria-label={messages.nodeTable} className={styles.table} ref={list}>
      {readOnly ? null : <AddForm nodeTypes={nodeTypes} onAdd={add} />}
      <p aria-live="polite" className={theme.hidden}>
        {said}
      </p>
      {order.length === 0 ? <p className={theme.sentence}>{messages.emptyCanvas}</p> : null}
      {order.length < searchedFrom ? null : (
        <Search count={found.length} onSearch={setSearch} search={search} />
      )}
      <ol>
        {found.map((node) => (
          <li key={node.id}>
            <Title
              ins={counts.ins.get(node.id) ?? 0}
              isOpen={node.id === selected}
              node={node}
              nodeTypes={nodeTypes}
              onToggle={toggle}
              outs={counts.outs.get(node.id) ?? 0}
              problems={wrong.get(node.id)}
            />
            {node.id === selected ? (
              <NodeRow
                edited={edited}
                node={node}
                onDuplicate={() => duplicate(node)}
                onEdit={() => onEdit(node.id)}
                onRemove={() => remove(node)}
              />
            ) : null}
          </li>
        ))}
      </ol>
    </section>
  )
})
