/**
 * One open node of the table: rename, edit, duplicate, remove, and its edges.
 */
import { Copy, Link, Pencil, Trash2, Unlink } from "lucide-react"
import { useId, useState } from "react"
import { edgeBetween } from "../../model/editing/Connecting.ts"
import type { DocumentEdge, DocumentNode } from "../../model/editing/Document.ts"
import { dataOf, sourcePortOf, targetPortOf } from "../../model/editing/Document.ts"
import { labelOf } from "../../model/editing/internal/NodeInputs.ts"
import { useSurroundings } from "../Surroundings.ts"
import theme from "../Theme.module.css"
import inspector from "./Inspector.module.css"
import styles from "./NodesTable.module.css"
import type { Edited } from "./LinkForm.tsx"
import { refusalIn } from "./LinkForm.tsx"

interface NodeRowProps {
  readonly edited: Edited
  readonly node: DocumentNode
  readonly onEdit: () => void
  readonly onDuplicate: () => void
  readonly onRemove: () => void
}

/** A name is taken over when the field is left, or with Enter. */
const Rename = ({ edited, node }: Pick<NodeRowProps, "edited" | "node">) => {
  const { messages } = useSurroundings()
  const id = useId()
  const { label } = dataOf(node)
  const stored = typeof label === "string" ? label : ""
  const [typed, setTyped] = useState<string>()
  const take = () => {
    if (typed !== undefined && typed !== stored) {
      const value = typed.trim() === "" ? undefined : typed
      edited.onCommand({ type: "setData", nodeId: node.id, key: "label", value })
    }
    setTyped(undefined)
  }
  return (
    <form
      className={styles.adding}
      onSubmit={(event) => {
        event.preventDefault()
        take()
      }}
    >
      <label htmlFor={id}>{messages.nodeName}</label>
      <input
        autoComplete="off"
        dir="auto"
        id={id}
        onBlur={take}
        onChange={({ target }) => setTyped(target.value)}
        placeholder={labelOf({ type: node.type }, edited.nodeTypes)}
        value={typed ?? stored}
      />
    </form>
  )
}

const Join = ({
  edge,
  edited,
  node,
}: Pick<NodeRowProps, "edited" | "node"> & { edge: DocumentEdge }) => {
  const { messages } = useSurroundings()
  const { document, nodeTypes, onCommand, readOnly } = edited
  const isOut = edge.source === node.id
  const otherId = isOut ? edge.target : edge.source
  const other = document.nodes.find(({ id }) => id === otherId)
  const label = other === undefined ? otherId : labelOf(other, nodeTypes)
  const [output, input] = [sourcePortOf(edge), targetPortOf(edge)]
  const said = isOut
    ? messages.joinTo(output, label, input)
    : messages.joinFrom(label, output, input)
  return (
    <li>
      <span dir="auto">{said}</span>
      {readOnly ? null : (
        <button
          aria-label={messages.removeJoin(said)}
          className={inspector.icon}
          onClick={() => onCommand({ type: "remove", nodeIds: [], edgeIds: [edge.id] })}
          type="button"
        >
          <Unlink aria-hidden size={16} />
        </button>
      )}
    </li>
  )
}

interface ChoiceProps {
  readonly label: string
  readonly value: string
  readonly onChange: (value: string) => void
  readonly options: ReadonlyArray<{
    readonly value: string
    readonly label: string
    readonly isDisabled?: boolean
  }>
}

const Choice = ({ label, onChange, options, value }: ChoiceProps) => {
  const id = useId()
  return (
    <>
      <label htmlFor={id}>{label}</label>
      <select id={id} onChange={({ target }) => onChange(target.value)} value={value}>
        {options.some((option) => option.value === value) ? null : <option value={value} />}
        {options.map((option) => (
          <option disabled={option.isDisabled} key={option.value} value={option.value}>
            {option.label}
          </option>
        ))}
      </select>
    </>
  )
}

