/**
 * A workflow as JSON, to read and to replace.
 *
 * Guarantees: text that is no workflow changes nothing and stays; what is applied can be undone in
 * the editor's way, by saving the text that was there before.
 */
import type { DocumentProblem, EditingReading, WorkflowDocument } from "@millrace/react"
import { problemOfDocument, useEditing } from "@millrace/react"
import { useState } from "react"
import { sentenceOf } from "../Console.ts"
import { Notice } from "./Notice.tsx"
import { SavedLine } from "./SavedLine.tsx"

const textOf = (document: WorkflowDocument): string => JSON.stringify(document, null, 2)

const sentenceOfProblem = (problem: DocumentProblem): string => {
  switch (problem.reason) {
    case "notADocument":
      return "This is no workflow: expected an object with name, nodes and edges."
    case "node":
    case "edge":
      return `${problem.reason}s[${problem.at}] is no ${problem.reason}.`
    case "id":
      return `The id ${problem.id} cannot be used.`
    case "twice":
      return `The id ${problem.id} is there twice.`
    case "looseEdge":
      return `The edge ${problem.id} has an end that does not exist.`
    case "cycle":
      return `The edge ${problem.id} closes a cycle.`
  }
}

/** The document that a text holds, or why it is none. */
const read = (text: string): { readonly document: WorkflowDocument } | { readonly why: string } => {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    return { why: `This is not JSON: ${(error as Error).message}` }
  }
  const problem = problemOfDocument(value)
  return problem === undefined
    ? { document: value as WorkflowDocument }
    : { why: sentenceOfProblem(problem) }
}

const Opened = ({
  document,
  reading: { editing, saving, savingProblem },
  readOnly,
}: {
  readonly document: WorkflowDocument
  readonly reading: EditingReading
  readonly readOnly: boolean
}) => {
  const [typed, setTyped] = useState<string>()
  const [why, setWhy] = useState<string>()
  const apply = () => {
    const found = read(typed ?? textOf(document))
    if ("why" in found) return setWhy(found.why)
    setWhy(undefined)
    setTyped(undefined)
    editing.do({ type: "replace", document: found.document })
    void editing.save()
  }
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        apply()
      }}
    >
      <label className="field">
        The workflow as JSON
        <textarea
          className="code"
          rows={28}
          spellCheck={false}
          readOnly={readOnly}
          value={typed ?? textOf(document)}
          onChange={({ target }) => setTyped(target.value)}
        />
      </label>
      {why !== undefined && <Notice kind="error">{why}</Notice>}
      {!readOnly && <SavedLine saving={saving} savingProblem={savingProblem} />}
      {!readOnly && (
        <footer>
          <button type="button" disabled={typed === undefined} onClick={() => setTyped(undefined)}>
            Discard
          </button>
          <button type="submit" className="primary" disabled={typed === undefined}>
            Save
          </button>
        </footer>
      )}
    </form>
  )
}

/** The tab. */
export const WorkflowJson = ({
  id,
  readOnly,
}: {
  readonly id: string
  readonly readOnly: boolean
}) => {
  const reading = useEditing(id)
  const { document, error } = reading
  if (document !== undefined) {
    return <Opened document={document} reading={reading} readOnly={readOnly} />
  }
  if (error !== undefined) return <Notice kind="error">{sentenceOf(error)}</Notice>
  return <p className="quiet">Loading</p>
}
