/**
 * The workflows of the account: what they look like, how their last runs ended, and a start.
 */
import { useInfiniteQuery } from "@tanstack/react-query"
import { Play, Search } from "lucide-react"
import { lazy, Suspense, useState } from "react"
import { Link, useSearchParams } from "wouter"
import type { WorkflowItem as ListedWorkflow } from "@millrace/api/PromiseClient"
import { client, useMay } from "../Console.ts"
import { Listed } from "../parts/Listed.tsx"
import { NewWorkflow } from "../parts/NewWorkflow.tsx"
import { Outline } from "../parts/Outline.tsx"
import { Page } from "../parts/Page.tsx"
import { Status } from "../parts/Status.tsx"
import { countText, timeText } from "../Words.ts"

/** Loaded when somebody starts one. */
const StartDialog = lazy(() =>
  import("../parts/StartDialog.tsx").then((loaded) => ({ default: loaded.StartDialog })),
)

const useWorkflows = (search: string) =>
  useInfiniteQuery({
    queryKey: ["workflows", search],
    initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam: cursor }) =>
      client.workflows.list({
        limit: 24,
        activity: true,
        view: "outline",
        ...(search === "" ? {} : { search }),
        ...(cursor === undefined ? {} : { cursor }),
      }),
    getNextPageParam: ({ nextCursor }) => nextCursor ?? undefined,
  })

const Activity = ({ workflow: { activity } }: { readonly workflow: ListedWorkflow }) => {
  if (activity === undefined || activity.lastRun === null)
    return <p className="quiet">No runs yet</p>
  const { lastRun } = activity
  const failed = activity.failed7d === 0 ? "" : `, ${activity.failed7d} failed`
  return (
    <p>
      <Link href={`/runs/${lastRun.id}`}>
        <Status of={lastRun.status} />
      </Link>{" "}
      <span className="quiet">
        {timeText(lastRun.createdAt)} · {countText(activity.runs7d, "run")} in 7 days{failed}
      </span>
    </p>
  )
}

const Card = ({
  onStart,
  workflow,
}: {
  readonly workflow: ListedWorkflow
  readonly onStart: (() => void) | undefined
}) => (
  <li className="card">
    <Outline of={workflow.outline} />
    <div>
      <h2>
        <Link href={`/workflows/${workflow.id}`} dir="auto">
          {workflow.name}
        </Link>
      </h2>
      <p className="quiet clamp" dir="auto">
        {workflow.description || countText(workflow.nodeCount, "node")}
      </p>
      <Activity workflow={workflow} />
    </div>
    {onStart !== undefined && (
      <button type="button" aria-label={`Run ${workflow.name}`} onClick={onStart}>
        <Play aria-hidden size={16} />
        Run
      </button>
    )}
  </li>
)

/** The first page. */
export const Workflows = () => {
  const [params, setParams] = useSearchParams()
  const search = params.get("search") ?? ""
  const query = useWorkflows(search)
  const mayStart = useMay("editor")
  const [starting, setStarting] = useState<ListedWorkflow>()
  const items = query.data?.pages.flatMap((page) => page.items) ?? []
  const empty =
    search === ""
      ? "No workflows yet. Make one here, or with engine.workflows.create."
      : `No workflow has “${search}” in its name.`
  return (
    <Page title="Workflows" actions={mayStart && <NewWorkflow />}>
      <label className="search">
        <Search aria-hidden size={16} />
        <input
          type="search"
          placeholder="Search by name"
          aria-label="Search by name"
          value={search}
          onChange={({ target }) =>
            setParams(target.value === "" ? {} : { search: target.value }, { replace: true })
          }
        />
      </label>
      <Listed query={query} count={items.length} empty={empty}>
        <ul className="cards">
          {items.map((workflow) => (
            <Card
              key={workflow.id}
              workflow={workflow}
              onStart={mayStart ? () => setStarting(workflow) : undefined}
            />
          ))}
        </ul>
      </Listed>
      {starting !== undefined && (
        <Suspense>
          <StartDialog workflowId={starting.id} onClose={() => setStarting(undefined)} />
        </Suspense>
      )}
    </Page>
  )
}
