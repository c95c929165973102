/**
 * Runs as they happen. The filters stand in the address, so that a view can be sent to somebody.
 */
import type { Client, RunItem } from "@millrace/api/PromiseClient"
import { useState } from "react"
import { useSearchParams } from "wouter"
import { useMay } from "../Console.ts"
import { useLiveRuns } from "../LiveRuns.ts"
import { Listed } from "../parts/Listed.tsx"
import { Page } from "../parts/Page.tsx"
import { type FailedRuns, RunFailedAgain } from "../parts/RunFailedAgain.tsx"
import { RunTable } from "../parts/RunTable.tsx"
import { countText } from "../Words.ts"

const states = ["QUEUED", "RUNNING", "COMPLETED", "FAILED", "CANCELED"] as const

type Source = NonNullable<NonNullable<Parameters<Client["runs"]["live"]>[0]>["source"]>

/** Who asked for a run, in words. */
const sources: Readonly<Record<Source, string>> = {
  api: "API key",
  ui: "Person",
  mcp: "Assistant",
  schedule: "Schedule",
  webhook: "Webhook",
  run_end: "End of a run",
}

const isSource = (text: string | null): text is Source =>
  text !== null && Object.hasOwn(sources, text)

const isTime = (text: string | undefined): text is string =>
  text !== undefined && !Number.isNaN(Date.parse(text))

/** The filter of an address; what is unknown in it does not filter. */
const filterOf = (params: URLSearchParams) => {
  const text = (name: string) => params.get(name) ?? undefined
  const status = states.find((each) => each === text("status"))
  const source = params.get("source")
  const [search, workflowId, triggerId, from, to] = [
    text("search"),
    text("workflowId"),
    text("triggerId"),
    text("from"),
    text("to"),
  ]
  return {
    limit: 50,
    ...(status === undefined ? {} : { status }),
    ...(isSource(source) ? { source } : {}),
    ...(search === undefined ? {} : { search }),
    ...(workflowId === undefined ? {} : { workflowId }),
    ...(triggerId === undefined ? {} : { triggerId }),
    ...(isTime(from) ? { from: new Date(from).toISOString() } : {}),
    ...(isTime(to) ? { to: new Date(to).toISOString() } : {}),
  }
}

/** Failed runs by workflow and error, the most frequent first. */
const grouped = (runs: ReadonlyArray<RunItem>) => {
  const groups = new Map<string, Array<RunItem>>()
  for (const run of runs.filter(({ status }) => status === "FAILED")) {
    const key = `${run.workflowId} ${run.error}`
    groups.set(key, [...(groups.get(key) ?? []), run])
  }
  return [...groups].toSorted(([, a], [, b]) => b.length - a.length)
}

/** Runs that have failed, by what went wrong; who may start runs can run a group again. */
const Failures = ({
  onAgain,
  runs,
}: {
  readonly runs: ReadonlyArray<RunItem>
  readonly onAgain: ((failed: FailedRuns) => void) | undefined
}) => (
  <ul className="groups">
    {grouped(runs).map(([key, group]) => (
      <li key={key}>
        <details>
          <summary>
            <strong dir="auto">{group[0]!.workflowName}</strong> {countText(group.length, "run")}
            <div className="error">{group[0]!.error}</div>
          </summary>
          {onAgain !== undefined && (
            <button
              type="button"
              onClick={() => {
                const { error, workflowId } = group[0]!
                onAgain({ workflowId, error: error ?? undefined })
              }}
            >
              Run these again
            </button>
          )}
          <RunTable caption={`Failed runs of ${group[0]!.workflowName}`} runs={group} />
        </details>
      </li>
    ))}
  </ul>
)

const Filters = () => {
  const [params, setParams] = useSearchParams()
  const set = (name: string, value: string) =>
    setParams(
      (now) => {
        const next = new URLSearchParams(now)
        if (value === "") next.delete(name)
        else next.set(name, value)
        return next
      },
      { replace: true },
    )
  const choice = (name: string, words: string, all: Readonly<Record<string, string>>) => (
    <label>
      {words}
      <select value={params.get(name) ?? ""} onChange={({ target }) => set(name, target.value)}>
        <option value="">Any</option>
        {Object.entries(all).map(([value, text]) => (
          <option key={value} value={value}>
            {text}
          </option>
        ))}
      </select>
    </label>
  )
  const time = (name: string, words: string) => (
    <label>
      {words}
      <input
        type="datetime-local"
        value={params.get(name) ?? ""}
        onChange={({ target }) => set(name, target.value)}
      />
    </label>
  )
  return (
    <form className="filters" role="search" onSubmit={(event) => event.preventDefault()}>
      {choice("status", "State", Object.fromEntries(states.map((each) => [each, each])))}
      {choice("source", "Started by", sources)}
      {time("from", "From")}
      {time("to", "To")}
      <label>
        Search
        <input
          type="search"
          placeholder="Workflow, error or run id"
          value={params.get("search") ?? ""}
          onChange={({ target }) => set("search", target.value)}
        />
      </label>
      <label className="check">
        <input
          type="checkbox"
          checked={params.has("grouped")}
          onChange={({ target }) => set("grouped", target.checked ? "1" : "")}
        />
        Failures by error
      </label>
    </form>
  )
}

/** The runs of the account. */
export const Runs = () => {
  const [params] = useSearchParams()
  const runs = useLiveRuns(filterOf(params))
  const isGrouped = params.has("grouped")
  const mayStart = useMay("editor")
  const [again, setAgain] = useState<FailedRuns>()
  const field = (name: string) => params.get(name) ?? undefined
  const actions = mayStart && (
    <button
      type="button"
      onClick={() =>
        setAgain({ workflowId: field("workflowId"), from: field("from"), to: field("to") })
      }
    >
      Run failed ones again
    </button>
  )
  return (
    <Page title="Runs" actions={actions}>
      <Filters />
      <p className="quiet" role="status">
        {runs.isPending ? "" : runs.isLive ? "Live" : "Not connected"}
      </p>
      <Listed
        query={runs}
        count={runs.items.length}
        empty="No runs here. Run a workflow, or change the filters."
      >
        {isGrouped ? (
          <Failures runs={runs.items} onAgain={mayStart ? setAgain : undefined} />
        ) : (
          <RunTable caption="Runs" runs={runs.items} />
        )}
      </Listed>
      {again !== undefined && <RunFailedAgain begin={again} onClose={() => setAgain(undefined)} />}
    </Page>
  )
}
