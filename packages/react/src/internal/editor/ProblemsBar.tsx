/**
 * How many problems and warnings a draft has, and a list that leads to each of them.
 */
import type { NodeTypeItem, WorkflowValidation } from "@millrace/api/PromiseClient"
import { ChevronDown, ChevronUp } from "lucide-react"
import { useId, useMemo, useRef, useState } from "react"
import type { WorkflowDocument } from "../../model/editing/Document.ts"
import { labelOf } from "../../model/editing/internal/NodeInputs.ts"
import type { FieldPlace, PlacedProblem } from "../../model/editing/PlacedProblems.ts"
import { placedProblems } from "../../model/editing/PlacedProblems.ts"
import { useSurroundings } from "../Surroundings.ts"
import theme from "../Theme.module.css"
import styles from "./NodesTable.module.css"
import { ProblemIcon } from "./ProblemMarks.tsx"

/** So many are listed; more are counted. */
const problemsShown = 200

/** The problems of a draft, with places. Those of one node: `problemsByNode`. */
export const useProblems = (
  document: WorkflowDocument,
  validation: WorkflowValidation | undefined,
  nodeTypes: ReadonlyArray<NodeTypeItem>,
): ReadonlyArray<PlacedProblem> => {
  const { messages } = useSurroundings()
  return useMemo(
    () =>
      placedProblems(document, validation, (node, place) =>
        messages.unfinished(labelOf(node, nodeTypes), place.replace(/^inputs\//, "")),
      ),
    [document, validation, nodeTypes, messages],
  )
}

/** What `<ProblemsBar>` takes. */
export interface ProblemsBarProps {
  /** From `useProblems`. */
  readonly problems: ReadonlyArray<PlacedProblem>
  /** Called with the place of a problem that the viewer wants to mend. */
  readonly onJump: (place: FieldPlace) => void
}

/** Counts and lists problems. */
export const ProblemsBar = ({ onJump, problems }: ProblemsBarProps) => {
  const { messages } = useSurroundings()
  const [isOpen, setOpen] = useState(false)
  const [isBelow, setBelow] = useState(false)
  const toggle = useRef<HTMLButtonElement>(null)
  const id = useId()
  const warnings = problems.filter(({ isWarning }) => isWarning).length
  const text = messages.problemsAndWarnings(problems.length - warnings, warnings)
  const isListed = isOpen && problems.length > 0
  const Arrow = isListed ? ChevronDown : ChevronUp
  return (
    <div
      className={styles.problems}
      onKeyDown={(event) => {
        if (event.key !== "Escape" || !isListed) return
        event.stopPropagation()
        setOpen(false)
        toggle.current?.focus()
      }}
    >
      <button
        aria-controls={isListed ? id : undefined}
        aria-expanded={isListed}
        className={theme.button}
        disabled={problems.length === 0}
        onClick={({ currentTarget }) => {
          // Where there is more room.
          setBelow(currentTarget.getBoundingClientRect().top < window.innerHeight / 2)
          setOpen(!isOpen)
        }}
        ref={toggle}
        type="button"
      >
        {problems.length === 0 ? null : (
          <>
            <ProblemIcon isSilent isWarning={warnings === problems.length} />
            <Arrow aria-hidden size={16} />
          </>
        )}
        {text}
      </button>
      {isListed ? (
        <ul aria-label={messages.problemList} data-below={isBelow} id={id} tabIndex={-1}>
          {problems.slice(0, problemsShown).map((problem, index) => (
            <li key={index}>
              <button
                onClick={() => {
                  setOpen(false)
                  onJump(problem)
                }}
                type="button"
              >
                <ProblemIcon isWarning={problem.isWarning} />
                <span dir="auto">{problem.message}</span>
              </button>
            </li>
          ))}
          {problems.length <= problemsShown ? null : (
            <li className={theme.muted}>
              {messages.otherProblems(problems.length - problemsShown)}
            </li>
          )}
        </ul>
      ) : null}
    </div>
  )
}
