/**
 * One run, as it happens.
 */
import { Millrace, RunView } from "@millrace/react"
import { Link, useLocation } from "wouter"
import { client } from "../Console.ts"
import { Page } from "../parts/Page.tsx"
import { chosenTheme } from "../Theme.ts"

/** A run. */
export const Run = ({ id }: { readonly id: string }) => {
  const [, navigate] = useLocation()
  return (
    <Page title="Run" actions={<Link href="/runs">All runs</Link>}>
      <Millrace client={client} theme={chosenTheme()}>
        <RunView runId={id} onStarted={(started) => navigate(`/runs/${started}`)} />
      </Millrace>
    </Page>
  )
}
