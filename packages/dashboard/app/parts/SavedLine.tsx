/**
 * Whether what was changed here is saved, and what to do if it cannot be.
 */
import type { EditingReading } from "@millrace/react"
import { Notice } from "./Notice.tsx"

/** One line, or a notice. */
export const SavedLine = ({
  saving,
  savingProblem,
}: Pick<EditingReading, "saving" | "savingProblem">) => {
  if (savingProblem !== undefined) return <Notice kind="error">{savingProblem}</Notice>
  if (saving === "conflict") {
    return (
      <Notice kind="error">
        Somebody else has changed the same. Open the tab Editor to choose what stays.
      </Notice>
    )
  }
  return (
    <p role="status" className="quiet">
      {saving === "saved" ? "Saved" : "Not saved yet"}
    </p>
  )
}
