/**
 * Two versions of the same, side by side, and a choice for each.
 *
 * Guarantees: nothing is decided before every choice is made.
 */
import { useId, useState } from "react"
import type { EditingReading } from "../../Editing.ts"
import type { MergeConflict, MergeChoice, MergeChoices } from "../../model/editing/Merging.ts"
import { useSurroundings } from "../Surroundings.ts"
import theme from "../Theme.module.css"
import { EditorDialog } from "./EditorDialog.tsx"
import styles from "./Saving.module.css"
import { useFieldName, ValueText } from "./ValueText.tsx"

const sides = ["mine", "theirs"] as const

const useTitle = () => {
  const { messages } = useSurroundings()
  return ({ kind, label }: MergeConflict): string =>
    kind === "node"
      ? messages.conflictOfNode(label)
      : kind === "edge"
        ? messages.conflictOfEdge(label)
        : messages.conflictOfDocument
}

interface ChoiceProps {
  readonly conflict: MergeConflict
  readonly choice: MergeChoice | undefined
  readonly onChoose: (choice: MergeChoice) => void
}

const Choice = ({ choice, conflict, onChoose }: ChoiceProps) => {
  const { messages } = useSurroundings()
  const fieldName = useFieldName()
  const group = useId()
  const { path, reason } = conflict
  const missing = { mine: messages.removedByMe, theirs: messages.removedByThem }
  const what =
    reason === "cycle"
      ? messages.cycleConflict
      : path.length === 0
        ? messages.wholeElement
        : messages.conflictField(fieldName(path))
  return (
    <fieldset>
      <legend>{what}</legend>
      {sides.map((side) => (
        <label className={styles.version} key={side}>
          <input
            checked={choice === side}
            name={group}
            onChange={() => onChoose(side)}
            type="radio"
          />
          {messages.mergeChoices[side]}
          <ValueText missing={missing[side]} value={conflict[side]} />
        </label>
      ))}
    </fieldset>
  )
}

/** Asks for the choices of a merge. */
export const ConflictDialog = ({
  onClose,
  reading,
}: {
  readonly reading: EditingReading
  readonly onClose: () => void
}) => {
  const { messages } = useSurroundings()
  const { conflicts, editing } = reading
  const [choices, setChoices] = useState<MergeChoices>({})
  const titleOf = useTitle()
  const left = conflicts.filter(({ id }) => choices[id] === undefined).length
  const chooseAll = (side: MergeChoice) =>
    setChoices(Object.fromEntries(conflicts.map(({ id }) => [id, side])))
  const groups = Map.groupBy(conflicts, ({ elementId, kind }) => `${kind} ${elementId}`)
  return (
    <EditorDialog onClose={onClose} title={messages.conflictsTitle}>
      <p>{messages.conflictsHint}</p>
      <div className={styles.actions}>
        <button className={theme.button} onClick={() => chooseAll("mine")} type="button">
          {messages.allMine}
        </button>
        <button className={theme.button} onClick={() => chooseAll("theirs")} type="button">
          {messages.allTheirs}
        </button>
      </div>
      <ul>
        {[...groups].map(([key, ofElement]) => (
          <li key={key}>
            <h3>{titleOf(ofElement[0]!)}</h3>
            {ofElement.map((conflict) => (
              <Choice
                choice={choices[conflict.id]}
                conflict={conflict}
                key={conflict.id}
                onChoose={(side) => setChoices((made) => ({ ...made, [conflict.id]: side }))}
              />
            ))}
          </li>
        ))}
      </ul>
      <div className={styles.actions}>
        <button
          className={theme.button}
          disabled={left > 0}
          onClick={() => {
            onClose()
            editing.resolve(choices)
          }}
          type="button"
        >
          {messages.applyChoices}
        </button>
        <span role="status">{left > 0 ? messages.choicesLeft(left) : ""}</span>
      </div>
    </EditorDialog>
  )
}
