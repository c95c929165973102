/**
 * What an editor is given.
 */
import type { NodeTypeItem } from "@millrace/api/PromiseClient"
import type { NodeViews } from "./NodeViews.ts"

/** What `<WorkflowEditor>` takes. */
export interface WorkflowEditorProps {
  readonly workflowId: string
  /** Called with each revision that was saved, for `ifMatch`. */
  readonly onSaved?: ((etag: string) => void) | undefined
  /** Called with the id of the workflow that was made of the drawing when its own was gone. */
  readonly onSavedAsNew?: ((workflowId: string) => void) | undefined
  /** Called with the id of each run that the user starts here. */
  readonly onRun?: ((runId: string) => void) | undefined
  /** True if the user may look and not change, and start nothing. */
  readonly readOnly?: boolean | undefined
  /** A run of this workflow to show at first. */
  readonly runId?: string | undefined
  /**
   * A past run of this workflow: the outputs of its completed nodes are pinned at first. Runs that
   * are started here do not execute pinned nodes; the user unpins one or all.
   */
  readonly pinnedRunId?: string | undefined
  /** How nodes of the application's own types look and are filled in. Keep the object. */
  readonly nodeViews?: NodeViews | undefined
  /** From `useNodeTypes`, where the application has them already; read otherwise. */
  readonly nodeTypes?: ReadonlyArray<NodeTypeItem> | undefined
  /** Names of secrets that inputs may use, where the application knows them. */
  readonly secrets?: ReadonlyArray<string> | undefined
  /** False to use no keys on the canvas. */
  readonly keys?: boolean | undefined
}
