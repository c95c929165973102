/**
 * A line that says whether everything is saved, and offers what can be done if it is not.
 */
import type { LucideIcon } from "lucide-react"
import { Cloud, CloudAlert, CloudCheck, CloudOff, GitMerge, LoaderCircle } from "lucide-react"
import { useState } from "react"
import type { EditingReading } from "../../Editing.ts"
import type { SavingStatus } from "../../model/editing/EditingOptions.ts"
import { useSurroundings } from "../Surroundings.ts"
import theme from "../Theme.module.css"
import { ChangesDialog } from "./ChangesDialog.tsx"
import { ConflictDialog } from "./ConflictDialog.tsx"
import styles from "./Saving.module.css"

const icons: Readonly<Record<SavingStatus, LucideIcon>> = {
  saved: CloudCheck,
  changed: Cloud,
  saving: LoaderCircle,
  offline: CloudOff,
  conflict: GitMerge,
  gone: CloudAlert,
  signedOut: CloudAlert,
  refused: CloudAlert,
}

/** States in which unsaved work has to wait. */
const waiting: ReadonlySet<SavingStatus> = new Set(["offline", "conflict", "gone", "signedOut"])

/** States that come and go by themselves. */
const quiet: ReadonlySet<SavingStatus> = new Set(["saved", "changed", "saving"])

type Shown = "changes" | "conflicts" | undefined

interface SavingStateProps {
  readonly reading: EditingReading
  /** Called with the id of the new workflow, if the old one is gone. */
  readonly onSavedAsNew?: ((workflowId: string) => void) | undefined
}

const Actions = ({
  onSavedAsNew,
  reading,
  show,
}: SavingStateProps & { readonly show: (what: Shown) => void }) => {
  const { messages } = useSurroundings()
  const { document, editing, isUnsaved, saving } = reading
  const button = (label: string, act: () => unknown) => (
    <button className={theme.button} key={label} onClick={() => void act()} type="button">
      {label}
    </button>
  )
  const saveAsNew = () => editing.saveAsNew().then(onSavedAsNew, () => {})
  const canTry = saving === "offline" || saving === "signedOut" || saving === "refused"
  return (
    <>
      {saving === "conflict" && button(messages.compareVersions, () => show("conflicts"))}
      {canTry && button(messages.trySavingAgain, () => editing.save())}
      {saving === "gone" && document !== undefined && button(messages.saveAsNew, saveAsNew)}
      {isUnsaved && saving !== "conflict" && button(messages.showChanges, () => show("changes"))}
    </>
  )
}

/** All that is to say. */
const useSentences = (reading: EditingReading): string => {
  const { messages, times } = useSurroundings()
  const { draftKeeping, isUnsaved, restoredAt, saving, savingProblem } = reading
  const isKept = isUnsaved && waiting.has(saving) && draftKeeping === "kept"
  return [
    messages.savingStates[saving],
    savingProblem ?? "",
    isKept ? messages.draftKept : "",
    isUnsaved && draftKeeping !== "kept" ? messages.draftNotKept[draftKeeping] : "",
    isUnsaved && restoredAt !== undefined ? messages.draftRestored(times.full(restoredAt)) : "",
  ]
    .filter((part) => part !== "")
    .join(" ")
}

/** How far an editor is with saving. Aloud only where something is wrong: it saves all the time. */
export const SavingState = ({ onSavedAsNew, reading }: SavingStateProps) => {
  const [shown, show] = useState<Shown>()
  const sentences = useSentences(reading)
  const { draftKeeping, isUnsaved, saving } = reading
  const Icon = icons[saving]
  const close = () => show(undefined)
  const isQuiet = quiet.has(saving) && (draftKeeping === "kept" || !isUnsaved)
  return (
    <div className={styles.state} data-state={saving}>
      <p>
        <Icon aria-hidden size={16} />
        <span role="status">{isQuiet ? "" : sentences}</span>
        {isQuiet && <span>{sentences}</span>}
      </p>
      <Actions onSavedAsNew={onSavedAsNew} reading={reading} show={show} />
      {shown === "changes" && <ChangesDialog onClose={close} reading={reading} />}
      {shown === "conflicts" && saving === "conflict" && (
        <ConflictDialog onClose={close} reading={reading} />
      )}
    </div>
  )
}
