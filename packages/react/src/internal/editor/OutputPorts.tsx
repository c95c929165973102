/**
 * What a node puts out: its outputs, what they are, and their schemas.
 */
import { useState } from "react"
import type { PortLists } from "../../model/editing/Connecting.ts"
import { kindOfSchema } from "../../model/editing/internal/NameCompletion.ts"
import { JsonView } from "../JsonView.tsx"
import { useSurroundings } from "../Surroundings.ts"
import theme from "../Theme.module.css"
import styles from "./Inspector.module.css"

const OutputPort = ({ port }: { readonly port: PortLists["outputPorts"][number] }) => {
  const { messages } = useSurroundings()
  const [isOpen, setOpen] = useState(false)
  const { name, schema } = port
  const { description, ...rest } = schema
  const isPlain = Object.keys(rest).every((key) => key === "type")
  return (
    <li>
      <code>{name}</code> <span className={theme.muted}>{kindOfSchema(schema)}</span>
      {typeof description === "string" ? (
        <p className={theme.muted} dir="auto">
          {description}
        </p>
      ) : null}
      {isPlain ? null : (
        <details onToggle={(event) => setOpen(event.currentTarget.open)}>
          <summary>{messages.schemaOf(name)}</summary>
          {isOpen ? <JsonView label={messages.schemaOf(name)} value={schema} /> : null}
        </details>
      )}
    </li>
  )
}

/** The outputs of a node. */
export const OutputPorts = ({ ports }: { readonly ports: PortLists["outputPorts"] }) => (
  <ul className={styles.outputs}>
    {ports.map((port) => (
      <OutputPort key={port.name} port={port} />
    ))}
  </ul>
)
