"use client"
/**
 * The editor of the first workflow, and the run that is started in it.
 */
import { Millrace, RunView, useWorkflows, WorkflowEditor } from "@millrace/react"
import { createConsoleClient } from "millrace/client"
import { useState } from "react"

/** Asks the application for a session, and again a minute before it ends. */
const makeToken = () => {
  let known: { readonly token: Promise<string>; readonly until: number } | undefined
  return () => {
    if (known === undefined || known.until < Date.now()) {
      const token = fetch("/flows-token", { method: "POST" }).then((answer) => answer.text())
      known = { token, until: Date.now() + 14 * 60_000 }
    }
    return known.token
  }
}

const Drawing = () => {
  const { items } = useWorkflows()
  const [runId, showRun] = useState<string>()
  const [first] = items
  if (runId !== undefined) return <RunView runId={runId} onStarted={showRun} />
  if (first === undefined) return <p>No workflows yet.</p>
  return <WorkflowEditor workflowId={first.id} onRun={showRun} />
}

/** The components ask nothing before they are in a browser, so Next may draw them on the server. */
export const Flows = () => {
  const [client] = useState(() => {
    const origin = typeof location === "undefined" ? "http://localhost" : location.origin
    return createConsoleClient({ url: `${origin}/automation`, token: makeToken() })
  })
  return (
    <main style={{ height: "90vh" }}>
      <Millrace client={client}>
        <Drawing />
      </Millrace>
    </main>
  )
}
