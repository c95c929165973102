/**
 * Starts a workflow with values: a dialog with a field for each value that its request node
 * declares, and for priority, time and concurrency key.
 *
 * Guarantees: a start that is refused keeps what was typed, and says why. Leaves out: following the
 * run; see `<RunView>`.
 */
import { useState } from "react"
import { StartForm } from "./internal/editor/StartForm.tsx"
import { StartOrder } from "./internal/editor/StartOrder.tsx"
import { sentenceOf } from "./internal/FailureText.tsx"
import { useSurroundings } from "./internal/Surroundings.ts"
import { useWorkflow } from "./Hooks.ts"
import { noStartOrder, startOrderOf } from "./internal/editor/OrderTexts.ts"
import { startFieldsOf } from "./model/StartValues.ts"

/** What `<StartWorkflow>` takes. */
export interface StartWorkflowProps {
  readonly workflowId: string
  /** Called with the id of the run. */
  readonly onStarted: (runId: string) => void
  readonly onClose: () => void
}

/** Asks for the values of a workflow, and starts it. */
export const StartWorkflow = ({ onClose, onStarted, workflowId }: StartWorkflowProps) => {
  const { client } = useSurroundings()
  const { data: workflow, error } = useWorkflow(workflowId)
  const [texts, setTexts] = useState<Readonly<Record<string, string>>>({})
  const [order, setOrder] = useState(noStartOrder)
  const [isBusy, setBusy] = useState(false)
  const [problem, setProblem] = useState("")
  if (workflow === undefined && error === undefined) return null
  const start = (values: Record<string, never>) => {
    setBusy(true)
    setProblem("")
    void client.runs
      .start({ workflowId, values, ...startOrderOf(order) })
      .then(({ id }) => onStarted(id))
      .catch((cause: unknown) => setProblem(sentenceOf(cause)))
      .finally(() => setBusy(false))
  }
  return (
    <StartForm
      fields={workflow === undefined ? [] : startFieldsOf(workflow)}
      isBusy={isBusy || workflow === undefined}
      onClose={onClose}
      onStart={start}
      onTexts={setTexts}
      problem={workflow === undefined ? sentenceOf(error) : problem}
      texts={texts}
    >
      <StartOrder onTexts={setOrder} texts={order} />
    </StartForm>
  )
}
