/**
 * One input port of a node: its value, or the edges that bring it.
 */
import type { ComponentType } from "react"
import { useState } from "react"
import type { DocumentNode } from "../../model/editing/Document.ts"
import type { NodeInput, UnfinishedInput } from "../../model/editing/internal/NodeInputs.ts"
import {
  placeOfInput,
  unfinishedKey,
  withUnfinished,
} from "../../model/editing/internal/NodeInputs.ts"
import type { PlacedProblem } from "../../model/editing/PlacedProblems.ts"
import { useSurroundings } from "../Surroundings.ts"
import theme from "../Theme.module.css"
import type { OwnFieldProps } from "./InputField.tsx"
import { InputField } from "./InputField.tsx"
import type { Edited } from "./LinkForm.tsx"
import { LinkForm, Links } from "./LinkForm.tsx"

interface PortFieldProps {
  readonly edited: Edited
  readonly node: DocumentNode
  readonly input: NodeInput
  readonly unfinished: UnfinishedInput | undefined
  readonly problems: ReadonlyArray<PlacedProblem>
  readonly own: ComponentType<OwnFieldProps> | undefined
}

const nothing: unknown = undefined

/** One input port. */
export const PortField = ({ edited, input, node, own, problems, unfinished }: PortFieldProps) => {
  const { messages } = useSurroundings()
  // What the user has chosen; else what the drawing has.
  const [wanted, setWanted] = useState<"edge" | "value">()
  const { onCommand, readOnly } = edited
  const { edges, isDeclared, multiple, name, value } = input
  const place = placeOfInput(name)
  const setInput = (next: unknown) =>
    onCommand({ type: "setInput", nodeId: node.id, port: name, value: next })
  const setUnfinished = (next: UnfinishedInput | undefined) =>
    onCommand({
      type: "setData",
      nodeId: node.id,
      key: unfinishedKey,
      value: withUnfinished(node, place, next),
    })
  // Without any types, nobody has been able to read the ports yet.
  const isKnown = isDeclared || edited.nodeTypes.length === 0
  const isLinked = edges.length > 0
  const isBeside = isLinked && (value !== undefined || unfinished !== undefined)
  const isLinking = !readOnly && (wanted === "edge" || (isLinked && multiple))
  return (
    <InputField
      {...input}
      description={isKnown ? input.description : messages.goneInput}
      onUnfinished={setUnfinished}
      onValue={setInput}
      own={own}
      place={place}
      problems={problems}
      readOnly={readOnly}
      source={{
        label: messages.forms.edge,
        isChosen: wanted === "edge" || (wanted === undefined && isLinked),
        hasValue: isBeside,
        onChoose: (isEdge) => setWanted(isEdge ? "edge" : "value"),
        children: (
          <>
            <Links edges={edges} edited={edited} />
            {isLinking ? (
              <LinkForm
                edited={edited}
                onLinked={() => setWanted(undefined)}
                to={{ nodeId: node.id, port: name }}
              />
            ) : null}
            {isBeside ? <p className={theme.muted}>{messages.valueBeside}</p> : null}
            {isBeside && !readOnly ? (
              <button className={theme.button} onClick={() => setInput(nothing)} type="button">
                {messages.removeValue}
              </button>
            ) : null}
          </>
        ),
      }}
      unfinished={unfinished}
    />
  )
}
