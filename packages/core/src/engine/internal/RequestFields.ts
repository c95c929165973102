/**
 * The fields of a run that a stored workflow declares.
 */
import type { Workflow } from "../../domain/Workflow.ts"
import type { RequestField } from "../../graph/internal/RequestFields.ts"
import { fieldsOf, requestIn } from "../../graph/internal/RequestFields.ts"
import type { NodeTypes } from "../NodeTypes.ts"

/** The fields that a workflow declares in its request node. */
export const requestFieldsOf = (
  types: NodeTypes["Service"],
  { nodes }: Workflow,
): ReadonlyArray<RequestField> => {
  const request = requestIn(nodes, types.all())
  return request === undefined ? [] : fieldsOf(request)
}
