/**
 * An application that shows one run, the list of all, or editors. What it shows is in the part of
 * the address behind `#`.
 */
import { createClient } from "@millrace/api/PromiseClient"
import type { NodeFieldProps, NodeViews, RunPanel, Theme } from "@millrace/react"
import { Millrace, RunView, useRuns, WorkflowEditor } from "@millrace/react"
import { StrictMode, useState } from "react"
import { createRoot } from "react-dom/client"

/** What a test wants to see. */
export interface Shown {
  readonly apiKey: string
  /** None for the list of runs. */
  readonly runId?: string
  readonly theme?: Theme
  readonly nonce?: string
  readonly panels?: ReadonlyArray<RunPanel>
  /** Rules of the application for plain elements. */
  readonly css?: string
  /** True for viewers. */
  readonly readOnly?: boolean
  /** Workflows to edit, beside each other. */
  readonly editors?: ReadonlyArray<string>
  /** Whose unsaved work the browser keeps. */
  readonly user?: string
}

const { apiKey, css, editors, nonce, panels, readOnly, runId, theme, user } = JSON.parse(
  decodeURIComponent(location.hash.slice(1)),
) as Shown
if (css !== undefined) {
  const style = document.createElement("style")
  style.nonce = nonce ?? ""
  style.textContent = css
  document.head.append(style)
}

const client = createClient({ url: location.origin, apiKey })

const Mark = ({ id, onChange, readOnly, value }: NodeFieldProps) => (
  <select
    disabled={readOnly}
    id={id}
    onChange={({ target }) => onChange(target.value)}
    value={typeof value === "string" ? value : ""}
  >
    <option value="">None</option>
    <option value="!">Loud</option>
  </select>
)

/** How this application draws nodes of its own type. */
const nodeViews: NodeViews = {
  shout: {
    color: "#8a3b12",
    contentHeight: 40,
    renderNode: ({ label }) => <p>Drawn by the application: {label}</p>,
    fields: { mark: Mark },
  },
}

const Runs = () => (
  <ul>
    {useRuns({}, { live: true }).items.map((run) => (
      <li data-run={run.id} key={run.id}>
        {run.status}
      </li>
    ))}
  </ul>
)

const App = () => {
  const [shown, show] = useState(runId)
  return (
    <Millrace
      client={client}
      {...(theme === undefined ? {} : { theme })}
      {...(nonce === undefined ? {} : { nonce })}
      {...(user === undefined ? {} : { user })}
      locale="en"
    >
      {editors !== undefined ? (
        editors.map((workflowId) => (
          <div className="whole" key={workflowId}>
            <WorkflowEditor nodeViews={nodeViews} readOnly={readOnly} workflowId={workflowId} />
          </div>
        ))
      ) : shown === undefined ? (
        <Runs />
      ) : (
        <RunView
          key={shown}
          onStarted={show}
          runId={shown}
          {...(panels === undefined ? {} : { panels })}
        />
      )}
    </Millrace>
  )
}

createRoot(document.getElementById("root")!).render(
  <StrictMode>
    <App />
  </StrictMode>,
)
