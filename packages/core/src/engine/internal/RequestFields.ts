/**
 * The fields of a run that a stored workflow declares.
 */
import type { Workflow } from "../../domain/Workflow.ts"
import { settingsOf } from "../../domain/Workflow.ts"
import type { RequestField } from "../../graph/Request.ts"
import { fieldsOf } from "../../graph/Request.ts"
import type { NodeTypes } from "../NodeTypes.ts"

/** The fields that a workflow declares in its request node. */
export const requestFieldsOf = (
  types: NodeTypes["Service"],
  { nodes }: Workflow,
): ReadonlyArray<RequestField> => {
  const all = types.all()
  const request = nodes.find(
    (node) => all.get(node.type)?.role === "request" && !settingsOf(node).disabled,
  )
  return request === undefined ? [] : fieldsOf(settingsOf(request))
}
