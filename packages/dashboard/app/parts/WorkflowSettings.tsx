/**
 * The settings of a workflow: name, description, what a failure means, how long a run may take.
 */
import type { Command, EditingReading, WorkflowDocument } from "@millrace/react"
import { useEditing } from "@millrace/react"
import { sentenceOf } from "../Console.ts"
import { Notice } from "./Notice.tsx"
import { SavedLine } from "./SavedLine.tsx"

const failures = [
  ["continue", "Independent branches go on; the run has failed at its end"],
  ["stop", "Nothing new starts; what is in progress may end"],
  ["abort", "Nothing new starts, and what is in progress is interrupted"],
] as const

const Fields = ({
  document: { description, name, settings },
  editing,
  readOnly,
}: {
  readonly document: WorkflowDocument
  readonly editing: EditingReading["editing"]
  readonly readOnly: boolean
}) => {
  const set = (change: Omit<Extract<Command, { type: "setDocument" }>, "type">) =>
    editing.do({ type: "setDocument", ...change })
  const { onFailure = "continue", timeoutMillis, ...rest } = settings ?? {}
  const timeout = (text: string) => {
    const seconds = Number(text)
    const isGiven = text !== "" && Number.isFinite(seconds) && seconds > 0
    const kept = { ...rest, onFailure }
    set({
      settings: isGiven ? { ...kept, timeoutMillis: Math.round(seconds * 1_000) } : kept,
    })
  }
  return (
    <fieldset disabled={readOnly} className="plain">
      <label className="field">
        Name
        <input
          dir="auto"
          maxLength={120}
          value={name}
          onChange={({ target }) => set({ name: target.value })}
        />
      </label>
      <label className="field">
        Description
        <textarea
          dir="auto"
          rows={4}
          maxLength={5_000}
          value={description ?? ""}
          onChange={({ target }) => set({ description: target.value === "" ? null : target.value })}
        />
      </label>
      <label className="field">
        When a node has failed
        <select
          value={onFailure}
          onChange={({ target }) =>
            set({
              settings: {
                ...settings,
                onFailure: target.value as (typeof failures)[number][0],
              },
            })
          }
        >
          {failures.map(([value, words]) => (
            <option key={value} value={value}>
              {words}
            </option>
          ))}
        </select>
      </label>
      <label className="field narrow">
        A run may take, in seconds
        <input
          inputMode="decimal"
          placeholder="As long as it needs"
          value={timeoutMillis === undefined ? "" : String(timeoutMillis / 1_000)}
          onChange={({ target }) => timeout(target.value)}
        />
      </label>
    </fieldset>
  )
}

/** The tab. */
export const WorkflowSettings = ({
  id,
  readOnly,
}: {
  readonly id: string
  readonly readOnly: boolean
}) => {
  const { document, editing, error, saving, savingProblem } = useEditing(id)
  if (document === undefined) {
    return error === undefined ? (
      <p className="quiet">Loading</p>
    ) : (
      <Notice kind="error">{sentenceOf(error)}</Notice>
    )
  }
  return (
    <>
      <Fields document={document} editing={editing} readOnly={readOnly} />
      {!readOnly && <SavedLine saving={saving} savingProblem={savingProblem} />}
    </>
  )
}
