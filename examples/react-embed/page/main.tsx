/**
 * A page of the application: whoever has signed in draws and runs workflows of their company.
 */
import { Millrace, RunView, useWorkflows, WorkflowEditor } from "@millrace/react"
import "@millrace/react/style.css"
import { createConsoleClient } from "millrace/client"
import { StrictMode, useMemo, useState } from "react"
import { createRoot } from "react-dom/client"
import "./app.css"

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

const Flows = () => {
  const { items } = useWorkflows()
  const [runId, showRun] = useState<string>()
  const [first] = items
  if (first === undefined) return <p>No workflows yet.</p>
  return runId === undefined ? (
    <WorkflowEditor workflowId={first.id} onRun={showRun} />
  ) : (
    <>
      <button type="button" onClick={() => showRun(undefined)}>
        Back to the drawing
      </button>
      <RunView runId={runId} onStarted={showRun} />
    </>
  )
}

const App = () => {
  const [name, setName] = useState<string>()
  const client = useMemo(
    () => createConsoleClient({ url: `${location.origin}/flows`, token: makeToken() }),
    [name],
  )
  const signIn = async (wanted: string) => {
    await fetch(`/sign-in/${wanted}`, { method: "POST" })
    setName(wanted)
  }
  return (
    <>
      <header>
        <h1>Leads</h1>
        {name === undefined ? "Who are you?" : `Signed in as ${name}`}
        {["ada", "grace"].map((each) => (
          <button key={each} type="button" onClick={() => void signIn(each)}>
            {each}
          </button>
        ))}
      </header>
      {name !== undefined && (
        <main>
          <Millrace client={client} key={name}>
            <Flows />
          </Millrace>
        </main>
      )}
    </>
  )
}

createRoot(document.getElementById("root")!).render(
  <StrictMode>
    <App />
  </StrictMode>,
)
