/**
 * One workflow: its drawing, its last runs, and a start.
 */
import { Canvas, Millrace, useNodeTypes, useWorkflow } from "@millrace/react"
import { Play } from "lucide-react"
import { useState } from "react"
import { Link } from "wouter"
import { client, sentenceOf, useMay } from "../Console.ts"
import { useLiveRuns } from "../LiveRuns.ts"
import { Listed } from "../parts/Listed.tsx"
import { Notice } from "../parts/Notice.tsx"
import { Page } from "../parts/Page.tsx"
import { RunTable } from "../parts/RunTable.tsx"
import { StartDialog } from "../parts/StartDialog.tsx"
import { chosenTheme } from "../Theme.ts"

const Drawing = ({ id }: { readonly id: string }) => {
  const { data: workflow, error } = useWorkflow(id)
  const { data: types } = useNodeTypes()
  if (error !== undefined) return <Notice kind="error">{sentenceOf(error)}</Notice>
  if (workflow === undefined || types === undefined) return <p className="quiet">Loading</p>
  return <Canvas value={workflow} nodeTypes={types} readOnly />
}

const Title = ({ id }: { readonly id: string }) => {
  const [isStarting, setIsStarting] = useState(false)
  const mayStart = useMay("editor")
  const { data: workflow } = useWorkflow(id)
  const runs = useLiveRuns({ workflowId: id, limit: 20 })
  return (
    <Page
      title={workflow?.name ?? "Workflow"}
      actions={
        mayStart && (
          <button type="button" className="primary" onClick={() => setIsStarting(true)}>
            <Play aria-hidden size={16} />
            Run
          </button>
        )
      }
    >
      {workflow?.description !== undefined && <p dir="auto">{workflow.description}</p>}
      <Drawing id={id} />
      <h2>Runs</h2>
      <Listed query={runs} count={runs.items.length} empty="It has not run yet.">
        <RunTable caption="Runs of this workflow" runs={runs.items} />
      </Listed>
      <p>
        <Link href={`/runs?workflowId=${id}`}>All runs of this workflow</Link>
      </p>
      {isStarting && <StartDialog workflowId={id} onClose={() => setIsStarting(false)} />}
    </Page>
  )
}

/** A workflow. */
export const Workflow = ({ id }: { readonly id: string }) => (
  <Millrace client={client} theme={chosenTheme()}>
    <Title id={id} />
  </Millrace>
)
