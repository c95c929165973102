/**
 * What a node did in the last run, and a way to run it alone.
 *
 * Guarantees: a node type that changes something outside asks first. What is run is the workflow as
 * it is drawn: it is saved before.
 */
import type { NodeTypeItem } from "@millrace/api/PromiseClient"
import { Play } from "lucide-react"
import { useEffect, useRef, useState } from "react"
import { useRun } from "../../Hooks.ts"
import type { Pins } from "../PinnedRun.ts"
import { withoutPins } from "../PinnedRun.ts"
import { hasEnded } from "../../model/LiveRun.ts"
import { sentenceOf } from "../FailureText.tsx"
import { NodePanel } from "../NodePanel.tsx"
import { useSurroundings } from "../Surroundings.ts"
import theme from "../Theme.module.css"
import styles from "./Inspector.module.css"

interface TrialProps {
  readonly workflowId: string
  readonly nodeId: string
  readonly type: NodeTypeItem | undefined
  /** They stand for what nodes before this one put out last. */
  readonly pins?: Pins | undefined
  /** Saves what is drawn. */
  readonly onSave: () => Promise<unknown>
  readonly onTried: (runId: string) => void
}

const Question = ({
  onAnswer,
  typeName,
}: {
  readonly typeName: string
  readonly onAnswer: (isYes: boolean) => void
}) => {
  const { messages } = useSurroundings()
  const place = useRef<HTMLButtonElement>(null)
  useEffect(() => place.current?.focus(), [])
  return (
    <div
      aria-label={messages.tryNode}
      className={styles.question}
      onKeyDown={(event) => {
        if (event.key !== "Escape") return
        event.stopPropagation()
        onAnswer(false)
      }}
      role="alertdialog"
    >
      <p>{messages.tryWrites(typeName)}</p>
      <button className={theme.button} onClick={() => onAnswer(true)} type="button">
        <Play aria-hidden size={14} />
        {messages.tryNow}
      </button>
      <button className={theme.button} onClick={() => onAnswer(false)} ref={place} type="button">
        {messages.tryNot}
      </button>
    </div>
  )
}

/** Runs a node alone. */
export const Trial = (props: TrialProps) => {
  const { nodeId, onSave, onTried, pins = {}, type, workflowId } = props
  const { client, messages } = useSurroundings()
  const [state, setState] = useState<"idle" | "asking" | "busy">("idle")
  const [problem, setProblem] = useState("")
  const run = () => {
    const pinnedOutputs = withoutPins(pins, [nodeId])
    setState("busy")
    setProblem("")
    void onSave()
      .then(() => client.runs.start({ workflowId, singleNodeId: nodeId, pinnedOutputs }))
      .then(({ id }) => onTried(id))
      .catch((error: unknown) => setProblem(sentenceOf(error)))
      .finally(() => setState("idle"))
  }
  // Nobody knows what a type does that the server does not name.
  const isHarmless = type !== undefined && type.effects !== "writes"
  return (
    <div className={styles.trial}>
      <button
        className={theme.button}
        disabled={state !== "idle"}
        onClick={isHarmless ? run : () => setState("asking")}
        title={messages.tryHint}
        type="button"
      >
        <Play aria-hidden size={14} />
        {state === "busy" ? messages.trying : messages.tryNode}
      </button>
      {state === "asking" ? (
        <Question
          onAnswer={(isYes) => (isYes ? run() : setState("idle"))}
          typeName={type?.name ?? nodeId}
        />
      ) : null}
      {problem === "" ? null : (
        <p className={theme.failure} role="alert">
          {problem}
        </p>
      )}
    </div>
  )
}

interface NodeOfRunProps {
  readonly nodeId: string
  readonly label: string
  readonly runId: string
}

/** One node of a run. */
export const NodeOfRun = ({ label, nodeId, runId }: NodeOfRunProps) => {
  const { messages } = useSurroundings()
  const { error, nodes, run } = useRun(runId)
  if (run === undefined)
    return (
      <p className={theme.sentence}>{error === undefined ? messages.loading : sentenceOf(error)}</p>
    )
  if (nodes[nodeId] === undefined) return <p className={theme.sentence}>{messages.noLastRun}</p>
  return (
    <div aria-busy={!hasEnded(run)}>
      <NodePanel readOnly box={{ label }} nodeId={nodeId} runId={runId} />
    </div>
  )
}
