/**
 * An application that shows one run, or the list of all. What it shows is in the part of
 * the address behind `#`.
 */
import { createClient } from "@millrace/api/PromiseClient"
import type { RunPanel, Theme } from "@millrace/react"
import { Millrace, RunView, useRuns } from "@millrace/react"
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
}

const { apiKey, nonce, panels, runId, theme } = JSON.parse(
  decodeURIComponent(location.hash.slice(1)),
) as Shown
const client = createClient({ url: location.origin, apiKey })

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
      locale="en"
    >
      {shown === undefined ? (
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
