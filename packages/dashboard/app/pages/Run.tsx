/**
 * One run, as it happens; `?node=` says which of its nodes is shown first.
 */
import { RunView } from "@millrace/react"
import { Link, useLocation, useSearchParams } from "wouter"
import { useMay, useNodeTypes } from "../Console.ts"
import { Embedded } from "../parts/Embedded.tsx"
import { Page } from "../parts/Page.tsx"

const View = ({ id }: { readonly id: string }) => {
  const [, navigate] = useLocation()
  const [params] = useSearchParams()
  const { data: nodeTypes } = useNodeTypes()
  return (
    <RunView
      runId={id}
      initialNodeId={params.get("node") ?? undefined}
      readOnly={!useMay("editor")}
      onOpenRun={(opened) => navigate(`/runs/${opened}`)}
      onStarted={(started) => navigate(`/runs/${started}`)}
      onOpenEditor={({ runId, workflowId }) => navigate(`/workflows/${workflowId}?data=${runId}`)}
      {...(nodeTypes === undefined ? {} : { nodeTypes })}
    />
  )
}

/** A run. */
export const Run = ({ id }: { readonly id: string }) => (
  <Page title="Run" actions={<Link href="/runs">All runs</Link>}>
    <Embedded>
      <View id={id} />
    </Embedded>
  </Page>
)
