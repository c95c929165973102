/**
 * What a node is, above its inputs: its name, its mode, its version, and whether it is disabled.
 */
import type { NodeTypeItem } from "@millrace/api/PromiseClient"
import { useId, useMemo } from "react"
import type { DocumentNode } from "../../model/editing/Document.ts"
import { dataOf } from "../../model/editing/Document.ts"
import { versionsOf } from "../../model/internal/NodeVersions.ts"
import { useSurroundings } from "../Surroundings.ts"
import theme from "../Theme.module.css"
import { InputField } from "./InputField.tsx"
import styles from "./Inspector.module.css"
import type { Edited } from "./LinkForm.tsx"

interface NodeFactsProps {
  readonly edited: Edited
  readonly node: DocumentNode
  readonly type: NodeTypeItem | undefined
}

const nothing: ReadonlyArray<never> = []
const noUnfinished = undefined

/** The version of its type, where there are several; and whether the type is out of use. */
const VersionField = ({ edited, node, type }: NodeFactsProps) => {
  const { messages } = useSurroundings()
  const id = useId()
  const { nodeTypes, onCommand, readOnly } = edited
  const versions = versionsOf(nodeTypes, node.type)
  const set = (value: number) =>
    onCommand({ type: "setData", nodeId: node.id, key: "version", value })
  if (type === undefined) return null
  const isLatest = type === versions.at(-1)
  return (
    <>
      {versions.length < 2 ? null : (
        <div className={styles.field} data-field="version">
          <label htmlFor={id}>{messages.nodeVersion}</label>
          <select
            disabled={readOnly}
            id={id}
            onChange={({ target }) => set(Number(target.value))}
            value={type.version}
          >
            {versions.map(({ version }) => (
              <option key={version}>{version}</option>
            ))}
          </select>
          {isLatest ? null : <p className={theme.muted}>{messages.olderVersion}</p>}
        </div>
      )}
      {(type.deprecated ?? null) === null ? null : (
        <p className={theme.muted}>
          {messages.deprecatedType} {type.deprecated}
        </p>
      )}
    </>
  )
}

/** Name, mode, and whether it is disabled. */
export const NodeFacts = ({ edited, node, type }: NodeFactsProps) => {
  const { messages } = useSurroundings()
  const id = useId()
  const { onCommand, readOnly } = edited
  const { disabled, label, mode } = dataOf(node)
  const set = (key: string, value: unknown) =>
    onCommand({ type: "setData", nodeId: node.id, key, value })
  const name = type?.name ?? node.type
  const schema = useMemo(() => ({ type: "string", maxLength: 200, default: name }), [name])
  const modes = type?.modes ?? []
  const chosen = typeof mode === "string" ? mode : (modes[0] ?? "")
  // Without any types, nobody has been able to read them yet.
  const isGone = type === undefined && edited.nodeTypes.length > 0
  return (
    <>
      <InputField
        description=""
        name={messages.nodeName}
        onUnfinished={() => {}}
        onValue={(value) => set("label", value)}
        place="label"
        problems={nothing}
        readOnly={readOnly}
        required={false}
        schema={schema}
        takesSecrets={false}
        unfinished={noUnfinished}
        value={label}
      />
      {modes.length === 0 && mode === undefined ? null : (
        <div className={styles.field} data-field="mode">
          <label htmlFor={`${id}mode`}>{messages.nodeMode}</label>
          <select
            disabled={readOnly}
            id={`${id}mode`}
            onChange={({ target }) =>
              set("mode", target.value === modes[0] ? undefined : target.value)
            }
            value={chosen}
          >
            {modes.includes(chosen) ? null : (
              <option value={chosen}>{messages.unknownChoice(chosen)}</option>
            )}
            {modes.map((each) => (
              <option key={each}>{each}</option>
            ))}
          </select>
        </div>
      )}
      <VersionField edited={edited} node={node} type={type} />
      <label className={styles.check}>
        <input
          checked={disabled === true}
          disabled={readOnly}
          onChange={({ target }) => set("disabled", target.checked ? true : undefined)}
          type="checkbox"
        />
        {messages.nodeDisabled}
      </label>
      {isGone ? <p className={theme.failure}>{messages.goneType(node.type)}</p> : null}
    </>
  )
}
