/**
 * Starts a run that takes over what an ended run did before a node, and executes the rest anew.
 *
 * Guarantees: says first what would be executed, and starts nothing before it is told to.
 */
import type { RerunPlan } from "@millrace/api/PromiseClient"
import { RotateCw } from "lucide-react"
import { useState } from "react"
import { useRun } from "../Hooks.ts"
import { hasEnded } from "../model/LiveRun.ts"
import { sentenceOf } from "./FailureText.tsx"
import styles from "./NodePanel.module.css"
import { useSurroundings } from "./Surroundings.ts"
import theme from "./Theme.module.css"

interface PlanProps {
  readonly plan: RerunPlan
  readonly onAnswer: (isYes: boolean) => void
}

const Plan = ({ onAnswer, plan }: PlanProps) => {
  const { messages } = useSurroundings()
  const { anew, estimatedCredits, problems, takenOver } = plan
  return (
    <div
      aria-label={messages.rerunPlan}
      className={styles.plan}
      onKeyDown={(event) => {
        if (event.key !== "Escape") return
        event.stopPropagation()
        onAnswer(false)
      }}
      role="group"
    >
      {problems.map(({ message }) => (
        <p className={theme.failure} key={message} role="alert">
          {message}
        </p>
      ))}
      <p>{messages.rerunNodes(anew.length)}</p>
      <ul>
        {anew.map(({ nodeId }) => (
          <li dir="auto" key={nodeId}>
            {nodeId}
          </li>
        ))}
      </ul>
      <p className={theme.muted}>
        {messages.rerunTakes(takenOver.length)}{" "}
        {estimatedCredits === null ? "" : messages.estimate(estimatedCredits)}
      </p>
      <button
        autoFocus
        className={theme.button}
        disabled={problems.length > 0}
        onClick={() => onAnswer(true)}
        type="button"
      >
        {messages.rerunNow}
      </button>{" "}
      <button className={theme.button} onClick={() => onAnswer(false)} type="button">
        {messages.rerunNot}
      </button>
    </div>
  )
}

interface RerunFromProps {
  readonly runId: string
  readonly nodeId: string
  readonly onStarted: (runId: string) => void
}

/** Offered of a whole graph that has ended. */
export const RerunFrom = ({ nodeId, onStarted, runId }: RerunFromProps) => {
  const { client, messages } = useSurroundings()
  const { run } = useRun(runId)
  const [plan, setPlan] = useState<RerunPlan>()
  const [isBusy, setBusy] = useState(false)
  const [problem, setProblem] = useState("")
  const act = (work: Promise<unknown>) => {
    setBusy(true)
    setProblem("")
    void work.catch((error: unknown) => setProblem(sentenceOf(error))).finally(() => setBusy(false))
  }
  if (run === undefined || !hasEnded(run) || run.mode === "single") return null
  const wanted = { from: [nodeId] }
  return (
    <div className={styles.rerun}>
      {plan === undefined ? (
        <button
          className={theme.button}
          disabled={isBusy}
          onClick={() => act(client.runs.planRerun(runId, wanted).then(setPlan))}
          title={messages.rerunFromHint}
          type="button"
        >
          <RotateCw aria-hidden size={16} />
          {messages.rerunFrom}
        </button>
      ) : (
        <Plan
          onAnswer={(isYes) => {
            setPlan(undefined)
            if (isYes) act(client.runs.rerun(runId, wanted).then(({ id }) => onStarted(id)))
          }}
          plan={plan}
        />
      )}
      {problem === "" ? null : (
        <p className={theme.failure} role="alert">
          {problem}
        </p>
      )}
    </div>
  )
}
