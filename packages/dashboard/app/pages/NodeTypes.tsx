/**
 * The node types that can be drawn: what each one does, takes and gives.
 */
import type { NodeTypeItem } from "@millrace/api/PromiseClient"
import { useState } from "react"
import { useMay, useNodeTypes } from "../Console.ts"
import { Listed } from "../parts/Listed.tsx"
import { Page } from "../parts/Page.tsx"
import { TypesInUse } from "../parts/TypesInUse.tsx"

const portsOf = (ports: ReadonlyArray<{ readonly name: string }>): string =>
  ports.length === 0 ? "–" : ports.map(({ name }) => name).join(", ")

const effects = {
  none: "Only computes",
  reads: "Reads from outside",
  writes: "Changes something outside",
}

const Type = ({ type }: { readonly type: NodeTypeItem }) => (
  <li className="type">
    <h2>
      {type.name} <code>{type.key}</code>
    </h2>
    <p>{type.description}</p>
    {type.deprecated !== null && (
      <p className="quiet">Not offered for new nodes. {type.deprecated}</p>
    )}
    <dl className="facts">
      <div>
        <dt>Inputs</dt>
        <dd>{portsOf(type.inputPorts)}</dd>
      </div>
      <div>
        <dt>Outputs</dt>
        <dd>{portsOf(type.outputPorts)}</dd>
      </div>
      <div>
        <dt>Effects</dt>
        <dd>{effects[type.effects]}</dd>
      </div>
      <div>
        <dt>Version</dt>
        <dd>{type.version}</dd>
      </div>
      <div>
        <dt>From</dt>
        <dd>{type.origin}</dd>
      </div>
    </dl>
    {type.example !== null && (
      <details>
        <summary>Example</summary>
        <pre tabIndex={0}>{JSON.stringify(type.example, null, 2)}</pre>
      </details>
    )}
  </li>
)

/** The catalogue. */
export const NodeTypes = () => {
  const query = useNodeTypes()
  const [search, setSearch] = useState("")
  const isOperator = useMay("operator")
  const wanted = search.toLowerCase()
  const types = (query.data ?? []).filter(({ description, key, name }) =>
    `${key} ${name} ${description}`.toLowerCase().includes(wanted),
  )
  return (
    <Page title="Node types">
      <label className="field narrow">
        Search
        <input type="search" value={search} onChange={({ target }) => setSearch(target.value)} />
      </label>
      <Listed query={query} count={types.length} empty={`No node type mentions “${search}”.`}>
        <ul className="types">
          {types.map((type) => (
            <Type key={`${type.key} ${type.version}`} type={type} />
          ))}
        </ul>
      </Listed>
      {isOperator && <TypesInUse />}
    </Page>
  )
}
