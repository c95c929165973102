/**
 * Above an editor: undoing, whether it is saved, what is wrong, and a run.
 */
import { ArrowLeft, Play, Redo2, Square, Undo2 } from "lucide-react"
import { useMemo, useState } from "react"
import type { EditingReading } from "../../Editing.ts"
import type { FieldPlace, PlacedProblem } from "../../model/editing/PlacedProblems.ts"
import { startFieldsOf } from "../../model/StartValues.ts"
import { StateIcon } from "../Icons.tsx"
import { useSurroundings } from "../Surroundings.ts"
import theme from "../Theme.module.css"
import styles from "./Editor.module.css"
import type { EditorRun } from "./EditorRun.ts"
import type { EditorPins } from "./Pins.ts"
import { PinsLine } from "./PinsLine.tsx"
import { PresenceLine } from "./PresenceLine.tsx"
import { ProblemsBar } from "./ProblemsBar.tsx"
import { SavingState } from "./SavingState.tsx"
import { StartForm } from "./StartForm.tsx"

interface EditorBarProps {
  readonly workflowId: string
  readonly reading: EditingReading
  readonly running: EditorRun
  readonly problems: ReadonlyArray<PlacedProblem>
  readonly onJump: (place: FieldPlace) => void
  readonly readOnly: boolean
  readonly held: EditorPins
  readonly onUndo: () => void
  readonly onRedo: () => void
  readonly onSavedAsNew: ((workflowId: string) => void) | undefined
}

const History = ({ onRedo, onUndo, reading }: EditorBarProps) => {
  const { messages } = useSurroundings()
  const { canRedo, canUndo } = reading
  const steps = [
    [messages.undo, Undo2, canUndo, onUndo],
    [messages.redo, Redo2, canRedo, onRedo],
  ] as const
  return steps.map(([label, Icon, isPossible, act]) => (
    <button
      aria-label={label}
      className={theme.button}
      disabled={!isPossible}
      key={label}
      onClick={act}
      title={label}
      type="button"
    >
      <Icon aria-hidden size={18} />
    </button>
  ))
}

/** Starts a run, and asks for its values where the request node declares some. */
const Start = ({ onJump, problems, reading, running }: EditorBarProps) => {
  const { messages } = useSurroundings()
  const [isAsking, setAsking] = useState(false)
  const [texts, setTexts] = useState<Readonly<Record<string, string>>>({})
  const { document, validation } = reading
  const fields = useMemo(() => (document === undefined ? [] : startFieldsOf(document)), [document])
  const credits = validation?.estimatedCredits ?? null
  const unfinished = problems.find(({ isUnfinished }) => isUnfinished === true)
  const isPossible = document !== undefined && document.nodes.length > 0 && !running.isBusy
  return (
    <>
      {credits === null ? null : <span className={theme.muted}>{messages.estimate(credits)}</span>}
      <button
        className={`${theme.button} ${styles.primary}`}
        disabled={!isPossible}
        onClick={() => {
          // A run would use the value from before.
          if (unfinished !== undefined) onJump(unfinished)
          else if (fields.length === 0) running.start({})
          else setAsking(true)
        }}
        type="button"
      >
        <Play aria-hidden size={16} />
        {messages.run}
      </button>
      {isAsking ? (
        <StartForm
          fields={fields}
          onClose={() => setAsking(false)}
          onStart={(values) => {
            setAsking(false)
            running.start(values)
          }}
          onTexts={setTexts}
          texts={texts}
        />
      ) : null}
    </>
  )
}

/** What is done with the run on the canvas. */
const Running = ({ readOnly, running }: Pick<EditorBarProps, "running" | "readOnly">) => {
  const { messages } = useSurroundings()
  const { isBusy, isOpen, leave, run, stop } = running
  return (
    <>
      {run === undefined ? null : (
        <span className={styles.status} data-status={run.status} role="status">
          <StateIcon size={18} state={run.status} />
          {messages.runStates[run.status]}
          {run.error === null ? "" : `: ${run.error}`}
        </span>
      )}
      {isOpen && !readOnly ? (
        <button className={theme.button} disabled={isBusy} onClick={stop} type="button">
          <Square aria-hidden size={16} />
          {messages.stop}
        </button>
      ) : null}
      <button className={theme.button} onClick={leave} type="button">
        <ArrowLeft aria-hidden size={16} />
        {messages.backToEditing}
      </button>
    </>
  )
}

/** Shows the bar. */
export const EditorBar = (props: EditorBarProps) => {
  const { held, onJump, onSavedAsNew, problems, readOnly, reading, running, workflowId } = props
  const { messages } = useSurroundings()
  const isRunShown = running.runId !== undefined
  return (
    <div aria-label={messages.actions} className={styles.bar} role="group">
      <div className={styles.title}>
        <h2 dir="auto">{reading.document?.name}</h2>
        <PresenceLine editing={reading.editing} workflowId={workflowId} />
      </div>
      {isRunShown ? (
        <Running {...props} />
      ) : (
        <>
          {readOnly ? null : <History {...props} />}
          {readOnly ? null : <SavingState onSavedAsNew={onSavedAsNew} reading={reading} />}
          <ProblemsBar onJump={onJump} problems={problems} />
        </>
      )}
      {readOnly || isRunShown ? null : <PinsLine held={held} />}
      {readOnly || isRunShown ? null : <Start {...props} />}
      {running.problem === "" ? null : (
        <p className={theme.failure} role="alert">
          {running.problem}
        </p>
      )}
    </div>
  )
}
