/**
 * An application that shows one run, the list of all, or editors. What it shows is in the part of
 * the address behind `#`; when that changes, everything is drawn anew.
 */
import { createConsoleClient } from "@millrace/api/ConsoleClient"
import { createClient } from "@millrace/api/PromiseClient"
import type { NodeFieldProps, NodeViews, Theme } from "@millrace/react"
import { Millrace, RunView, useKeys, useRuns, WorkflowEditor } from "@millrace/react"
import type { ReactNode } from "react"
import { StrictMode, useMemo, useState } from "react"
import { flushSync } from "react-dom"
import { createRoot } from "react-dom/client"
import type { ShownInspector } from "./InspectorHost.tsx"
import { InspectorHost } from "./InspectorHost.tsx"

/** What a test wants to see. */
export interface Shown {
  readonly apiKey: string
  /** The token of a session, in the place of the API key. */
  readonly session?: string
  /** Tells two that are otherwise the same apart. */
  readonly turn: number
  /** None for the list of runs. */
  readonly runId?: string
  readonly theme?: Theme
  readonly nonce: string
  /** Rules of the application for plain elements. */
  readonly css?: string
  /** True for viewers. */
  readonly readOnly?: boolean
  /** Workflows to edit, beside each other. */
  readonly editors?: ReadonlyArray<string>
  /** The table of nodes and the inspector alone. */
  readonly inspector?: ShownInspector
  /** Whose unsaved work the browser keeps. */
  readonly user?: string
}

const read = (): Shown => JSON.parse(decodeURIComponent(location.hash.slice(1))) as Shown

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

const Keys = () => {
  const { data = [], error } = useKeys()
  return (
    <p data-keys={data.length}>
      {error instanceof Error ? error.message : data.map(({ label }) => label).join(", ")}
    </p>
  )
}

const Run = ({ runId }: { readonly runId: string }) => {
  const [shown, show] = useState(runId)
  const [drawn, draw] = useState<{ readonly workflowId: string; readonly runId: string }>()
  if (drawn !== undefined)
    return <WorkflowEditor pinnedRunId={drawn.runId} workflowId={drawn.workflowId} />
  return <RunView key={shown} onOpenEditor={draw} onOpenRun={show} onStarted={show} runId={shown} />
}

const partsOf = ({ editors, inspector, readOnly, runId }: Shown): ReactNode => {
  if (inspector !== undefined) return <InspectorHost {...inspector} />
  if (runId !== undefined) return <Run runId={runId} />
  if (editors === undefined) return [<Runs key="runs" />, <Keys key="keys" />]
  return editors.map((workflowId) => (
    <div className="whole" key={workflowId}>
      <WorkflowEditor nodeViews={nodeViews} readOnly={readOnly} workflowId={workflowId} />
    </div>
  ))
}

const App = ({ shown }: { readonly shown: Shown }) => {
  const { apiKey, nonce, session, theme, user } = shown
  const client = useMemo(
    () =>
      session === undefined
        ? createClient({ url: location.origin, apiKey })
        : createConsoleClient({ url: location.origin, token: async () => session }),
    [apiKey, session],
  )
  return (
    <Millrace
      client={client}
      nonce={nonce}
      {...(theme === undefined ? {} : { theme })}
      {...(user === undefined ? {} : { user })}
      locale="en"
    >
      {partsOf(shown)}
    </Millrace>
  )
}

const root = createRoot(document.getElementById("root")!)

const redraw = () => {
  const shown = read()
  flushSync(() =>
    root.render(
      <StrictMode>
        {shown.css === undefined ? null : <style nonce={shown.nonce}>{shown.css}</style>}
        <App key={shown.turn} shown={shown} />
      </StrictMode>,
    ),
  )
}

addEventListener("hashchange", redraw)
redraw()
