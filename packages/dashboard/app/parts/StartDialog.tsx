/**
 * Starts a workflow with values, and goes to its run.
 */
import { StartWorkflow } from "@millrace/react"
import { useLocation } from "wouter"
import { Embedded } from "./Embedded.tsx"

/** Asks for the values of a workflow, and starts it. */
export const StartDialog = ({
  onClose,
  workflowId,
}: {
  readonly workflowId: string
  readonly onClose: () => void
}) => {
  const [, navigate] = useLocation()
  return (
    <Embedded>
      <StartWorkflow
        workflowId={workflowId}
        onClose={onClose}
        onStarted={(runId) => navigate(`/runs/${runId}`)}
      />
    </Embedded>
  )
}
