/**
 * The editor of a workflow, to put into any application.
 *
 * Guarantees: what somebody has drawn is saved by itself and never lost without a choice. Loaded
 * when it is first shown. Several of them may stand on one page. Leaves out: which workflows there
 * are; see `useWorkflows`.
 */
import { lazy, Suspense } from "react"
import { useSurroundings } from "./internal/Surroundings.ts"
import theme from "./internal/Theme.module.css"
import type { WorkflowEditorProps } from "./WorkflowEditorProps.ts"

const EditorView = lazy(() =>
  import("./internal/editor/EditorView.tsx").then((loaded) => ({ default: loaded.EditorView })),
)

const Loading = () => {
  const { messages } = useSurroundings()
  return <p className={theme.sentence}>{messages.loading}</p>
}

/** Edits a workflow. Give it a height, or let it grow. */
export const WorkflowEditor = (props: WorkflowEditorProps) => (
  <Suspense fallback={<Loading />}>
    <EditorView key={props.workflowId} {...props} />
  </Suspense>
)
