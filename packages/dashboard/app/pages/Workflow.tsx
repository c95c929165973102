/**
 * One workflow: its editor, its versions, its runs, its triggers, its JSON and its settings.
 *
 * Guarantees: what was drawn is saved by itself, and stays in this browser until it is.
 */
import { useWorkflow, WorkflowEditor } from "@millrace/react"
import type { ReactNode } from "react"
import { Link, useLocation, useSearchParams } from "wouter"
import { sentenceOf, useMay } from "../Console.ts"
import { useLiveRuns } from "../LiveRuns.ts"
import { Embedded } from "../parts/Embedded.tsx"
import { Listed } from "../parts/Listed.tsx"
import { Notice } from "../parts/Notice.tsx"
import { Page } from "../parts/Page.tsx"
import { RunTable } from "../parts/RunTable.tsx"
import { WorkflowActions } from "../parts/WorkflowActions.tsx"
import { WorkflowJson } from "../parts/WorkflowJson.tsx"
import { WorkflowSettings } from "../parts/WorkflowSettings.tsx"
import { WorkflowTriggers } from "../parts/WorkflowTriggers.tsx"
import { WorkflowVersions } from "../parts/WorkflowVersions.tsx"

const tabs = [
  ["editor", "Editor"],
  ["versions", "Versions"],
  ["runs", "Runs"],
  ["triggers", "Triggers"],
  ["json", "JSON"],
  ["settings", "Settings"],
] as const

type Tab = (typeof tabs)[number][0]

const Runs = ({ id }: { readonly id: string }) => {
  const runs = useLiveRuns({ workflowId: id, limit: 20 })
  return (
    <>
      <Listed query={runs} count={runs.items.length} empty="It has not run yet.">
        <RunTable caption="Runs of this workflow" runs={runs.items} />
      </Listed>
      <p>
        <Link href={`/runs?workflowId=${id}`}>All runs of this workflow</Link>
      </p>
    </>
  )
}

const Part = ({ id, tab }: { readonly id: string; readonly tab: Tab }): ReactNode => {
  const readOnly = !useMay("editor")
  const [, navigate] = useLocation()
  const [params] = useSearchParams()
  switch (tab) {
    case "runs":
      return <Runs id={id} />
    case "json":
      return <WorkflowJson id={id} readOnly={readOnly} />
    case "triggers":
      return <WorkflowTriggers id={id} readOnly={readOnly} />
    case "versions":
      return <WorkflowVersions id={id} readOnly={readOnly} />
    case "settings":
      return <WorkflowSettings id={id} readOnly={readOnly} />
    case "editor":
      return (
        <div className="editor">
          <WorkflowEditor
            workflowId={id}
            readOnly={readOnly}
            pinnedRunId={params.get("data") ?? undefined}
            onSavedAsNew={(made) => navigate(`/workflows/${made}`)}
          />
        </div>
      )
  }
}

const Tabs = ({ chosen, id }: { readonly chosen: Tab; readonly id: string }) => (
  <nav aria-label="Parts of the workflow" className="tabs">
    {tabs.map(([tab, words]) => (
      <Link
        key={tab}
        href={`/workflows/${id}${tab === "editor" ? "" : `?tab=${tab}`}`}
        aria-current={tab === chosen ? "page" : undefined}
      >
        {words}
      </Link>
    ))}
  </nav>
)

const Opened = ({ id }: { readonly id: string }) => {
  const [params] = useSearchParams()
  const chosen = tabs.find(([tab]) => tab === params.get("tab"))?.[0] ?? "editor"
  const { data: workflow, error } = useWorkflow(id)
  const mayEdit = useMay("editor")
  return (
    <Page
      title={workflow?.name ?? "Workflow"}
      actions={workflow !== undefined && <WorkflowActions workflow={workflow} mayEdit={mayEdit} />}
    >
      {error !== undefined && workflow === undefined && (
        <Notice kind="error">{sentenceOf(error)}</Notice>
      )}
      <Tabs chosen={chosen} id={id} />
      <Part id={id} tab={chosen} />
    </Page>
  )
}

/** A workflow. */
export const Workflow = ({ id }: { readonly id: string }) => (
  <Embedded>
    <Opened id={id} />
  </Embedded>
)
