/**
 * Joins without dragging: where an input has its value from, and a list to choose another node's
 * output from.
 */
import type { NodeTypeItem } from "@millrace/api/PromiseClient"
import { Link, Unlink } from "lucide-react"
import { useId, useMemo, useState } from "react"
import type { Messages } from "../../Messages.ts"
import type { Command } from "../../model/editing/Command.ts"
import type { LinkEnd, PortsOfNode } from "../../model/editing/Connecting.ts"
import { canConnect, edgeBetween } from "../../model/editing/Connecting.ts"
import type { DocumentEdge, WorkflowDocument } from "../../model/editing/Document.ts"
import { sourcePortOf } from "../../model/editing/Document.ts"
import { labelOf } from "../../model/editing/internal/NodeInputs.ts"
import { nodesInOrder } from "../../model/editing/internal/NodeOrder.ts"
import type { Ends } from "../JoinRefusal.ts"
import { refusalSentence } from "../JoinRefusal.ts"
import { useSurroundings } from "../Surroundings.ts"
import theme from "../Theme.module.css"
import styles from "./Inspector.module.css"

/** What is edited, and how it is changed. */
export interface Edited {
  readonly document: WorkflowDocument
  readonly nodeTypes: ReadonlyArray<NodeTypeItem>
  readonly portsOf: PortsOfNode
  readonly onCommand: (command: Command) => void
  readonly readOnly: boolean
}

const nodesAfter = ({ edges }: WorkflowDocument, nodeId: string): ReadonlySet<string> => {
  const next = Map.groupBy(edges, ({ source }) => source)
  const found = new Set([nodeId])
  for (const id of found) for (const { target } of next.get(id) ?? []) found.add(target)
  return found
}

/** The edges that end at an input, each with a button that takes it away. */
export const Links = ({
  edges,
  edited,
}: {
  readonly edges: ReadonlyArray<DocumentEdge>
  readonly edited: Edited
}) => {
  const { messages } = useSurroundings()
  const { document, nodeTypes, onCommand, readOnly } = edited
  return edges.map((edge) => {
    const source = document.nodes.find(({ id }) => id === edge.source)
    const label = source === undefined ? edge.source : labelOf(source, nodeTypes)
    const output = sourcePortOf(edge)
    return (
      <p className={styles.link} key={edge.id}>
        <Link aria-hidden size={14} />
        <span dir="auto">{messages.fromNode(label, output)}</span>
        {readOnly ? null : (
          <button
            aria-label={messages.unlink(label, output)}
            className={theme.button}
            onClick={() => onCommand({ type: "remove", nodeIds: [], edgeIds: [edge.id] })}
            type="button"
          >
            <Unlink aria-hidden size={14} />
            {messages.unlinkShort}
          </button>
        )}
      </p>
    )
  })
}

/** Why two ports of what is edited cannot be joined; nothing if they can. */
export const refusalIn = (
  { document, nodeTypes, portsOf }: Edited,
  messages: Messages,
  ends: Ends,
): string | undefined => {
  const said = canConnect(document, portsOf, ...ends)
  if (said.ok) return undefined
  return refusalSentence(messages, said.refusal, ends, (nodeId) => {
    const node = document.nodes.find(({ id }) => id === nodeId)
    return node === undefined ? nodeId : labelOf(node, nodeTypes)
  })
}

interface LinkFormProps {
  readonly edited: Edited
  readonly to: LinkEnd
  readonly onLinked: () => void
}

/** What can be chosen, and what is. */
const useSources = ({ edited, to }: LinkFormProps) => {
  const { messages } = useSurroundings()
  const { document, portsOf } = edited
  const [chosen, choose] = useState<{ readonly nodeId: string; readonly port?: string }>({
    nodeId: "",
  })
  const sources = useMemo(() => {
    const after = nodesAfter(document, to.nodeId)
    return nodesInOrder(document).filter((node) => !after.has(node.id))
  }, [document, to.nodeId])
  const { nodeId } = chosen
  const outputs = (portsOf(nodeId)?.outputPorts ?? []).map(({ name }) => {
    return { name, refusal: refusalIn(edited, messages, [{ nodeId, port: name }, to]) }
  })
  // The outputs may become known after the node was chosen.
  const fitting = outputs.find(({ refusal }) => refusal === undefined)
  const from: LinkEnd = { nodeId, port: chosen.port ?? fitting?.name ?? "" }
  return {
    from,
    outputs,
    sources,
    isReady: outputs.some(({ name, refusal }) => name === from.port && refusal === undefined),
    chooseNode: (id: string) => choose({ nodeId: id }),
    choosePort: (port: string) => choose({ nodeId, port }),
  }
}

/** Chooses a node and one of its outputs, and joins it to an input. */
export const LinkForm = (props: LinkFormProps) => {
  const { messages } = useSurroundings()
  const { edited, onLinked, to } = props
  const { document, nodeTypes, onCommand } = edited
  const id = useId()
  const { chooseNode, choosePort, from, isReady, outputs, sources } = useSources(props)
  if (sources.length === 0) return <p className={theme.muted}>{messages.noSources}</p>
  return (
    <div className={styles.linkForm}>
      <label htmlFor={`${id}node`}>{messages.sourceNode}</label>
      <select
        id={`${id}node`}
        onChange={({ target }) => chooseNode(target.value)}
        value={from.nodeId}
      >
        <option value="">{messages.chooseSource}</option>
        {sources.map((node) => (
          <option key={node.id} value={node.id}>
            {labelOf(node, nodeTypes)} ({node.id})
          </option>
        ))}
      </select>
      <label htmlFor={`${id}output`}>{messages.sourceOutput}</label>
      <select
        disabled={from.nodeId === ""}
        id={`${id}output`}
        onChange={({ target }) => choosePort(target.value)}
        value={from.port}
      >
        {from.port === "" ? <option value="" /> : null}
        {outputs.map(({ name, refusal }) => (
          <option disabled={refusal !== undefined} key={name} value={name}>
            {refusal === undefined ? name : `${name}: ${refusal}`}
          </option>
        ))}
      </select>
      <button
        className={theme.button}
        disabled={!isReady}
        onClick={() => {
          onCommand({ type: "connect", edge: edgeBetween(document, from, to) })
          onLinked()
        }}
        type="button"
      >
        <Link aria-hidden size={14} />
        {messages.link}
      </button>
    </div>
  )
}
