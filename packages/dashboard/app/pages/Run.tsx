/**
 * One run, as it happens.
 */
import { Millrace, RunView, useNodeTypes } from "@millrace/react"
import { Link, useLocation } from "wouter"
import { client, useMay } from "../Console.ts"
import { Page } from "../parts/Page.tsx"
import { chosenTheme } from "../Theme.ts"

const View = ({ id }: { readonly id: string }) => {
  const [, navigate] = useLocation()
  const { data: nodeTypes } = useNodeTypes()
  return (
    <RunView
      runId={id}
      readOnly={!useMay("editor")}
      onStarted={(started) => navigate(`/runs/${started}`)}
      {...(nodeTypes === undefined ? {} : { nodeTypes })}
    />
  )
}

/** A run. */
export const Run = ({ id }: { readonly id: string }) => (
  <Page title="Run" actions={<Link href="/runs">All runs</Link>}>
    <Millrace client={client} theme={chosenTheme()}>
      <View id={id} />
    </Millrace>
  </Page>
)
