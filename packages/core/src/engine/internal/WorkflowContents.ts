/**
 * The content of a workflow that clients set: taken out of a stored one, and compared.
 */
import type { Workflow, WorkflowContent } from "../../domain/Workflow.ts"

const isSame = (left: unknown, right: unknown): boolean =>
  left === right || JSON.stringify(left) === JSON.stringify(right)

/** True if two contents are the same, also in the order of their keys. */
export const sameContent = (left: WorkflowContent, right: WorkflowContent): boolean =>
  left.name === right.name &&
  left.description === right.description &&
  left.thumbnailUrl === right.thumbnailUrl &&
  isSame(left.nodes, right.nodes) &&
  isSame(left.edges, right.edges) &&
  isSame(left.settings ?? {}, right.settings ?? {})

/** Only the fields that a client may set; others are dropped. */
export const contentOf = (
  workflow: WorkflowContent,
): WorkflowContent & Pick<Workflow, "settings"> => ({
  name: workflow.name,
  description: workflow.description,
  thumbnailUrl: workflow.thumbnailUrl,
  nodes: workflow.nodes,
  edges: workflow.edges,
  settings: workflow.settings ?? {},
})
