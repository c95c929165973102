/**
 * The graph of a run as its view draws it: a loop is one node, and what leads into its body leads
 * to the loop.
 *
 * Guarantees: pure; without loops, the same object. Leaves out: the items of a loop.
 */
import type { RunDefinition } from "@millrace/api/PromiseClient"
import { drawnGraph } from "../model/internal/DrawnGraph.ts"

type Drawn = Pick<RunDefinition, "nodes" | "edges">
type Node = Drawn["nodes"][number]

const parentOf = ({ parentId }: Node): string | undefined =>
  typeof parentId === "string" && parentId !== "" ? parentId : undefined

/** The same without nodes in loops: they lie in another node, and the run does not have them. */
export const withoutBodies = <D extends Drawn>(
  definition: D,
  ofRun: Readonly<Record<string, unknown>>,
): D => {
  const byId = new Map(definition.nodes.map((node) => [node.id, node]))
  const isInner = (node: Node) => parentOf(node) !== undefined && !Object.hasOwn(ofRun, node.id)
  return drawnGraph(definition, (id) => {
    const inner = byId.get(id)
    if (inner === undefined || !isInner(inner)) return undefined
    let node: Node | undefined = inner
    for (let steps = 0; node !== undefined && isInner(node) && steps < byId.size; steps++) {
      node = byId.get(parentOf(node)!)
    }
    return node?.id ?? id
  })
}
