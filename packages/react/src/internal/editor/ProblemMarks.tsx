/**
 * Problems and warnings where they are mended, or as a list that leads there.
 */
import { CircleAlert, TriangleAlert } from "lucide-react"
import type { PlacedProblem } from "../../model/editing/PlacedProblems.ts"
import { useSurroundings } from "../Surroundings.ts"
import styles from "./Inspector.module.css"

interface ProblemIconProps extends Pick<PlacedProblem, "isWarning"> {
  /** Its word stands beside it. */
  readonly isSilent?: boolean
}

/** The picture of a problem or a warning, with its word for those who do not see it. */
export const ProblemIcon = ({ isSilent = false, isWarning }: ProblemIconProps) => {
  const { messages } = useSurroundings()
  const Icon = isWarning ? TriangleAlert : CircleAlert
  const named = { "aria-label": isWarning ? messages.warning : messages.problem, role: "img" }
  return (
    <Icon
      {...(isSilent ? { "aria-hidden": true } : named)}
      className={isWarning ? styles.warningIcon : styles.problemIcon}
      size={16}
    />
  )
}

/** The sentences of problems. */
export const ProblemMarks = ({ problems }: { readonly problems: ReadonlyArray<PlacedProblem> }) =>
  problems.map(({ isWarning, message }) => (
    <p className={isWarning ? styles.warning : styles.problem} key={message}>
      <ProblemIcon isWarning={isWarning} />
      <span dir="auto">{message}</span>
    </p>
  ))