/** Joins an output of the node with an input of another one. */
const JoinForm = ({ edited, node }: Pick<NodeRowProps, "edited" | "node">) => {
  const { messages } = useSurroundings()
  const { document, nodeTypes, onCommand, portsOf } = edited
  const outputs = portsOf(node.id)?.outputPorts ?? []
  const [chosen, setOutput] = useState<string>()
  const [to, setTo] = useState<{ readonly nodeId: string; readonly port?: string }>({ nodeId: "" })
  const output = chosen ?? outputs[0]?.name ?? ""
  const others = document.nodes.filter(({ id }) => id !== node.id)
  const from = { nodeId: node.id, port: output }
  const target = to.nodeId
  const inputs = (portsOf(target)?.inputPorts ?? []).map(({ name }) => {
    return { name, refusal: refusalIn(edited, messages, [from, { nodeId: target, port: name }]) }
  })
  // The inputs may become known after the node was chosen.
  const free = inputs.find(({ refusal }) => refusal === undefined)
  const input = to.port ?? free?.name ?? ""
  const isReady = inputs.some(({ name, refusal }) => name === input && refusal === undefined)
  if (outputs.length === 0 || others.length === 0) return null
  return (
    <form
      className={styles.joinForm}
      onSubmit={(event) => {
        event.preventDefault()
        if (!isReady) return
        const edge = edgeBetween(document, from, { nodeId: target, port: input })
        onCommand({ type: "connect", edge })
        setTo({ nodeId: target, port: "" })
      }}
    >
      <strong>{messages.addJoin}</strong>
      <Choice
        label={messages.fromOutput}
        onChange={setOutput}
        options={outputs.map(({ name }) => ({ value: name, label: name }))}
        value={output}
      />
      <Choice
        label={messages.toNode}
        onChange={(nodeId) => setTo({ nodeId })}
        options={others.map((other) => ({
          value: other.id,
          label: `${labelOf(other, nodeTypes)} (${other.id})`,
        }))}
        value={target}
      />
      <Choice
        label={messages.toInput}
        onChange={(port) => setTo({ nodeId: target, port })}
        options={inputs.map(({ name, refusal }) => ({
          value: name,
          label: refusal === undefined ? name : `${name}: ${refusal}`,
          isDisabled: refusal !== undefined,
        }))}
        value={input}
      />
      <button className={theme.button} disabled={!isReady} type="submit">
        <Link aria-hidden size={14} />
        {messages.join}
      </button>
    </form>
  )
}

/** What can be done with a node. */
export const NodeRow = ({ edited, node, onDuplicate, onEdit, onRemove }: NodeRowProps) => {
  const { messages } = useSurroundings()
  const { document, nodeTypes, onCommand, readOnly } = edited
  const label = labelOf(node, nodeTypes)
  const edges = document.edges.filter(({ source, target }) => [source, target].includes(node.id))
  const actions = [
    [messages.editNode(label), messages.edit, Pencil, onEdit],
    [messages.duplicateNode(label), messages.duplicateShort, Copy, onDuplicate],
    [messages.removeNode(label), messages.removeShort, Trash2, onRemove],
  ] as const
  return (
    <div className={styles.row}>
      {readOnly ? null : <Rename edited={edited} node={node} />}
      {readOnly ? null : (
        <label className={inspector.check}>
          <input
            checked={dataOf(node)["disabled"] === true}
            onChange={({ target }) =>
              onCommand({ type: "disable", nodeIds: [node.id], isDisabled: target.checked })
            }
            type="checkbox"
          />
          {messages.nodeDisabled}
        </label>
      )}
      <div className={styles.actions}>
        {actions.slice(0, readOnly ? 1 : undefined).map(([name, short, Icon, act]) => (
          <button aria-label={name} className={theme.button} key={name} onClick={act} type="button">
            <Icon aria-hidden size={14} />
            {short}
          </button>
        ))}
      </div>
      <strong>{messages.joins}</strong>
      {edges.length === 0 ? <p className={theme.muted}>{messages.noJoins}</p> : null}
      <ul className={styles.joins}>
        {edges.map((edge) => (
          <Join edge={edge} edited={edited} key={edge.id} node={node} />
        ))}
      </ul>
      {readOnly ? null : <JoinForm edited={edited} node={node} />}
    </div>
  )
}
