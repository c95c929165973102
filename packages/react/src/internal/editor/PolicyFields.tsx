/**
 * What happens when a node fails: how often it is tried, how long an attempt may take, and what
 * follows the last one.
 */
import { useMemo } from "react"
import type { DocumentNode } from "../../model/editing/Document.ts"
import { dataOf } from "../../model/editing/Document.ts"
import {
  unfinishedKey,
  unfinishedOf,
  withUnfinished,
} from "../../model/editing/internal/NodeInputs.ts"
import type { PlacedProblem } from "../../model/editing/PlacedProblems.ts"
import { useSurroundings } from "../Surroundings.ts"
import { InputField } from "./InputField.tsx"
import type { Edited } from "./LinkForm.tsx"

const duration = { anyOf: [{ type: "number" }, { type: "string" }] }

const schemas = {
  retry: {
    type: "object",
    properties: {
      attempts: { type: "integer" },
      initial: duration,
      max: duration,
      factor: { type: "number" },
      jitter: { type: "number" },
    },
  },
  timeout: duration,
  onError: { enum: ["fail", "route", "default"], default: "fail" },
  default: { type: "object" },
} as const

interface DataFieldProps {
  readonly edited: Edited
  readonly node: DocumentNode
  readonly name: keyof typeof schemas
  readonly problems: ReadonlyArray<PlacedProblem>
}

const DataField = ({ edited, name, node, problems }: DataFieldProps) => {
  const { messages } = useSurroundings()
  const { onCommand, readOnly } = edited
  const set = (key: string) => (value: unknown) =>
    onCommand({ type: "setData", nodeId: node.id, key, value })
  const unfinished = useMemo(() => unfinishedOf(node).get(name), [node, name])
  return (
    <InputField
      description={name === "onError" ? "" : messages.policyHints[name]}
      name={messages.policyNames[name]}
      onUnfinished={(next) => set(unfinishedKey)(withUnfinished(node, name, next))}
      onValue={set(name)}
      place={name}
      problems={problems.filter(({ place }) => place === name)}
      readOnly={readOnly}
      required={name === "default"}
      schema={schemas[name]}
      takesSecrets={false}
      unfinished={unfinished}
      value={dataOf(node)[name]}
    />
  )
}

/** The policy of a node. */
export const PolicyFields = (props: Omit<DataFieldProps, "name">) => {
  const { onError } = dataOf(props.node)
  return (
    <>
      <DataField {...props} name="retry" />
      <DataField {...props} name="timeout" />
      <DataField {...props} name="onError" />
      {onError === "default" ? <DataField {...props} name="default" /> : null}
    </>
  )
}
