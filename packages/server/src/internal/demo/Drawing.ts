/**
 * Writing a workflow down as code: a node by its place on the canvas, an edge by its two ends.
 */
import type { JsonObject } from "@millrace/core/domain/Json"
import type { Edge, Node } from "@millrace/core/domain/Workflow"
import { place } from "@millrace/core/graph/Placement"

/** A node at a column and a row of the canvas, with literal inputs and a mode. */
export const node = (
  id: string,
  type: string,
  [column, row]: readonly [column: number, row: number],
  inputs: JsonObject = {},
  mode?: string,
): Node => ({
  id,
  type,
  position: place([], { column, row }),
  data: { inputs, ...(mode === undefined ? {} : { mode }) },
})

/** An edge from `node.output` to `node.input`. */
export const edge = (from: string, to: string): Edge => {
  const [source = "", sourceHandle = ""] = from.split(".")
  const [target = "", targetHandle = ""] = to.split(".")
  return { id: `${from}-${to}`, source, sourceHandle, target, targetHandle }
}
