/**
 * What differs between a document and what is stored.
 */
import { useMemo } from "react"
import type { EditingReading } from "../../Editing.ts"
import { difference } from "../../model/editing/Change.ts"
import type { ChangedElement } from "../../model/editing/internal/ChangedField.ts"
import { changedElements } from "../../model/editing/internal/ChangedField.ts"
import { useSurroundings } from "../Surroundings.ts"
import theme from "../Theme.module.css"
import { EditorDialog } from "./EditorDialog.tsx"
import styles from "./Saving.module.css"
import { useFieldName, ValueText } from "./ValueText.tsx"

const useSentence = (reading: EditingReading) => {
  const { messages } = useSurroundings()
  const name = (id: string) => {
    const all = [...(reading.document?.nodes ?? []), ...(reading.base?.nodes ?? [])]
    const label = (all.find((node) => node.id === id)?.data as { label?: unknown } | undefined)
      ?.label
    return typeof label === "string" && label.trim() !== "" ? label : id
  }
  return ({ how, kind, label, source, target }: ChangedElement): string => {
    if (kind === "document") return messages.documentChanged
    const [from, to] = [name(source), name(target)]
    if (how === "added")
      return kind === "node" ? messages.nodeAdded(label) : messages.edgeAdded(from, to)
    if (how === "removed")
      return kind === "node" ? messages.nodeRemoved(label) : messages.edgeRemoved(from, to)
    return kind === "node" ? messages.nodeChanged(label) : messages.edgeChanged(from, to)
  }
}

const Element = ({ element, sentence }: { element: ChangedElement; sentence: string }) => {
  const { messages } = useSurroundings()
  const fieldName = useFieldName()
  return (
    <li>
      <h3>{sentence}</h3>
      {element.fields.map(({ after, before, path }) => (
        <dl className={styles.values} key={JSON.stringify(path)}>
          <div>
            <dt>{`${fieldName(path)}: ${messages.valueBefore}`}</dt>
            <dd>
              <ValueText value={before} />
            </dd>
          </div>
          <div>
            <dt>{`${fieldName(path)}: ${messages.valueNow}`}</dt>
            <dd>
              <ValueText value={after} />
            </dd>
          </div>
        </dl>
      ))}
    </li>
  )
}

/** Shows the difference, and offers to save it or to discard it. */
export const ChangesDialog = ({
  onClose,
  reading,
}: {
  readonly reading: EditingReading
  readonly onClose: () => void
}) => {
  const { messages } = useSurroundings()
  const { base, document, editing } = reading
  const sentenceOf = useSentence(reading)
  const elements = useMemo(
    () =>
      base === undefined || document === undefined
        ? []
        : changedElements(difference(base, document)),
    [base, document],
  )
  const finish = (act: () => unknown) => () => {
    void act()
    onClose()
  }
  return (
    <EditorDialog onClose={onClose} title={messages.changesTitle}>
      {elements.length === 0 ? (
        <p>{messages.noChanges}</p>
      ) : (
        <>
          <ul>
            {elements.map((element) => (
              <Element
                element={element}
                key={`${element.kind} ${element.id}`}
                sentence={sentenceOf(element)}
              />
            ))}
          </ul>
          <div className={styles.actions}>
            <button className={theme.button} onClick={finish(() => editing.save())} type="button">
              {messages.saveNow}
            </button>
            <button
              className={theme.button}
              onClick={finish(() => editing.discardDraft())}
              type="button"
            >
              {messages.discardChanges}
            </button>
          </div>
        </>
      )}
    </EditorDialog>
  )
}
